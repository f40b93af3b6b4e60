//! Words of 64 bits into hubs of 32, eight at a time, where the compiler takes four, as many as there are of the wider ones;
//! and 32-bit integers rounded to odd.

#[cfg(target_arch = "x86")]
use core::arch::x86::__m256;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::__m256;

use bytemuck::cast;
use pulp::x86::V3;

use super::vector::{Bytes, head, wides};
use crate::cpu::encode::single;

/// The upper half of the least and of the greatest number that `double` tells from others.
const LEAST: u32 = (1023 - 126) << 20;
const GREATEST: u32 = ((1023 + 128) << 20) - 1;

/// Eight doubles to binary32, rounded to odd, for formats to which all numbers below binary32's least normal one are zero and
/// all above its greatest out of range: magnitudes, of NaNs any, words with the signs as their top bits, and a mask of NaNs.
#[inline(always)]
pub(crate) fn double(simd: V3, source: &[u8]) -> [Bytes; 3] {
    let [low, high] = apart(simd, source);
    let simd2 = simd.avx2;
    let magnitude = simd2._mm256_and_si256(high, wides(!single::SIGN));
    let magnitude = simd2._mm256_or_si256(magnitude, simd2._mm256_min_epu32(low, wides(1)));
    let bounded = simd2._mm256_max_epi32(magnitude, wides(LEAST));
    let bounded = simd2._mm256_min_epi32(bounded, wides(GREATEST));
    let value = simd2._mm256_slli_epi32::<3>(simd2._mm256_sub_epi32(bounded, wides((1023 - 127) << 20)));
    let is_nan = simd2._mm256_cmpgt_epi32(magnitude, wides(0x7ff0_0000));
    [value, high, is_nan]
}

/// `decode::saturate` of eight integers.
#[inline(always)]
pub(crate) fn saturated<const SIGNED: bool>(simd: V3, source: &[u8]) -> Bytes {
    let [low, high] = apart(simd, source);
    let simd2 = simd.avx2;
    if SIGNED {
        let most = simd2._mm256_xor_si256(simd2._mm256_srai_epi32::<31>(high), wides(i32::MAX as u32));
        let fits = simd2._mm256_cmpeq_epi32(high, simd2._mm256_srai_epi32::<31>(low));
        simd2._mm256_blendv_epi8(most, low, fits)
    } else {
        let fits = simd2._mm256_cmpeq_epi32(high, wides(0));
        simd2._mm256_or_si256(low, simd2._mm256_xor_si256(fits, wides(u32::MAX)))
    }
}

/// Eight integers to binary32, rounded to odd, for formats of at most 11 significant bits: of their 32 lowest bits, those
/// from the 16th on and the highest, the first that hold the number, as signed ones, with a sticky bit for what is below
/// them. There are at least 14 significant bits then, or all.
#[inline(always)]
pub(crate) fn odd<const SIGNED: bool>(simd: V3, source: &[u8]) -> Bytes {
    let [low, high] = apart(simd, source);
    let simd2 = simd.avx2;
    let moved = simd2._mm256_slli_epi32::<16>(high);
    let middle = simd2._mm256_blend_epi16::<0b1010_1010>(simd2._mm256_srli_epi32::<16>(low), moved);
    let (fits_low, fits_middle, upper, lost) = if SIGNED {
        let fits_low = simd2._mm256_cmpeq_epi32(high, simd2._mm256_srai_epi32::<31>(low));
        let fits_middle = simd2._mm256_cmpeq_epi32(high, simd2._mm256_srai_epi32::<16>(moved));
        (fits_low, fits_middle, high, low)
    } else {
        let negative = simd2._mm256_srai_epi32::<31>(low);
        let fits_low = simd2._mm256_cmpeq_epi32(simd2._mm256_or_si256(high, negative), wides(0));
        let fits_middle = simd2._mm256_cmpeq_epi32(simd2._mm256_srli_epi32::<15>(high), wides(0));
        let lost = simd2._mm256_or_si256(low, simd2._mm256_slli_epi32::<31>(high));
        (fits_low, fits_middle, simd2._mm256_srli_epi32::<1>(high), lost)
    };
    let lost = simd2._mm256_andnot_si256(simd2._mm256_slli_epi32::<16>(fits_middle), lost);
    let sticky = simd2._mm256_min_epu32(lost, wides(1));
    let bits = simd2._mm256_or_si256(simd2._mm256_blendv_epi8(upper, middle, fits_middle), sticky);
    let bits = cut(simd, simd2._mm256_blendv_epi8(bits, low, fits_low));
    let places = if SIGNED { 32 } else { 33 };
    let raise = simd2._mm256_and_si256(fits_middle, wides((places - 16) << 23));
    let raise = simd2._mm256_andnot_si256(fits_low, simd2._mm256_sub_epi32(wides(places << 23), raise));
    simd2._mm256_add_epi32(cast(simd.avx._mm256_cvtepi32_ps(bits)), raise)
}

/// The same of eight integers of 32 bits.
#[inline(always)]
pub(crate) fn odd_word<const SIGNED: bool>(simd: V3, word: Bytes) -> Bytes {
    if SIGNED {
        return cast(simd.avx._mm256_cvtepi32_ps(cut(simd, word)));
    }
    let simd2 = simd.avx2;
    // From 2^31 on, the half with a sticky bit.
    let is_large = simd2._mm256_srai_epi32::<31>(word);
    let half = simd2._mm256_or_si256(simd2._mm256_srli_epi32::<1>(word), simd2._mm256_and_si256(word, wides(1)));
    let bits = cut(simd, simd2._mm256_blendv_epi8(word, half, is_large));
    let raise = simd2._mm256_and_si256(is_large, wides(1 << 23));
    simd2._mm256_add_epi32(cast(simd.avx._mm256_cvtepi32_ps(bits)), raise)
}

/// Signed words, rounded to odd so that binary32 holds them: as `decode::int_odd`.
#[inline(always)]
fn cut(simd: V3, bits: Bytes) -> Bytes {
    let simd = simd.avx2;
    let lost = simd._mm256_add_epi32(simd._mm256_and_si256(bits, wides(0x7f)), wides(0x7f));
    let cut = simd._mm256_and_si256(simd._mm256_or_si256(bits, lost), wides(!0x7f));
    let is_large = simd._mm256_cmpgt_epi32(simd._mm256_abs_epi32(bits), wides(1 << 24));
    simd._mm256_blendv_epi8(bits, cut, is_large)
}

/// The low and the high halves of eight words.
#[inline(always)]
fn apart(simd: V3, source: &[u8]) -> [Bytes; 2] {
    let two = |at: usize| head::<16>(&source[at..]);
    // Of each half of two vectors, the words come together.
    let (first, second): (__m256, __m256) = (cast([two(0), two(32)]), cast([two(16), two(48)]));
    [
        cast(simd.avx._mm256_shuffle_ps::<0b10_00_10_00>(first, second)),
        cast(simd.avx._mm256_shuffle_ps::<0b11_01_11_01>(first, second)),
    ]
}
