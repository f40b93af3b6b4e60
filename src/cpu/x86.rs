//! Proofs that the processor has AVX2 or AVX-512, and the instructions that a proof makes safe to use, under the names of
//! the standard library.
//!
//! An instruction is one only in a loop that `vectorize` runs. Elsewhere it is a call.

use bytemuck::cast;
use fearless_simd::{Level, Simd, kernel};

#[cfg(target_arch = "x86")]
use core::arch::x86 as arch;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64 as arch;

pub(crate) use arch::{__m128, __m128i, __m256, __m256d, __m256i, __m512, __m512d, __m512i};
pub(crate) use arch::{__mmask8, __mmask16, __mmask32};

/// The proof of x86-64-v3: AVX2, F16C and what came before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct X86V3(fearless_simd::Avx2);

/// The proof of the AVX-512 of Intel's Ice Lake and AMD's Zen 4. Older processors with AVX-512 lower their clock where it
/// is used, for all that they run; they count as x86-64-v3.
#[derive(Clone, Copy, Debug)]
pub(crate) struct X86V4 {
    avx512: fearless_simd::Avx512,
    pub v3: X86V3,
}

impl X86V3 {
    pub(crate) fn try_new() -> Option<Self> {
        Level::new().as_avx2().map(Self)
    }

    fn level(self) -> fearless_simd::Avx2 {
        self.0
    }

    /// Runs `work`, a closure that is always inlined.
    #[inline(always)]
    pub(crate) fn vectorize(self, work: impl FnOnce()) {
        self.0.vectorize(work);
    }
}

impl X86V4 {
    pub(crate) fn try_new() -> Option<Self> {
        Some(Self { avx512: Level::new().as_avx512()?, v3: X86V3::try_new()? })
    }

    fn level(self) -> fearless_simd::Avx512 {
        self.avx512
    }

    /// Runs `work`, a closure that is always inlined.
    #[inline(always)]
    pub(crate) fn vectorize(self, work: impl FnOnce()) {
        self.avx512.vectorize(work);
    }
}

/// The count of a shift of all lanes.
#[inline(always)]
pub(crate) fn count(bits: u32) -> __m128i {
    cast([u64::from(bits), 0])
}

/// Makes one instruction a method of a proof.
macro_rules! instruction {
    ($Level:ident, $name:ident, $intrinsic:ident $(::<$immediate:tt>)?, ($($argument:ident: $type:ty),*) -> $made:ty) => {
        #[inline(always)]
        pub(crate) fn $name(self, $($argument: $type),*) -> $made {
            kernel!(
                #[inline(always)]
                fn instruction(_level: $Level, $($argument: $type),*) -> $made {
                    arch::$intrinsic$(::<$immediate>)?($($argument),*)
                }
            );
            instruction(self.level(), $($argument),*)
        }
    };
}

/// Makes instructions methods of a proof, by their operands and results.
macro_rules! instructions {
    ($Level:ident; $($arguments:tt -> $made:ty: $($name:ident)+;)+) => {
        $($(instruction!($Level, $name, $name, $arguments -> $made);)+)+
    };
}

/// Makes instructions with an immediate operand methods of a proof.
macro_rules! immediates {
    ($Level:ident; $($name:ident = $intrinsic:ident::<$immediate:tt> $arguments:tt -> $made:ty;)+) => {
        $(instruction!($Level, $name, $intrinsic::<$immediate>, $arguments -> $made);)+
    };
}

impl X86V3 {
    instructions! {
        Avx2;
        (a: __m256i) -> __m256i: _mm256_abs_epi8 _mm256_abs_epi16 _mm256_abs_epi32;
        (a: __m256i, b: __m256i) -> __m256i:
            _mm256_add_epi8 _mm256_add_epi16 _mm256_add_epi32 _mm256_and_si256 _mm256_andnot_si256 _mm256_cmpeq_epi8
            _mm256_cmpeq_epi16 _mm256_cmpeq_epi32 _mm256_cmpgt_epi8 _mm256_cmpgt_epi16 _mm256_cmpgt_epi32 _mm256_madd_epi16
            _mm256_maddubs_epi16 _mm256_max_epi32 _mm256_min_epi32 _mm256_min_epu8 _mm256_min_epu16 _mm256_min_epu32
            _mm256_mulhrs_epi16 _mm256_mullo_epi16 _mm256_or_si256 _mm256_packs_epi32 _mm256_packus_epi16
            _mm256_packus_epi32 _mm256_permutevar8x32_epi32 _mm256_shuffle_epi8 _mm256_sign_epi8 _mm256_sign_epi16
            _mm256_sign_epi32 _mm256_sllv_epi64 _mm256_srlv_epi32 _mm256_sub_epi32 _mm256_subs_epi8 _mm256_subs_epu8 _mm256_subs_epu16
            _mm256_unpackhi_epi8 _mm256_unpackhi_epi16 _mm256_unpackhi_epi32 _mm256_unpacklo_epi8
            _mm256_unpacklo_epi16 _mm256_unpacklo_epi32 _mm256_xor_si256;
        (a: __m256i, count: __m128i) -> __m256i:
            _mm256_sll_epi16 _mm256_sll_epi32 _mm256_sra_epi16 _mm256_sra_epi32 _mm256_srl_epi16 _mm256_srl_epi32;
        (a: __m256i, b: __m256i, mask: __m256i) -> __m256i: _mm256_blendv_epi8;
        (a: __m128i) -> __m256i:
            _mm256_cvtepi16_epi32 _mm256_cvtepi32_epi64 _mm256_cvtepi8_epi32 _mm256_cvtepu32_epi64
            _mm256_cvtepu8_epi16 _mm256_cvtepu8_epi32;
        (a: __m256, b: __m256) -> __m256: _mm256_add_ps _mm256_mul_ps _mm256_sub_ps;
        (a: __m256i) -> __m256: _mm256_cvtepi32_ps;
        (a: __m256) -> __m256i: _mm256_cvttps_epi32;
        (a: __m128) -> __m256d: _mm256_cvtps_pd;
        (a: __m256d) -> __m128i: _mm256_cvttpd_epi32;
        // NaN is made quiet and keeps its sign and its payload.
        (a: __m128i) -> __m256: _mm256_cvtph_ps;
    }
    immediates! {
        Avx2;
        // The middle quarters change places.
        _mm256_permute4x64_epi64_0213 = _mm256_permute4x64_epi64::<0b11_01_10_00>(a: __m256i) -> __m256i;
        _mm256_permute4x64_epi64_0202 = _mm256_permute4x64_epi64::<0b10_00_10_00>(a: __m256i) -> __m256i;
        _mm256_permute4x64_epi64_1313 = _mm256_permute4x64_epi64::<0b11_01_11_01>(a: __m256i) -> __m256i;
        _mm256_permute2x128_si256_low = _mm256_permute2x128_si256::<0x20>(a: __m256i, b: __m256i) -> __m256i;
        _mm256_permute2x128_si256_high = _mm256_permute2x128_si256::<0x31>(a: __m256i, b: __m256i) -> __m256i;
        _mm256_shuffle_ps_even = _mm256_shuffle_ps::<0b10_00_10_00>(a: __m256, b: __m256) -> __m256;
        _mm256_shuffle_ps_odd = _mm256_shuffle_ps::<0b11_01_11_01>(a: __m256, b: __m256) -> __m256;
        _mm256_blend_epi16_odd = _mm256_blend_epi16::<0b1010_1010>(a: __m256i, b: __m256i) -> __m256i;
        _mm256_blend_epi32_last_two = _mm256_blend_epi32::<0b1100_0000>(a: __m256i, b: __m256i) -> __m256i;
        _mm256_cmpunord_ps = _mm256_cmp_ps::<{ arch::_CMP_UNORD_Q }>(a: __m256, b: __m256) -> __m256;
        // NaN keeps its sign and the upper bits of its payload.
        _mm256_cvtps_ph_nearest = _mm256_cvtps_ph::<NEAREST>(a: __m256) -> __m128i;
    }
}

impl X86V4 {
    instructions! {
        Avx512;
        (a: __m512i) -> __m512i: _mm512_abs_epi16 _mm512_abs_epi32;
        (a: __m512i, b: __m512i) -> __m512i:
            _mm512_add_epi16 _mm512_add_epi32 _mm512_and_si512 _mm512_andnot_si512 _mm512_madd_epi16
            _mm512_maddubs_epi16 _mm512_max_epi16 _mm512_max_epi32 _mm512_min_epi32 _mm512_min_epu16 _mm512_min_epu32
            _mm512_or_si512 _mm512_packs_epi32 _mm512_packus_epi16 _mm512_packus_epi32 _mm512_permutexvar_epi16
            _mm512_permutexvar_epi32 _mm512_permutexvar_epi64 _mm512_shuffle_epi8 _mm512_sllv_epi16 _mm512_srav_epi16
            _mm512_srlv_epi16 _mm512_srlv_epi32 _mm512_sub_epi16 _mm512_sub_epi32 _mm512_subs_epu16
            _mm512_unpackhi_epi8 _mm512_unpackhi_epi16 _mm512_unpacklo_epi8 _mm512_unpacklo_epi16 _mm512_xor_si512;
        (a: __m512i, count: __m128i) -> __m512i:
            _mm512_sll_epi32 _mm512_sra_epi32 _mm512_srl_epi16 _mm512_srl_epi32;
        (a: __m512i, index: __m512i, b: __m512i) -> __m512i:
            _mm512_permutex2var_epi16 _mm512_permutex2var_epi32 _mm512_permutex2var_epi64;
        (a: __m512i, b: __m512i) -> __mmask8: _mm512_cmpgt_epi64_mask _mm512_cmplt_epi64_mask _mm512_test_epi64_mask;
        (a: __m512i, b: __m512i) -> __mmask16:
            _mm512_cmpeq_epi32_mask _mm512_cmpgt_epi32_mask _mm512_cmpgt_epu32_mask;
        (a: __m512i, b: __m512i) -> __mmask32:
            _mm512_cmpeq_epi16_mask _mm512_cmpgt_epi16_mask _mm512_test_epi16_mask;
        (a: __m512i) -> __mmask32: _mm512_movepi16_mask;
        (a: __m512i) -> __mmask8: _mm512_movepi64_mask;
        (mask: __mmask8, a: __m512i, b: __m512i) -> __m512i: _mm512_mask_blend_epi64;
        (mask: __mmask16, a: __m512i, b: __m512i) -> __m512i: _mm512_mask_blend_epi32;
        (mask: __mmask32, a: __m512i, b: __m512i) -> __m512i: _mm512_mask_blend_epi16;
        (a: __m512i, mask: __mmask8, b: __m512i, c: __m512i) -> __m512i: _mm512_mask_or_epi64;
        (a: __m512i, mask: __mmask16, b: __m512i, c: __m512i) -> __m512i: _mm512_mask_and_epi32;
        (a: __m512i, mask: __mmask32, b: __m512i, c: __m512i) -> __m512i: _mm512_mask_sub_epi16;
        (a: __m512i) -> __m256i: _mm512_cvtepi16_epi8;
        (a: __m256i) -> __m512i: _mm512_cvtepi32_epi64 _mm512_cvtepu16_epi32 _mm512_cvtepu8_epi16;
        (a: __m128i) -> __m512i: _mm512_cvtepi8_epi32 _mm512_cvtepu8_epi32 _mm512_cvtepu8_epi64;
        (a: __m512, b: __m512) -> __m512: _mm512_add_ps _mm512_mul_ps _mm512_sub_ps;
        (a: __m512i) -> __m512: _mm512_cvtepi32_ps _mm512_cvtepu32_ps;
        (a: __m512) -> __m512i: _mm512_cvttps_epi32;
        (a: __m256i) -> __m512: _mm512_cvtph_ps;
        (a: __m256) -> __m512d: _mm512_cvtps_pd;
        (a: __m512d) -> __m256i: _mm512_cvttpd_epi32;
        (a: __m256) -> __m512i: _mm512_cvttps_epi64;
        (mask: __mmask8, a: __m256) -> __m512i: _mm512_maskz_cvttps_epu64;
    }
    immediates! {
        Avx512;
        _mm512_cmpunord_ps_mask = _mm512_cmp_ps_mask::<{ arch::_CMP_UNORD_Q }>(a: __m512, b: __m512) -> __mmask16;
        _mm512_cvtps_ph_nearest = _mm512_cvtps_ph::<NEAREST>(a: __m512) -> __m256i;
        _mm512_cvt_roundpd_ps_zero = _mm512_cvt_roundpd_ps::<ZERO>(a: __m512d) -> __m256;
        _mm512_cvt_roundepi64_ps_zero = _mm512_cvt_roundepi64_ps::<ZERO>(a: __m512i) -> __m256;
        _mm512_cvt_roundepi64_ps_down = _mm512_cvt_roundepi64_ps::<DOWN>(a: __m512i) -> __m256;
        _mm512_cvt_roundepi64_ps_up = _mm512_cvt_roundepi64_ps::<UP>(a: __m512i) -> __m256;
        _mm512_cvt_roundepu64_ps_zero = _mm512_cvt_roundepu64_ps::<ZERO>(a: __m512i) -> __m256;
        _mm512_cvt_roundepu64_ps_up = _mm512_cvt_roundepu64_ps::<UP>(a: __m512i) -> __m256;
    }
}

/// To nearest, ties to even, in any floating-point mode.
const NEAREST: i32 = 0;

/// The direction in which a conversion rounds, in any floating-point mode and without floating-point exceptions.
pub(crate) const DOWN: i32 = 0b1001;
pub(crate) const UP: i32 = 0b1010;
pub(crate) const ZERO: i32 = 0b1011;
