//! Sources of 16 to 64 bits as binary32 hubs, sixteen elements in two vectors.

#[cfg(target_arch = "x86")]
use core::arch::x86::_CMP_UNORD_Q;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::_CMP_UNORD_Q;

use bytemuck::cast;
use pulp::core_arch::x86::Avx2;
use pulp::x86::V3;

use super::long;
use super::vector::{self, Bytes, wides, words};
use crate::cpu::encode::{Whole, single};

/// Sixteen numbers in binary32; of what their source does not have, signs or NaNs, anything.
pub(crate) struct Sixteen {
    pub magnitudes: [Bytes; 2],
    /// Words with the signs as their top bits, as two vectors are packed into one.
    pub signs: Bytes,
    /// A mask of the words of NaNs, whose magnitudes say nothing.
    pub are_nan: Bytes,
}

/// Elements to binary32, rounded to odd where that cuts anything, unless an implementation says otherwise.
pub(crate) trait Source {
    /// Bytes of sixteen elements.
    const BYTES: usize;
    /// Whether they come as the first four of each eight, then the others, once two vectors are packed into one.
    const INTERLEAVED: bool;
    const SIGNED: bool = true;
    const NANS: bool = true;

    /// To be inlined always.
    fn parts(simd: V3, source: &[u8]) -> Sixteen;
}

/// Sources whose numbers are made with their signs.
pub(crate) trait Numbers: Source {
    /// Those of `parts`; NaN is some NaN. To be inlined always.
    fn numbers(simd: V3, source: &[u8]) -> [Bytes; 2];
}

/// FLOAT16.
pub(crate) struct Half;

impl Source for Half {
    const BYTES: usize = 32;
    const INTERLEAVED: bool = false;

    #[inline(always)]
    fn parts(simd: V3, source: &[u8]) -> Sixteen {
        let signs = vector::read(source, 0);
        let magnitude = simd.avx2._mm256_and_si256(signs, words(0x7fff));
        let are_nan = simd.avx2._mm256_cmpgt_epi16(magnitude, words(0x7c00));
        let half = half_words(simd.avx2, magnitude);
        Sixteen { magnitudes: Self::magnitudes(simd, magnitude, half), signs, are_nan }
    }
}

impl Numbers for Half {
    #[inline(always)]
    fn numbers(simd: V3, source: &[u8]) -> [Bytes; 2] {
        Self::canonical(simd, vector::read(source, 0))
    }
}

impl Half {
    /// The numbers of the first and the third quarter of a vector, and those of the others; NaN is canonical.
    #[inline(always)]
    pub(crate) fn canonical(simd: V3, halves: Bytes) -> [Bytes; 2] {
        let (simd2, zero) = (simd.avx2, wides(0));
        let magnitude = simd2._mm256_and_si256(halves, words(0x7fff));
        let are_nan = simd2._mm256_cmpgt_epi16(magnitude, words(0x7c00));
        let [low, high] = half_words(simd2, magnitude);
        let low = simd2._mm256_andnot_si256(are_nan, low);
        let high = simd2._mm256_blendv_epi8(high, words((single::NAN >> 16) as u16), are_nan);
        let [first, second] = Self::magnitudes(simd, magnitude, [low, high]);
        let signs = simd2._mm256_and_si256(halves, words(0x8000));
        [
            simd2._mm256_or_si256(first, simd2._mm256_unpacklo_epi16(zero, signs)),
            simd2._mm256_or_si256(second, simd2._mm256_unpackhi_epi16(zero, signs)),
        ]
    }

    /// The magnitudes in binary32 by their words, which are right but for ∞ and subnormals.
    #[inline(always)]
    fn magnitudes(simd: V3, magnitude: Bytes, [low, high]: [Bytes; 2]) -> [Bytes; 2] {
        let (simd, avx, zero) = (simd.avx2, simd.avx, wides(0));
        let are_special = simd._mm256_cmpgt_epi16(magnitude, words(0x7bff));
        let high = simd._mm256_or_si256(high, simd._mm256_and_si256(are_special, words(0x7f80)));
        // A subnormal gets an implicit bit, which the subtraction takes away again, exactly. Of others it takes nothing.
        let are_subnormal = simd._mm256_cmpgt_epi16(words(0x0400), magnitude);
        let high = simd._mm256_add_epi16(high, simd._mm256_and_si256(are_subnormal, words(1 << 7)));
        let more = simd._mm256_and_si256(are_subnormal, words((127 - 14) << 7));
        let (first, second) = (simd._mm256_unpacklo_epi16(low, high), simd._mm256_unpackhi_epi16(low, high));
        let first = avx._mm256_sub_ps(cast(first), cast(simd._mm256_unpacklo_epi16(zero, more)));
        let second = avx._mm256_sub_ps(cast(second), cast(simd._mm256_unpackhi_epi16(zero, more)));
        [cast(first), cast(second)]
    }
}

/// The low and high words of FLOAT16's magnitudes in binary32; of subnormals, those of some number below the least normal one.
#[inline(always)]
pub(crate) fn half_words(simd: Avx2, magnitude: Bytes) -> [Bytes; 2] {
    let high = simd._mm256_add_epi16(simd._mm256_srli_epi16::<3>(magnitude), words((127 - 15) << 7));
    [simd._mm256_slli_epi16::<13>(magnitude), high]
}

/// BFLOAT16.
pub(crate) struct Upper;

impl Source for Upper {
    const BYTES: usize = 32;
    const INTERLEAVED: bool = false;

    #[inline(always)]
    fn parts(simd: V3, source: &[u8]) -> Sixteen {
        let (simd, zero) = (simd.avx2, wides(0));
        let signs = vector::read(source, 0);
        let magnitude = simd._mm256_and_si256(signs, words(0x7fff));
        let magnitudes = [simd._mm256_unpacklo_epi16(zero, magnitude), simd._mm256_unpackhi_epi16(zero, magnitude)];
        Sixteen { magnitudes, signs, are_nan: simd._mm256_cmpgt_epi16(magnitude, words(0x7f80)) }
    }
}

impl Numbers for Upper {
    #[inline(always)]
    fn numbers(simd: V3, source: &[u8]) -> [Bytes; 2] {
        let (upper, zero) = (vector::read(source, 0), wides(0));
        [simd.avx2._mm256_unpacklo_epi16(zero, upper), simd.avx2._mm256_unpackhi_epi16(zero, upper)]
    }
}

/// FLOAT, as it is.
pub(crate) struct Single;

impl Source for Single {
    const BYTES: usize = 64;
    const INTERLEAVED: bool = true;

    #[inline(always)]
    fn parts(simd: V3, source: &[u8]) -> Sixteen {
        parts(simd, Self::numbers(simd, source))
    }
}

impl Numbers for Single {
    #[inline(always)]
    fn numbers(_: V3, source: &[u8]) -> [Bytes; 2] {
        [vector::read(source, 0), vector::read(source, 32)]
    }
}

/// DOUBLE, for what `long::double` is for.
pub(crate) struct Double;

impl Source for Double {
    const BYTES: usize = 128;
    const INTERLEAVED: bool = true;

    #[inline(always)]
    fn parts(simd: V3, source: &[u8]) -> Sixteen {
        let first = long::double(simd, source);
        let second = long::double(simd, &source[64..]);
        // Saturation keeps signs and masks.
        let signs = simd.avx2._mm256_packs_epi32(first[1], second[1]);
        let are_nan = simd.avx2._mm256_packs_epi32(first[2], second[2]);
        Sixteen { magnitudes: [first[0], second[0]], signs, are_nan }
    }
}

/// Integers of 16, 32 and 64 bits. Unless `ODD`, those from 2^24 on become some number from there on.
pub(crate) struct Int<const BITS: usize, const SIGNED: bool, const ODD: bool>;

impl<const BITS: usize, const SIGNED: bool, const ODD: bool> Source for Int<BITS, SIGNED, ODD> {
    const BYTES: usize = 2 * BITS;
    const INTERLEAVED: bool = BITS > 16;
    const SIGNED: bool = SIGNED;
    const NANS: bool = false;

    #[inline(always)]
    fn parts(simd: V3, source: &[u8]) -> Sixteen {
        if BITS > 16 {
            return parts(simd, Self::numbers(simd, source));
        }
        let signs = vector::read(source, 0);
        let magnitude = if SIGNED { simd.avx2._mm256_abs_epi16(signs) } else { signs };
        let zero = wides(0);
        let low = simd.avx._mm256_cvtepi32_ps(simd.avx2._mm256_unpacklo_epi16(magnitude, zero));
        let high = simd.avx._mm256_cvtepi32_ps(simd.avx2._mm256_unpackhi_epi16(magnitude, zero));
        Sixteen { magnitudes: [cast(low), cast(high)], signs, are_nan: zero }
    }
}

impl<const BITS: usize, const SIGNED: bool, const ODD: bool> Numbers for Int<BITS, SIGNED, ODD> {
    #[inline(always)]
    fn numbers(simd: V3, source: &[u8]) -> [Bytes; 2] {
        if BITS > 16 {
            return [Self::eight(simd, source), Self::eight(simd, &source[BITS..])];
        }
        let (simd, avx) = (simd.avx2, simd.avx);
        let ints = vector::read(source, 0);
        let sign = if SIGNED { simd._mm256_srai_epi16::<15>(ints) } else { wides(0) };
        [
            cast(avx._mm256_cvtepi32_ps(simd._mm256_unpacklo_epi16(ints, sign))),
            cast(avx._mm256_cvtepi32_ps(simd._mm256_unpackhi_epi16(ints, sign))),
        ]
    }
}

impl<const BITS: usize, const SIGNED: bool, const ODD: bool> Int<BITS, SIGNED, ODD> {
    #[inline(always)]
    fn eight(simd: V3, source: &[u8]) -> Bytes {
        let word = match (BITS, ODD) {
            (32, false) => vector::read(source, 0),
            (32, true) => return long::odd_word::<SIGNED>(simd, vector::read(source, 0)),
            (_, false) => long::saturated::<SIGNED>(simd, source),
            (_, true) => return long::odd::<SIGNED>(simd, source),
        };
        // The conversion is of signed words.
        let word = if SIGNED { word } else { simd.avx2._mm256_min_epu32(word, wides(Whole::BOUND)) };
        cast(simd.avx._mm256_cvtepi32_ps(word))
    }
}

/// The parts of sixteen numbers.
#[inline(always)]
fn parts(simd: V3, numbers: [Bytes; 2]) -> Sixteen {
    let [first, second] = numbers;
    let magnitude = wides(!single::SIGN);
    let magnitudes = [simd.avx2._mm256_and_si256(first, magnitude), simd.avx2._mm256_and_si256(second, magnitude)];
    // Saturation keeps signs.
    let signs = simd.avx2._mm256_packs_epi32(first, second);
    Sixteen { magnitudes, signs, are_nan: are_nan(simd, numbers) }
}

/// A mask of the words that are made of NaNs.
#[inline(always)]
pub(crate) fn are_nan(simd: V3, [first, second]: [Bytes; 2]) -> Bytes {
    let first = simd.avx._mm256_cmp_ps::<_CMP_UNORD_Q>(cast(first), cast(first));
    let second = simd.avx._mm256_cmp_ps::<_CMP_UNORD_Q>(cast(second), cast(second));
    simd.avx2._mm256_packs_epi32(cast(first), cast(second))
}
