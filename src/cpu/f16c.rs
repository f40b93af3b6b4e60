//! The conversions between binary32 and FLOAT16 of x86-64-v3 (F16C), for which `pulp` has no functions.

use fearless_simd::{Level, Simd, kernel};
use pulp::x86::V3;

use super::arch::{__m128i, __m256, _mm256_cvtph_ps, _mm256_cvtps_ph};

/// Proofs that this processor has x86-64-v3.
#[derive(Clone, Copy, Debug)]
pub(crate) struct X86V3 {
    pub v3: V3,
    f16c: fearless_simd::Avx2,
}

impl X86V3 {
    pub(crate) fn try_new() -> Option<Self> {
        Some(Self { v3: V3::try_new()?, f16c: Level::new().as_avx2()? })
    }

    /// Runs `work`, a closure that is always inlined, in a function that is compiled for F16C. In other functions,
    /// [`narrow`](Self::narrow) and [`widen`](Self::widen) are calls.
    #[inline(always)]
    pub(crate) fn vectorize(self, work: impl FnOnce()) {
        self.f16c.vectorize(work);
    }

    /// Rounds to nearest, ties to even, in any floating-point mode. NaN keeps its sign and the upper bits of its
    /// payload.
    #[inline(always)]
    pub(crate) fn narrow(self, numbers: __m256) -> __m128i {
        narrow(self.f16c, numbers)
    }

    /// NaN is made quiet and keeps its sign and its payload.
    #[inline(always)]
    pub(crate) fn widen(self, codes: __m128i) -> __m256 {
        widen(self.f16c, codes)
    }
}

/// Rounds to nearest, ties to even, in any floating-point mode.
pub(crate) const NEAREST: i32 = 0;

kernel!(
    #[inline(always)]
    fn narrow(_simd: Avx2, numbers: __m256) -> __m128i {
        _mm256_cvtps_ph::<NEAREST>(numbers)
    }
);

kernel!(
    #[inline(always)]
    fn widen(_simd: Avx2, codes: __m128i) -> __m256 {
        _mm256_cvtph_ps(codes)
    }
);
