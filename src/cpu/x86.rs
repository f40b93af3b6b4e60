//! The loops of a pair on x86 processors that have AVX2 or AVX-512.

use bytemuck::cast;
use pulp::x86::V4;

use super::arch::{__m256i, __m512i};
use super::cast_loop::CastLoop;
use super::codes::{F16_INFINITY, F16_MAGNITUDE, F16_NAN, F16_SIGN};
use super::compose::{codes, elements, lanes};
use super::f16c::{NEAREST, X86V3};
use super::lanes::{Lanes, avx2::Avx2, avx512::Avx512};
use super::method::{Method, SinkKind, SourceKind};
use super::sign_rule::{ANY, KEPT, NO_NEGATIVE_ZERO, SignRule};
use super::sink::avx512::{Halves, LookUpF16, ShiftInteger, ShiftOrLookUp};
use super::sink::{ExponentRule, Sink, signed};
use super::source::{Bf16, F32Source, F64Source, Int, Parts, Source};
use super::table::{nibble::nibble_table, register::RegisterTable, shuffle::shuffle_table};
use crate::bits::format::FloatFormat;
use crate::bits::reference::{EncodeFloat, Hub};
use crate::types::conversion::Conversion;
use crate::types::element::{BFLOAT16, BINARY16};

pub(crate) fn with_avx2(
    simd: X86V3,
    conversion: &Conversion,
    method: Method,
    source: SourceKind,
    sink: SinkKind,
) -> Box<dyn CastLoop> {
    match method {
        Method::NibbleTable => nibble_table(Avx2::<false>(simd), conversion),
        Method::ShuffleTable => shuffle_table(simd, conversion, source, sink),
        Method::Elements => elements(simd.v3, source, sink),
        Method::ConvertF16 => convert_f16(Avx2::<true>(simd), source, sink),
        _ => lanes(Avx2::<false>(simd), method, source, sink),
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
        Method::NibbleTable => nibble_table(Avx512(simd), conversion),
        Method::RegisterTable => Box::new(RegisterTable::new(simd, conversion, source, sink)),
        Method::Elements => elements(simd, source, sink),
        // Every processor with AVX-512 has AVX2 and F16C, but only detection proves it.
        Method::LanesAvx2 => match X86V3::try_new() {
            Some(simd) => lanes(Avx2::<false>(simd), method, source, sink),
            None => lanes(Avx512(simd), method, source, sink),
        },
        Method::ConvertF16 => convert_f16(Avx512(simd), source, sink),
        Method::ShiftInteger => shift_integer(Avx512(simd), source, sink),
        Method::RoundF16(ExponentRule::Smaller) => round_smaller(Avx512(simd), method, source, sink),
        _ => lanes(Avx512(simd), method, source, sink),
    }
}

/// The loop from floats to floats of at most 8 bits whose exponents are smaller than those of 16-bit floats.
fn round_smaller(l: Avx512, method: Method, source: SourceKind, sink: SinkKind) -> Box<dyn CastLoop> {
    let SinkKind::Round(to) = sink else { unreachable!("floats are rounded to floats") };
    let made = match source {
        // The sinks ask for the codes only, so `Bf16` stands for both 16-bit sources.
        SourceKind::F16 { .. } => round_16_bits(l, Bf16, &BINARY16, to),
        SourceKind::Bf16 => round_16_bits(l, Bf16, &BFLOAT16, to),
        // To 6 and 8 bits that is slower.
        SourceKind::F32 => LookUpF16::<ANY>::new(&BFLOAT16, to).map(|sink| codes(l, F32Source, sink)),
        SourceKind::F64 => round_16_bits(l, F64Source, &BFLOAT16, to),
        _ => None,
    };
    made.unwrap_or_else(|| lanes(l, method, source, sink))
}

/// The loop that rounds 16-bit floats of the format `from`; `None` if there is none for a destination.
fn round_16_bits<S: Halves + 'static>(
    l: Avx512,
    source: S,
    from: &FloatFormat,
    to: EncodeFloat,
) -> Option<Box<dyn CastLoop>> {
    match (to.bits, SignRule::compiled(&to)?) {
        (4, SignRule::Any) => LookUpF16::<ANY>::new(from, to).map(|sink| codes(l, source, sink)),
        (6, SignRule::Any) => ShiftOrLookUp::<6, ANY>::new(from, to).map(|sink| codes(l, source, sink)),
        (8, SignRule::Kept) => ShiftOrLookUp::<8, KEPT>::new(from, to).map(|sink| codes(l, source, sink)),
        (8, SignRule::NoNegativeZero) => {
            ShiftOrLookUp::<8, NO_NEGATIVE_ZERO>::new(from, to).map(|sink| codes(l, source, sink))
        }
        _ => None,
    }
}

/// The loop from 16-bit integers to floats of 8 bits.
fn shift_integer(l: Avx512, source: SourceKind, sink: SinkKind) -> Box<dyn CastLoop> {
    let (SourceKind::Int { signed, .. }, SinkKind::Round(to)) = (source, sink) else {
        unreachable!("integers are rounded to floats")
    };
    let sink = ShiftInteger::<8>::new(&to);
    with_const!(SIGNED: bool = signed, of true false, codes(l, Int::<16, SIGNED, false>, sink))
}

/// The loop to FLOAT16 with the processor's own conversion.
fn convert_f16<L: ConvertsF16 + 'static>(l: L, source: SourceKind, sink: SinkKind) -> Box<dyn CastLoop> {
    let SinkKind::Round(to) = sink else { unreachable!("FLOAT16 is rounded to") };
    let sink = ConvertF16(to);
    match source {
        SourceKind::Bf16 => codes(l, Bf16, sink),
        SourceKind::F32 => codes(l, F32Source, sink),
        SourceKind::F64 => codes(l, F64Source, sink),
        SourceKind::Int { bits, signed } => with_const!(BITS: usize = bits, of 16 32 64,
            with_const!(SIGNED: bool = signed, of true false, codes(l, Int::<BITS, SIGNED, false>, sink))),
        _ => unreachable!("{source:?} is not converted to FLOAT16 by way of FLOAT"),
    }
}

/// Rounding to FLOAT16, which is the only rounding, as that of [`Round`](super::sink::Round).
#[derive(Clone, Copy)]
struct ConvertF16(EncodeFloat);

impl<L: ConvertsF16, S: Source<L>> Sink<L, S> for ConvertF16 {
    const BITS: usize = 16;

    #[inline(always)]
    fn codes(self, l: L, source: S, bytes: &[u8]) -> L::U16 {
        if S::HUB != Hub::F32 {
            let Parts { magnitude, sign, is_nan } = source.parts(l, bytes);
            return signed::<_, 16, KEPT>(l, l.f16_codes(magnitude), sign, is_nan, &self.0);
        }
        let codes = l.f16_codes(source.numbers(l, bytes));
        if !S::NANS {
            return codes;
        }
        let magnitude = l.and_u16(codes, l.splat_u16(F16_MAGNITUDE));
        let is_nan = l.greater_u16(magnitude, l.splat_u16(F16_INFINITY));
        // A NaN that is made quiet has its sign, exponent and top bit already.
        l.select_u16(is_nan, l.and_u16(codes, l.splat_u16(F16_SIGN | F16_NAN)), codes)
    }
}

/// Lanes of processors that convert between binary32 and FLOAT16.
trait ConvertsF16: Lanes {
    /// The codes of binary32 numbers in FLOAT16, in the order that [`narrow`](Lanes::narrow) leaves. NaN is quiet and keeps its sign.
    fn f16_codes(self, numbers: Self::U32) -> Self::U16;
}

impl ConvertsF16 for Avx512 {
    #[inline(always)]
    fn f16_codes(self, numbers: [__m512i; 2]) -> __m512i {
        cast(numbers.map(
            #[inline(always)]
            |numbers| self.0.avx512f._mm512_cvtps_ph::<NEAREST>(cast(numbers)),
        ))
    }
}

impl ConvertsF16 for Avx2<true> {
    #[inline(always)]
    fn f16_codes(self, [a, b]: [__m256i; 2]) -> __m256i {
        let in_order = cast([self.0.narrow(cast(a)), self.0.narrow(cast(b))]);
        self.0.v3.avx2._mm256_permute4x64_epi64::<0b11_01_10_00>(in_order)
    }
}
