//! Sources of 16 to 64 bits as binary32 hubs, sixteen elements in two vectors.

#![allow(clippy::needless_range_loop, reason = "the closures of adapters are compiled without the vector instructions")]

#[cfg(target_arch = "x86")]
use core::arch::x86::_CMP_UNORD_Q;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::_CMP_UNORD_Q;

use bytemuck::cast;
use pulp::x86::V3;

use super::long;
use super::vector::{self, Bytes, head, wides, words};
use crate::cpu::encode::Whole;

/// Sixteen elements to binary32, rounded to odd where that cuts anything, unless an implementation says otherwise.
pub(crate) trait Source {
    /// Bytes of the sixteen.
    const BYTES: usize;
    /// Whether the hubs come as the first four of each eight, then the others, once two vectors are packed into one.
    const INTERLEAVED: bool;
    const SIGNED: bool = true;
    /// Whether there are NaNs. Their payload is kept.
    const NANS: bool = false;

    /// To be inlined always.
    fn read(simd: V3, source: &[u8]) -> [Bytes; 2];
}

/// FLOAT16.
pub(crate) struct Half;

impl Source for Half {
    const BYTES: usize = 32;
    const INTERLEAVED: bool = false;
    const NANS: bool = true;

    #[inline(always)]
    fn read(simd: V3, source: &[u8]) -> [Bytes; 2] {
        let (simd, avx) = (simd.avx2, simd.avx);
        let halves = vector::read(source, 0);
        let magnitude = simd._mm256_and_si256(halves, words(0x7fff));
        // binary32 in two words each.
        let high = simd._mm256_add_epi16(simd._mm256_srli_epi16::<3>(magnitude), words((127 - 15) << 7));
        let special = simd._mm256_cmpgt_epi16(magnitude, words(0x7bff));
        let high = simd._mm256_or_si256(high, simd._mm256_and_si256(special, words(0x7f80)));
        let low = simd._mm256_slli_epi16::<13>(magnitude);
        let subnormal = simd._mm256_cmpgt_epi16(words(0x0400), magnitude);
        let sign = simd._mm256_and_si256(halves, words(0x8000));
        let zero = wides(0);
        let unpacked = [
            [
                simd._mm256_unpacklo_epi16(low, high),
                simd._mm256_unpacklo_epi16(subnormal, subnormal),
                simd._mm256_unpacklo_epi16(zero, sign),
            ],
            [
                simd._mm256_unpackhi_epi16(low, high),
                simd._mm256_unpackhi_epi16(subnormal, subnormal),
                simd._mm256_unpackhi_epi16(zero, sign),
            ],
        ];
        let mut made = [zero; 2];
        for i in 0..2 {
            let [normal, subnormal, sign] = unpacked[i];
            // As if there were an implicit bit, which the subtraction takes away again, exactly.
            let more = cast(simd._mm256_add_epi32(normal, wides(1 << 23)));
            let less = cast(avx._mm256_sub_ps(more, cast(wides((128 - 15) << 23))));
            made[i] = simd._mm256_or_si256(simd._mm256_blendv_epi8(normal, less, subnormal), sign);
        }
        made
    }
}

/// BFLOAT16.
pub(crate) struct Upper;

impl Source for Upper {
    const BYTES: usize = 32;
    const INTERLEAVED: bool = false;
    const NANS: bool = true;

    #[inline(always)]
    fn read(simd: V3, source: &[u8]) -> [Bytes; 2] {
        let (upper, zero) = (vector::read(source, 0), wides(0));
        [simd.avx2._mm256_unpacklo_epi16(zero, upper), simd.avx2._mm256_unpackhi_epi16(zero, upper)]
    }
}

/// FLOAT, as it is.
pub(crate) struct Single;

impl Source for Single {
    const BYTES: usize = 64;
    const INTERLEAVED: bool = true;
    const NANS: bool = true;

    #[inline(always)]
    fn read(_: V3, source: &[u8]) -> [Bytes; 2] {
        [vector::read(source, 0), vector::read(source, 32)]
    }
}

/// DOUBLE, for what `Long::Double` is for.
pub(crate) struct Double;

impl Source for Double {
    const BYTES: usize = 128;
    const INTERLEAVED: bool = true;
    const NANS: bool = true;

    #[inline(always)]
    fn read(simd: V3, source: &[u8]) -> [Bytes; 2] {
        [long::double(simd, source), long::double(simd, &source[64..])]
    }
}

/// Integers of 16, 32 and 64 bits. Unless `ODD`, those from 2^24 on are rounded to nearest there, and at most become some
/// larger number.
pub(crate) struct Int<const BITS: usize, const SIGNED: bool, const ODD: bool>;

impl<const BITS: usize, const SIGNED: bool, const ODD: bool> Source for Int<BITS, SIGNED, ODD> {
    const BYTES: usize = 2 * BITS;
    const INTERLEAVED: bool = true;
    const SIGNED: bool = SIGNED;

    #[inline(always)]
    fn read(simd: V3, source: &[u8]) -> [Bytes; 2] {
        let mut made = [wides(0); 2];
        for i in 0..2 {
            made[i] = Self::eight(simd, &source[BITS * i..]);
        }
        made
    }
}

impl<const BITS: usize, const SIGNED: bool, const ODD: bool> Int<BITS, SIGNED, ODD> {
    #[inline(always)]
    fn eight(simd: V3, source: &[u8]) -> Bytes {
        let word = match (BITS, SIGNED) {
            (16, true) => simd.avx2._mm256_cvtepi16_epi32(cast(head::<16>(source))),
            (16, false) => simd.avx2._mm256_cvtepu16_epi32(cast(head::<16>(source))),
            (32, _) => vector::read(source, 0),
            _ if ODD => return long::odd::<SIGNED>(simd, source),
            _ => long::saturated::<SIGNED>(simd, source),
        };
        let word = match (BITS, SIGNED) {
            (16, _) => word,
            // The conversion is of signed words.
            (_, false) => simd.avx2._mm256_min_epu32(word, wides(Whole::BOUND)),
            _ if ODD => long::cut(simd, word),
            _ => word,
        };
        cast(simd.avx._mm256_cvtepi32_ps(word))
    }
}

/// Has `codes` make a word of each of sixteen numbers, eight times, and packs the codes of `TO` bits, no bits above, into
/// `destination`. Both are to be inlined always.
#[inline(always)]
pub(crate) fn eight<S: Source, const TO: usize>(
    simd: V3,
    source: &[u8],
    destination: &mut [u8],
    codes: impl Fn([Bytes; 2]) -> Bytes,
) {
    let mut made = [wides(0); 8];
    for i in 0..8 {
        made[i] = codes(S::read(simd, &source[S::BYTES * i..]));
    }
    vector::store_codes::<TO>(simd, made, S::INTERLEAVED, destination);
}

/// A mask of the words that are made of NaNs.
#[inline(always)]
pub(crate) fn are_nan(simd: V3, [first, second]: [Bytes; 2]) -> Bytes {
    let first = simd.avx._mm256_cmp_ps::<_CMP_UNORD_Q>(cast(first), cast(first));
    let second = simd.avx._mm256_cmp_ps::<_CMP_UNORD_Q>(cast(second), cast(second));
    simd.avx2._mm256_packs_epi32(cast(first), cast(second))
}
