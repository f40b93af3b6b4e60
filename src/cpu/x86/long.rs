//! Words of 64 bits into hubs of 32, eight at a time: the compiler takes four, as many as there are of the wider ones.

#[cfg(target_arch = "x86")]
use core::arch::x86::__m256;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::__m256;

use bytemuck::cast;
use pulp::x86::V3;

use super::strips::{Strip, strips};
use super::vector::{self, Bytes, wides};
use crate::cpu::encode::single;
use crate::cpu::long::{GREATEST, LEAST, Long};

/// Makes a hub of words that start at any byte; there must be as many of both.
pub(crate) fn hub(simd: V3, long: Long, source: &[u8], hub: &mut [u32]) {
    let hub = bytemuck::cast_slice_mut(hub);
    match long {
        Long::Double => strips(simd, &Hub::<DOUBLE>, source, hub),
        Long::Odd { signed: true } => strips(simd, &Hub::<SIGNED_ODD>, source, hub),
        Long::Odd { signed: false } => strips(simd, &Hub::<UNSIGNED_ODD>, source, hub),
        Long::Saturated { signed: true } => strips(simd, &Hub::<SIGNED>, source, hub),
        Long::Saturated { signed: false } => strips(simd, &Hub::<UNSIGNED>, source, hub),
    }
}

const DOUBLE: u8 = 0;
const SIGNED_ODD: u8 = 1;
const UNSIGNED_ODD: u8 = 2;
const SIGNED: u8 = 3;
const UNSIGNED: u8 = 4;

struct Hub<const LONG: u8>;

impl<const LONG: u8> Strip<V3> for Hub<LONG> {
    const READ: usize = 64;
    const WRITTEN: usize = 32;

    #[inline(always)]
    fn convert(&self, simd: V3, source: &[u8], destination: &mut [u8]) {
        let [low, high] = apart(simd, source);
        let made = match LONG {
            DOUBLE => double(simd, low, high),
            SIGNED_ODD => odd::<true>(simd, low, high),
            UNSIGNED_ODD => odd::<false>(simd, low, high),
            SIGNED => saturated::<true>(simd, low, high),
            _ => saturated::<false>(simd, low, high),
        };
        vector::write(destination, 0, in_order(simd, made));
    }
}

/// `Long::Double`'s hub of eight doubles.
#[inline(always)]
pub(crate) fn doubles(simd: V3, source: &[u8]) -> Bytes {
    let [low, high] = apart(simd, source);
    in_order(simd, double(simd, low, high))
}

/// The low and the high halves of eight words, in the order 0, 1, 4, 5, 2, 3, 6, 7.
#[inline(always)]
fn apart(simd: V3, source: &[u8]) -> [Bytes; 2] {
    let (first, second): (__m256, __m256) = (cast(vector::read(source, 0)), cast(vector::read(source, 32)));
    [
        cast(simd.avx._mm256_shuffle_ps::<0b10_00_10_00>(first, second)),
        cast(simd.avx._mm256_shuffle_ps::<0b11_01_11_01>(first, second)),
    ]
}

#[inline(always)]
fn in_order(simd: V3, made: Bytes) -> Bytes {
    simd.avx2._mm256_permute4x64_epi64::<0b11_01_10_00>(made)
}

#[inline(always)]
fn double(simd: V3, low: Bytes, high: Bytes) -> Bytes {
    let simd = simd.avx2;
    let magnitude = simd._mm256_and_si256(high, wides(!single::SIGN));
    let magnitude = simd._mm256_or_si256(magnitude, simd._mm256_min_epu32(low, wides(1)));
    let bounded = simd._mm256_max_epi32(magnitude, wides(LEAST));
    let bounded = simd._mm256_min_epi32(bounded, wides(GREATEST));
    let value = simd._mm256_slli_epi32::<3>(simd._mm256_sub_epi32(bounded, wides((1023 - 127) << 20)));
    let is_nan = simd._mm256_cmpgt_epi32(magnitude, wides(0x7ff0_0000));
    let value = simd._mm256_blendv_epi8(value, wides(single::NAN), is_nan);
    simd._mm256_or_si256(value, simd._mm256_and_si256(high, wides(single::SIGN)))
}

#[inline(always)]
fn saturated<const SIGNED: bool>(simd: V3, low: Bytes, high: Bytes) -> Bytes {
    let simd = simd.avx2;
    if SIGNED {
        let most = simd._mm256_xor_si256(simd._mm256_srai_epi32::<31>(high), wides(i32::MAX as u32));
        let fits = simd._mm256_cmpeq_epi32(high, simd._mm256_srai_epi32::<31>(low));
        simd._mm256_blendv_epi8(most, low, fits)
    } else {
        let fits = simd._mm256_cmpeq_epi32(high, wides(0));
        simd._mm256_or_si256(low, simd._mm256_xor_si256(fits, wides(u32::MAX)))
    }
}

#[inline(always)]
fn odd<const SIGNED: bool>(simd: V3, low: Bytes, high: Bytes) -> Bytes {
    let (simd, avx) = (simd.avx2, simd.avx);
    // Of the 32 lowest bits, those from the 16th on and the highest, the first that hold the number, as signed ones; a
    // sticky bit for what is below them. There are at least 14 significant bits then, or all.
    let middle =
        simd._mm256_blend_epi16::<0b1010_1010>(simd._mm256_srli_epi32::<16>(low), simd._mm256_slli_epi32::<16>(high));
    let (fits_low, fits_middle, upper, lost) = if SIGNED {
        let extended = simd._mm256_srai_epi32::<16>(simd._mm256_slli_epi32::<16>(high));
        let fits_low = simd._mm256_cmpeq_epi32(high, simd._mm256_srai_epi32::<31>(low));
        (fits_low, simd._mm256_cmpeq_epi32(high, extended), high, low)
    } else {
        let negative = simd._mm256_srai_epi32::<31>(low);
        let fits_low = simd._mm256_cmpeq_epi32(simd._mm256_or_si256(high, negative), wides(0));
        let fits_middle = simd._mm256_cmpeq_epi32(simd._mm256_srli_epi32::<15>(high), wides(0));
        let lost = simd._mm256_or_si256(low, simd._mm256_slli_epi32::<31>(high));
        (fits_low, fits_middle, simd._mm256_srli_epi32::<1>(high), lost)
    };
    let lost = simd._mm256_andnot_si256(simd._mm256_slli_epi32::<16>(fits_middle), lost);
    let sticky = simd._mm256_min_epu32(lost, wides(1));
    let bits = simd._mm256_or_si256(simd._mm256_blendv_epi8(upper, middle, fits_middle), sticky);
    let bits = simd._mm256_blendv_epi8(bits, low, fits_low);
    // As `decode::int_odd`.
    let lost = simd._mm256_add_epi32(simd._mm256_and_si256(bits, wides(0x7f)), wides(0x7f));
    let cut = simd._mm256_and_si256(simd._mm256_or_si256(bits, lost), wides(!0x7f));
    let is_large = simd._mm256_cmpgt_epi32(simd._mm256_abs_epi32(bits), wides(1 << 24));
    let bits = simd._mm256_blendv_epi8(bits, cut, is_large);
    let places = if SIGNED { 32 } else { 33 };
    let raise = simd._mm256_and_si256(fits_middle, wides((places - 16) << 23));
    let raise = simd._mm256_sub_epi32(wides(places << 23), raise);
    let raise = simd._mm256_andnot_si256(fits_low, raise);
    simd._mm256_add_epi32(cast(avx._mm256_cvtepi32_ps(bits)), raise)
}
