//! FLOAT16 to wider floats, whose instruction (F16C) pulp does not offer, and floats of at most 32 bits to 64-bit integers, for
//! which AVX2 has none.

#[cfg(target_arch = "x86")]
use core::arch::x86::_CMP_UNORD_Q;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::_CMP_UNORD_Q;

use bytemuck::cast;
use pulp::x86::V3;

use super::source::{Half, half_words};
use super::strips::{Strip, strips};
use super::vector::{self, Bytes, in_order, wides, words};
use crate::conversion::{Conversion, Encode};
use crate::cpu::encode::single;
use crate::element::ElementType;

/// The casts of one pair.
#[derive(Clone, Copy)]
pub(crate) struct Widen {
    simd: V3,
    strips: fn(V3, &[u8], &mut [u8]),
}

impl Widen {
    /// `None` for other pairs.
    pub(crate) fn new(simd: V3, conversion: &Conversion) -> Option<Self> {
        let work: fn(V3, &[u8], &mut [u8]) = match (conversion.from, conversion.encode) {
            (ElementType::FLOAT16, Encode::F32) => |simd, s, d| strips(simd, &ToSingle, s, d),
            (ElementType::FLOAT16, Encode::F64) => |simd, s, d| strips(simd, &ToDouble, s, d),
            (ElementType::FLOAT16, Encode::Int64 { signed: true }) => {
                |simd, s, d| strips(simd, &HalfToLong::<true>, s, d)
            }
            (ElementType::FLOAT16, Encode::Int64 { signed: false }) => {
                |simd, s, d| strips(simd, &HalfToLong::<false>, s, d)
            }
            (ElementType::BFLOAT16, Encode::Int64 { signed: true }) => {
                |simd, s, d| strips(simd, &ToLong::<UPPER, true>, s, d)
            }
            (ElementType::BFLOAT16, Encode::Int64 { signed: false }) => {
                |simd, s, d| strips(simd, &ToLong::<UPPER, false>, s, d)
            }
            (ElementType::FLOAT, Encode::Int64 { signed: true }) => {
                |simd, s, d| strips(simd, &ToLong::<SINGLE, true>, s, d)
            }
            (ElementType::FLOAT, Encode::Int64 { signed: false }) => {
                |simd, s, d| strips(simd, &ToLong::<SINGLE, false>, s, d)
            }
            _ => return None,
        };
        Some(Self { simd, strips: work })
    }

    /// Casts codes that start at a byte.
    pub(crate) fn convert(&self, source: &[u8], destination: &mut [u8]) {
        (self.strips)(self.simd, source, destination);
    }
}

struct ToSingle;

impl Strip<V3> for ToSingle {
    const READ: usize = 32;
    const WRITTEN: usize = 64;

    #[inline(always)]
    fn convert(&self, simd: V3, source: &[u8], destination: &mut [u8]) {
        let [first, second] = Half::canonical(simd, in_order(simd, vector::read(source, 0)));
        vector::write(destination, 0, first);
        vector::write(destination, 32, second);
    }
}

struct ToDouble;

impl Strip<V3> for ToDouble {
    const READ: usize = 32;
    const WRITTEN: usize = 128;

    #[inline(always)]
    fn convert(&self, simd: V3, source: &[u8], destination: &mut [u8]) {
        let quarters: [[u8; 16]; 4] = cast(Half::canonical(simd, in_order(simd, vector::read(source, 0))));
        for i in 0..4 {
            vector::write(destination, 32 * i, cast(simd.avx._mm256_cvtps_pd(cast(quarters[i]))));
        }
    }
}

/// `Half::long` of `decode.rs`.
struct HalfToLong<const SIGNED: bool>;

impl<const SIGNED: bool> Strip<V3> for HalfToLong<SIGNED> {
    const READ: usize = 32;
    const WRITTEN: usize = 128;

    #[inline(always)]
    fn convert(&self, simd: V3, source: &[u8], destination: &mut [u8]) {
        let (simd, avx) = (simd.avx2, simd.avx);
        // Pairs of pairs change places, so that what is unpacked twice is in order.
        let halves = simd._mm256_permutevar8x32_epi32(vector::read(source, 0), cast([0u32, 2, 4, 6, 1, 3, 5, 7]));
        let magnitude = simd._mm256_and_si256(halves, words(0x7fff));
        let are_special = simd._mm256_cmpgt_epi16(magnitude, words(0x7bff));
        let fail = simd._mm256_and_si256(are_special, words(0x8000));
        let fail = match SIGNED {
            true => fail,
            // +∞ is beyond the greater end.
            false => simd._mm256_andnot_si256(simd._mm256_cmpeq_epi16(halves, words(0x7c00)), fail),
        };
        let [low, high] = half_words(simd, simd._mm256_andnot_si256(are_special, magnitude));
        let zero = wides(0);
        let unpacked = [
            [
                simd._mm256_unpacklo_epi16(low, high),
                simd._mm256_unpacklo_epi16(zero, halves),
                simd._mm256_unpacklo_epi16(zero, fail),
            ],
            [
                simd._mm256_unpackhi_epi16(low, high),
                simd._mm256_unpackhi_epi16(zero, halves),
                simd._mm256_unpackhi_epi16(zero, fail),
            ],
        ];
        for i in 0..2 {
            let [number, sign, fail] = unpacked[i];
            let value = simd._mm256_sign_epi32(avx._mm256_cvttps_epi32(cast(number)), sign);
            let upper = simd._mm256_or_si256(simd._mm256_srai_epi32::<31>(value), fail);
            vector::write(destination, 64 * i, simd._mm256_unpacklo_epi32(value, upper));
            vector::write(destination, 64 * i + 32, simd._mm256_unpackhi_epi32(value, upper));
        }
    }
}

const UPPER: u8 = 0;
const SINGLE: u8 = 1;

struct ToLong<const FROM: u8, const SIGNED: bool>;

impl<const FROM: u8, const SIGNED: bool> Strip<V3> for ToLong<FROM, SIGNED> {
    const READ: usize = if FROM == SINGLE { 64 } else { 32 };
    const WRITTEN: usize = 128;

    #[inline(always)]
    fn convert(&self, simd: V3, source: &[u8], destination: &mut [u8]) {
        let numbers = match FROM {
            UPPER => {
                let upper = in_order(simd, vector::read(source, 0));
                let zero = wides(0);
                [simd.avx2._mm256_unpacklo_epi16(zero, upper), simd.avx2._mm256_unpackhi_epi16(zero, upper)]
            }
            _ => [vector::read(source, 0), vector::read(source, 32)],
        };
        for i in 0..2 {
            long::<SIGNED>(simd, numbers[i], &mut destination[64 * i..64 * (i + 1)]);
        }
    }
}

/// `encode::long` of eight binary32 numbers.
#[inline(always)]
fn long<const SIGNED: bool>(simd: V3, numbers: Bytes, destination: &mut [u8]) {
    let (simd, avx) = (simd.avx2, simd.avx);
    // 2^63, which is what everything out of range becomes; 2^64 where that is zero.
    let limit = wides((127 + 63) << 23);
    let limit = if SIGNED {
        limit
    } else {
        let is_nan = cast(avx._mm256_cmp_ps::<_CMP_UNORD_Q>(cast(numbers), cast(numbers)));
        let least = simd._mm256_srai_epi32::<31>(simd._mm256_or_si256(numbers, is_nan));
        simd._mm256_add_epi32(limit, simd._mm256_andnot_si256(least, wides(1 << 23)))
    };
    let magnitude = simd._mm256_min_epi32(simd._mm256_and_si256(numbers, wides(!single::SIGN)), limit);
    let significand = simd._mm256_and_si256(magnitude, wides((1 << 23) - 1));
    let significand = simd._mm256_sign_epi32(simd._mm256_or_si256(significand, wides(1 << 23)), numbers);
    let places = simd._mm256_sub_epi32(simd._mm256_srli_epi32::<23>(magnitude), wides(127 + 23));
    // From 2^31 on the significand goes up; below, the processor truncates.
    let truncated = avx._mm256_cvttps_epi32(cast(numbers));
    let is_large = simd._mm256_cmpeq_epi32(truncated, wides(1 << 31));
    let value: [[u8; 16]; 2] = cast(simd._mm256_blendv_epi8(truncated, significand, is_large));
    let places: [[u8; 16]; 2] = cast(simd._mm256_and_si256(places, is_large));
    for i in 0..2 {
        let (value, places) = (simd._mm256_cvtepi32_epi64(cast(value[i])), simd._mm256_cvtepu32_epi64(cast(places[i])));
        vector::write(destination, 32 * i, simd._mm256_sllv_epi64(value, places));
    }
}
