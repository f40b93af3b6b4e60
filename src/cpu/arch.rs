//! The vector types and constants of x86, which the standard library has in two modules: one for 32-bit and one for
//! 64-bit addresses.

#[cfg(target_arch = "x86")]
pub(crate) use core::arch::x86::{
    __m128i, __m256, __m256i, __m512i, __mmask16, __mmask32, _CMP_UNORD_Q, _mm256_cvtph_ps, _mm256_cvtps_ph,
};
#[cfg(target_arch = "x86_64")]
pub(crate) use core::arch::x86_64::{
    __m128i, __m256, __m256i, __m512i, __mmask16, __mmask32, _CMP_UNORD_Q, _mm256_cvtph_ps, _mm256_cvtps_ph,
};
