//! Rounding to FLOAT16 by the processor's own conversion. In the caches, it has 1.5 to 2.4 times the speed of `Round`
//! with AVX-512, and 1.15 to 2.0 times with AVX2.

#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
use bytemuck::cast;

use super::Sink;
use super::round::{RoundToBytes, Rounding, signed};
use crate::bits::reference::{EncodeFloat, Hub};
use crate::cpu::codes::{F16_INFINITY, F16_MAGNITUDE, F16_NAN, F16_SIGN};
use crate::cpu::lanes::Lanes;
#[cfg(all(feature = "cpu-simd", target_arch = "aarch64"))]
use crate::cpu::lanes::neon::{Neon, kernels};
use crate::cpu::sign_rule::KEPT;
use crate::cpu::source::{Numbers, SignMagnitude};
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
use crate::cpu::{
    lanes::{avx2::Avx2, avx512::Avx512},
    x86::{__m256i, __m512i},
};
use crate::types::element::BINARY16;

/// Rounding to FLOAT16. As with `Round`, it is the only rounding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConvertToF16(EncodeFloat);

impl ConvertToF16 {
    /// `None` for other formats than FLOAT16.
    pub(crate) fn new(to: &EncodeFloat) -> Option<Self> {
        match Rounding::new(to)? {
            Rounding::ToBytes(RoundToBytes::Add16(_)) if to.man == BINARY16.man_bits => Some(Self(*to)),
            _ => None,
        }
    }
}

impl<L: ConvertsToF16, S: Numbers<L>> Sink<L, S> for ConvertToF16 {
    const BITS: usize = 16;

    #[inline(always)]
    fn codes(self, l: L, source: S, bytes: &[u8]) -> L::U16 {
        if S::HUB != Hub::F32 {
            let SignMagnitude { magnitude, sign, is_nan } = source.sign_magnitude(l, bytes);
            return signed::<_, 16, KEPT>(l, l.f16_codes(magnitude), sign, is_nan, &self.0);
        }
        let codes = l.f16_codes(source.numbers(l, bytes));
        if !S::NANS {
            return codes;
        }
        l.canonical_f16(codes)
    }
}

/// Lanes of processors that convert binary32 to FLOAT16.
pub(crate) trait ConvertsToF16: Lanes {
    /// The codes of binary32 numbers in FLOAT16, in the order that [`narrow`](Lanes::narrow) leaves. NaN is quiet and
    /// keeps its sign.
    fn f16_codes(self, numbers: Self::U32) -> Self::U16;

    /// The codes of FLOAT16, with canonical NaNs instead of quiet ones.
    #[inline(always)]
    fn canonical_f16(self, codes: Self::U16) -> Self::U16 {
        let magnitude = self.and_u16(codes, self.splat_u16(F16_MAGNITUDE));
        let is_nan = self.greater_u16(magnitude, self.splat_u16(F16_INFINITY));
        // A NaN that is made quiet has its sign, exponent and top bit already.
        self.select_u16(is_nan, self.and_u16(codes, self.splat_u16(F16_SIGN | F16_NAN)), codes)
    }
}

#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
impl ConvertsToF16 for Avx512 {
    #[inline(always)]
    fn f16_codes(self, numbers: [__m512i; 2]) -> __m512i {
        cast([self.0._mm512_cvtps_ph_nearest(cast(numbers[0])), self.0._mm512_cvtps_ph_nearest(cast(numbers[1]))])
    }
}

#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
impl ConvertsToF16 for Avx2 {
    #[inline(always)]
    fn f16_codes(self, [a, b]: [__m256i; 2]) -> __m256i {
        let in_order = cast([self.0._mm256_cvtps_ph_nearest(cast(a)), self.0._mm256_cvtps_ph_nearest(cast(b))]);
        self.0._mm256_permute4x64_epi64_0213(in_order)
    }
}

#[cfg(all(feature = "cpu-simd", target_arch = "aarch64"))]
impl ConvertsToF16 for Neon {
    #[inline(always)]
    fn f16_codes(self, numbers: [kernels::W; 2]) -> kernels::H {
        self.f16_codes(numbers)
    }

    #[inline(always)]
    fn canonical_f16(self, codes: kernels::H) -> kernels::H {
        // The canonical NaNs are the least quiet ones of either sign.
        let codes = kernels::min_16(self.0, codes, self.splat_u16(F16_SIGN | F16_NAN));
        kernels::min_signed_16(self.0, codes, self.splat_u16(F16_NAN))
    }
}
