//! Steps that use x86 instructions directly, because they do not divide into a source and a sink.

#![allow(clippy::needless_range_loop, reason = "the closures of adapters are compiled without the vector instructions")]

#[cfg(target_arch = "x86")]
use core::arch::x86::{__m512, _CMP_UNORD_Q};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{__m512, _CMP_UNORD_Q};

use bytemuck::cast;
use pulp::x86::V3;

use super::kernel::{Kernel, Step, Steps};
use super::lanes::{avx2::Avx2, avx512::Avx512};
use super::pack::avx2::{LANES, array, read, splat_u8, store};

/// FLOAT to FLOAT16 with the processor's own conversion.
#[derive(Clone, Copy)]
pub(crate) struct F32ToF16;

impl Step<Avx512> for F32ToF16 {
    const READ: usize = 64;
    const WRITTEN: usize = 32;

    #[inline(always)]
    fn step(self, l: Avx512, source: &[u8], destination: &mut [u8]) {
        /// To nearest, ties to even, in any floating-point mode.
        const NEAREST: i32 = 0;
        let floats: __m512 = cast(array::<64>(source));
        let is_nan = l.0.avx512f._mm512_cmp_ps_mask::<_CMP_UNORD_Q>(floats, floats);
        let codes = l.0.avx512f._mm512_cvtps_ph::<NEAREST>(floats);
        // A NaN that is made quiet has its sign, exponent and top bit already.
        let canonical = l.0.avx2._mm256_and_si256(codes, cast([0xfe00u16; 16]));
        let codes = l.0.avx512bw._mm256_mask_blend_epi16(is_nan, codes, canonical);
        destination.copy_from_slice(&cast::<_, [u8; 32]>(codes));
    }
}

/// The kernel that packs the low bits of bytes.
pub(crate) fn pack_bytes(simd: V3, bits: u32) -> Box<dyn Kernel> {
    with_const!(BITS: usize = bits, of 2 4 6, Box::new(Steps(Avx2(simd), PackBytes::<BITS>)))
}

#[derive(Clone, Copy)]
struct PackBytes<const BITS: usize>;

impl<const BITS: usize> Step<Avx2> for PackBytes<BITS> {
    const READ: usize = 4 * LANES;
    const WRITTEN: usize = 4 * LANES * BITS / 8;

    #[inline(always)]
    fn step(self, Avx2(simd): Avx2, source: &[u8], destination: &mut [u8]) {
        let mut codes = [splat_u8(0); 4];
        for i in 0..4 {
            codes[i] = simd.avx2._mm256_and_si256(read(source, LANES * i), splat_u8(0xff >> (8 - BITS)));
        }
        store::<BITS>(simd, codes, destination);
    }
}
