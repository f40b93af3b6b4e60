//! Casts for which AVX-512 has an instruction: FLOAT to and from FLOAT16, and FLOAT to INT32 and INT64.
//!
//! Its conversions round to nearest, ties to even, and truncate, as the twins do; what does not fit an integer gives the
//! least one. Only NaN's payload has to go.

#[cfg(target_arch = "x86")]
use core::arch::x86::_CMP_UNORD_Q;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::_CMP_UNORD_Q;

use bytemuck::cast;
use pulp::x86::V4;

use super::strips::{Strip, strips};
use super::vector::head;
use crate::conversion::Conversion;
use crate::element::ElementType;

/// Round to nearest, ties to even, whatever the environment says.
const NEAREST: i32 = 0;

/// The casts of one pair.
#[derive(Clone, Copy)]
pub(crate) struct Native {
    simd: V4,
    to: To,
}

#[derive(Clone, Copy)]
enum To {
    Half,
    Single,
    Int32,
    Int64,
}

impl Native {
    /// `None` for other pairs.
    pub(crate) fn new(simd: V4, conversion: &Conversion) -> Option<Self> {
        let to = match (conversion.from, conversion.to) {
            (ElementType::FLOAT, ElementType::FLOAT16) => To::Half,
            (ElementType::FLOAT16, ElementType::FLOAT) => To::Single,
            (ElementType::FLOAT, ElementType::INT64) => To::Int64,
            (ElementType::FLOAT, ElementType::INT32) => To::Int32,
            _ => return None,
        };
        Some(Self { simd, to })
    }

    /// Casts codes that start at a byte.
    pub(crate) fn convert(&self, source: &[u8], destination: &mut [u8]) {
        match self.to {
            To::Half => strips(self.simd, &Floats::<HALF>, source, destination),
            To::Single => strips(self.simd, &Floats::<SINGLE>, source, destination),
            To::Int32 => strips(self.simd, &Floats::<INT32>, source, destination),
            To::Int64 => strips(self.simd, &Floats::<INT64>, source, destination),
        }
    }
}

const HALF: u8 = To::Half as u8;
const SINGLE: u8 = To::Single as u8;
const INT32: u8 = To::Int32 as u8;
const INT64: u8 = To::Int64 as u8;

/// Sixteen elements at a time.
struct Floats<const TO: u8>;

impl<const TO: u8> Strip<V4> for Floats<TO> {
    const READ: usize = if TO == SINGLE { 32 } else { 64 };
    const WRITTEN: usize = match TO {
        HALF => 32,
        INT64 => 128,
        _ => 64,
    };

    #[inline(always)]
    fn convert(&self, simd: V4, source: &[u8], destination: &mut [u8]) {
        let wide = simd.avx512f;
        match TO {
            HALF => {
                let floats = cast(head::<64>(source));
                let nan = wide._mm512_cmp_ps_mask::<_CMP_UNORD_Q>(floats, floats);
                // A NaN that is made quiet has its sign, exponent and top bit already.
                let halves = wide._mm512_cvtps_ph::<NEAREST>(floats);
                let canonical = simd.avx2._mm256_and_si256(halves, cast([0xfe00u16; 16]));
                let halves = simd.avx512bw._mm256_mask_blend_epi16(nan, halves, canonical);
                destination.copy_from_slice(&cast::<_, [u8; 32]>(halves));
            }
            SINGLE => {
                let floats = wide._mm512_cvtph_ps(cast(head::<32>(source)));
                let nan = wide._mm512_cmp_ps_mask::<_CMP_UNORD_Q>(floats, floats);
                let codes = cast(floats);
                let codes = wide._mm512_mask_and_epi32(codes, nan, codes, cast([0xffc0_0000u32; 16]));
                destination.copy_from_slice(&cast::<_, [u8; 64]>(codes));
            }
            INT64 => {
                for i in 0..2 {
                    let made = simd.avx512dq._mm512_cvttps_epi64(cast(head::<32>(&source[32 * i..])));
                    destination[64 * i..64 * (i + 1)].copy_from_slice(&cast::<_, [u8; 64]>(made));
                }
            }
            _ => {
                let made = wide._mm512_cvttps_epi32(cast(head::<64>(source)));
                destination.copy_from_slice(&cast::<_, [u8; 64]>(made));
            }
        }
    }
}
