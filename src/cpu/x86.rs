//! The loops of a pair on x86 processors that have AVX2 or AVX-512.

use bytemuck::cast;
use pulp::x86::{V3, V4};

use super::cast_loop::{CastLoop, Step, Steps};
use super::compose::{elements, lanes};
use super::lanes::{avx2::Avx2, avx512::Avx512};
use super::method::{Method, SinkKind, SourceKind};
use super::pack::array;
use super::table::{register::RegisterTable, shuffle::ShuffleTable};
use crate::conversion::Conversion;
use crate::cpu::arch::{__m512, _CMP_UNORD_Q};

pub(crate) fn with_avx2(
    simd: V3,
    conversion: &Conversion,
    method: Method,
    source: SourceKind,
    sink: SinkKind,
) -> Box<dyn CastLoop> {
    match method {
        Method::ShuffleTable => Box::new(ShuffleTable::new(simd, conversion)),
        Method::Elements => elements(simd, source, sink),
        _ => lanes(Avx2(simd), method, source, sink),
    }
}

pub(crate) fn with_avx512(
    simd: V4,
    conversion: &Conversion,
    method: Method,
    source: SourceKind,
    sink: SinkKind,
) -> Box<dyn CastLoop> {
    match method {
        Method::ShuffleTable => Box::new(ShuffleTable::new(*simd, conversion)),
        Method::RegisterTable => Box::new(RegisterTable::new(simd, conversion)),
        Method::Elements => elements(simd, source, sink),
        Method::LanesAvx2 => lanes(Avx2(*simd), method, source, sink),
        Method::ConvertF16 => Box::new(Steps(Avx512(simd), F32ToF16)),
        _ => lanes(Avx512(simd), method, source, sink),
    }
}

/// FLOAT to FLOAT16 with the processor's own conversion.
#[derive(Clone, Copy)]
struct F32ToF16;

impl Step<Avx512> for F32ToF16 {
    const READ: usize = 64;
    const WRITTEN: usize = 32;
    const STREAMS: bool = true;

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
