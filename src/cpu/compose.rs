//! Makes the loop of a pair: chooses its source and its sink, and compiles both for the lanes of an instruction set.

use super::cast_loop::{CastLoop, F16ToFloat, F16ToInt64, Map, Packed, SourceToSink, Step, Steps, ToInt};
use super::isa::Instructions;
use super::lanes::{Lanes, portable::Portable};
use super::method::{Method, SinkKind, SourceKind};
use super::scalar::{self, Exact, RoundF64};
use super::sign_rule::{ANY, KEPT, NO_NEGATIVE_ZERO, SignRule};
use super::sink::{Clamp, E8m0, ExponentRule, LookUpInteger, LowBits, Round, RoundF16, RoundMethod, Sink};
use super::source::{Bf16, F8, F16, F32Source, F64Source, Int, Source};
use super::word::Word;
use crate::bits::format::FloatFormat;
use crate::bits::reference::{EncodeE8m0, EncodeFloat};
use crate::types::element::{BFLOAT16, BINARY16};

type Made = Box<dyn CastLoop>;

/// Evaluates an expression with the integer type `$Int`, which has `$bits` bits and is `$signed`.
macro_rules! with_int {
    ($Int:ident: $bits:expr, $signed:expr, $made:expr) => {
        with_int!($Int: $bits, $signed, $made, of 8 i8 u8, 16 i16 u16, 32 i32 u32, 64 i64 u64)
    };
    ($Int:ident: $bits:expr, $signed:expr, $made:expr, of $($width:literal $i:ident $u:ident),+) => {
        match ($bits, $signed) {
            $(($width, true) => {
                type $Int = $i;
                $made
            }
            ($width, false) => {
                type $Int = $u;
                $made
            })+
            (bits, _) => unreachable!("integers of {bits} bits"),
        }
    };
}

pub(crate) fn lanes<L: Lanes + 'static>(l: L, method: Method, source: SourceKind, sink: SinkKind) -> Made {
    match source {
        SourceKind::SmallFloat(format) => {
            let (man, bias, max) = (format.man_bits, format.bias, format.max() as u16);
            codes(l, F8 { man, bias, max }, LowBits::<16>)
        }
        SourceKind::F16 { subnormals } => match (method, sink) {
            (Method::RoundF16(rule), SinkKind::Round(to)) => round_f16(l, F16::<true>, BINARY16, to, rule),
            (_, SinkKind::F32) => steps(l.for_f16(), F16ToFloat::<32>),
            (_, SinkKind::F64) => steps(l.for_f16(), F16ToFloat::<64>),
            (_, SinkKind::Int64 { signed }) => {
                with_const!(SIGNED: bool = signed, of true false, steps(l, F16ToInt64::<SIGNED>))
            }
            (_, SinkKind::Truncate { bits }) => low_bits(l, F16::<false>, bits),
            _ if subnormals => from_float(l.for_f16(), F16::<true>, sink),
            _ => from_float(l.for_f16(), F16::<false>, sink),
        },
        SourceKind::Bf16 => match (method, sink) {
            (Method::RoundF16(rule), SinkKind::Round(to)) => round_f16(l, Bf16, BFLOAT16, to, rule),
            _ => from_float(l, Bf16, sink),
        },
        SourceKind::F32 => from_float(l, F32Source, sink),
        SourceKind::F64 => from_float(l, F64Source, sink),
        SourceKind::Int { bits: bits @ 16.., signed } => with_const!(BITS: usize = bits, of 16 32 64,
            with_const!(SIGNED: bool = signed, of true false,
                from_int::<L, BITS, SIGNED>(l, sink))),
        SourceKind::Int { bits: 8, .. } => low_bits(l, Int::<8, false, false>, sink.bits().unwrap_or(8)),
        SourceKind::Bool | SourceKind::Int { .. } | SourceKind::OtherFloat(_) => {
            unreachable!("{method:?} from {source:?}")
        }
    }
}

fn steps<L: Lanes + 'static, T: Step<L> + 'static>(l: L, step: T) -> Made {
    Box::new(Steps(l, step))
}

/// The loop of a source and a sink. If the lanes do not pack codes, it packs them afterwards.
pub(crate) fn codes<L: Lanes + 'static, S: Source<L> + 'static, K: Sink<L, S> + 'static>(
    l: L,
    source: S,
    sink: K,
) -> Made {
    let bytes = steps(l, SourceToSink(source, sink));
    if L::PACKS || K::BITS >= 8 { bytes } else { Box::new(Packed { bytes, from_bits: S::BITS, to_bits: K::BITS }) }
}

fn from_float<L: Lanes + 'static, S: Source<L> + 'static>(l: L, source: S, sink: SinkKind) -> Made {
    match sink {
        SinkKind::Round(to) if RoundMethod::new(&to) == Some(RoundMethod::Shift) => {
            codes(l, source, Round::<16, false, KEPT>::new(to))
        }
        SinkKind::Round(to) => round(l, source, to),
        SinkKind::E8m0(to) => e8m0(l, source, &to),
        SinkKind::Truncate { bits } => low_bits(l, source, bits),
        SinkKind::Clamp { bits: 4, below, above } => codes(l, source, Clamp::<4> { below, above }),
        SinkKind::Int32 => steps(l, ToInt::<S, 32, true>(source)),
        SinkKind::Int64 { signed } => {
            with_const!(SIGNED: bool = signed, of true false, steps(l, ToInt::<S, 64, SIGNED>(source)))
        }
        _ => unreachable!("no lanes of floats to {sink:?}"),
    }
}

fn from_int<L: Lanes + 'static, const BITS: usize, const SIGNED: bool>(l: L, sink: SinkKind) -> Made {
    let (odd, bounded) = (Int::<BITS, SIGNED, true>, Int::<BITS, SIGNED, false>);
    match sink {
        SinkKind::Round(to) if RoundMethod::new(&to) == Some(RoundMethod::Shift) => {
            codes(l, odd, Round::<16, false, KEPT>::new(to))
        }
        SinkKind::Round(to) if L::LOOKS_UP && matches!(to.bits, 4 | 6) => {
            with_const!(TO: usize = to.bits, of 4 6, codes(l, bounded, LookUpInteger::<TO>::new(&to)))
        }
        SinkKind::Round(to) => round(l, bounded, to),
        SinkKind::E8m0(to) => e8m0(l, odd, &to),
        SinkKind::LowBits { bits } => low_bits(l, bounded, bits),
        _ => unreachable!("no lanes of integers to {sink:?}"),
    }
}

fn e8m0<L: Lanes + 'static, S: Source<L> + 'static>(l: L, source: S, to: &EncodeE8m0) -> Made {
    let saturate = to.high != to.nan;
    with_const!(SATURATE: bool = saturate, of true false, codes(l, source, E8m0::<SATURATE>::new(to, S::HUB)))
}

fn round<L: Lanes + 'static, S: Source<L> + 'static>(l: L, source: S, to: EncodeFloat) -> Made {
    match (to.bits, SignRule::compiled(&to)) {
        (16, Some(SignRule::Kept)) => codes(l, source, Round::<16, true, KEPT>::new(to)),
        (8, Some(SignRule::Kept)) => codes(l, source, Round::<8, true, KEPT>::new(to)),
        (8, Some(SignRule::NoNegativeZero)) => codes(l, source, Round::<8, true, NO_NEGATIVE_ZERO>::new(to)),
        (6, Some(SignRule::Any)) => codes(l, source, Round::<6, true, ANY>::new(to)),
        (4, Some(SignRule::Any)) => codes(l, source, Round::<4, true, ANY>::new(to)),
        _ => unreachable!("`RoundMethod::new` serves no other destination, such as {to:?}"),
    }
}

fn round_f16<L: Lanes + 'static, S: Source<L> + 'static>(
    l: L,
    source: S,
    from: FloatFormat,
    to: EncodeFloat,
    rule: ExponentRule,
) -> Made {
    const SAME: u8 = ExponentRule::Same as u8;
    const NEXT: u8 = ExponentRule::Next as u8;
    const SMALLER: u8 = ExponentRule::Smaller as u8;
    match (rule, to.bits, SignRule::compiled(&to)) {
        (ExponentRule::Same, 8, Some(SignRule::Kept)) => codes(l, source, RoundF16::<8, SAME, KEPT>::new(&from, to)),
        (ExponentRule::Next, 8, Some(SignRule::NoNegativeZero)) => {
            codes(l, source, RoundF16::<8, NEXT, NO_NEGATIVE_ZERO>::new(&from, to))
        }
        (ExponentRule::Smaller, 8, Some(SignRule::NoNegativeZero)) => {
            codes(l, source, RoundF16::<8, SMALLER, NO_NEGATIVE_ZERO>::new(&from, to))
        }
        (ExponentRule::Smaller, 8, Some(SignRule::Kept)) => {
            codes(l, source, RoundF16::<8, SMALLER, KEPT>::new(&from, to))
        }
        (ExponentRule::Smaller, 6, Some(SignRule::Any)) => {
            codes(l, source, RoundF16::<6, SMALLER, ANY>::new(&from, to))
        }
        (ExponentRule::Smaller, 4, Some(SignRule::Any)) => {
            codes(l, source, RoundF16::<4, SMALLER, ANY>::new(&from, to))
        }
        _ => unreachable!("`ExponentRule::new` serves no other destination, such as {to:?}"),
    }
}

fn low_bits<L: Lanes + 'static, S: Source<L> + 'static>(l: L, source: S, bits: u32) -> Made {
    with_const!(BITS: usize = bits, of 2 4 8 16, codes(l, source, LowBits::<BITS>))
}

/// `map!(isa, |x: word| code)` is the loop of a function that is always inlined.
macro_rules! map {
    ($isa:ident, |$x:ident: $word:ty| $code:expr) => {
        map(
            $isa,
            #[inline(always)]
            move |$x: $word| $code,
        )
    };
}

fn map<I: Instructions + 'static, S: Word + 'static, D: Word + 'static>(
    isa: I,
    function: impl Fn(S) -> D + Copy + Send + Sync + 'static,
) -> Made {
    steps(Portable(isa), Map::<S, D, _, 2>::new(function))
}

/// The loops of functions of one element.
pub(crate) fn elements<I: Instructions + 'static>(i: I, source: SourceKind, sink: SinkKind) -> Made {
    match (sink, source) {
        (SinkKind::Bool, _) => is_nonzero(i, source),
        (SinkKind::LowBits { bits }, SourceKind::Bool) => {
            with_int!(To: bits, false, map!(i, |x: u8| To::from(x != 0)))
        }
        (SinkKind::F32, SourceKind::Bool) => map!(i, |x: u8| f32::from(x != 0).to_bits()),
        (SinkKind::F64, SourceKind::Bool) => map!(i, |x: u8| f64::from(x != 0).to_bits()),
        (SinkKind::LowBits { bits: bits @ ..8 }, SourceKind::Int { bits: from, .. }) => {
            let bytes = with_int!(From: from, false, map!(i, |x: From| x as u8));
            Box::new(Packed { bytes, from_bits: from as usize, to_bits: bits as usize })
        }
        (SinkKind::LowBits { bits }, SourceKind::Int { bits: from, signed }) => {
            with_int!(From: from, signed, with_int!(To: bits, false, map!(i, |x: From| x as To)))
        }
        (SinkKind::F32, _) => to_f32(i, source),
        (SinkKind::F64, _) => to_f64(i, source),
        (SinkKind::Int64 { signed }, _) => with_const!(SIGNED: bool = signed, of true false, {
            to_int64::<I, SIGNED>(i, source)
        }),
        (SinkKind::Int32, SourceKind::F16 { .. }) => map!(i, |x: u16| scalar::f16_to_int32(x, 1 << 31)),
        (SinkKind::Int32, SourceKind::Bf16) => map!(i, |x: u16| scalar::f32_to_int32(u32::from(x) << 16)),
        (SinkKind::Int32, SourceKind::F32) => map!(i, |x: u32| scalar::f32_to_int32(x)),
        (SinkKind::Int32, SourceKind::F64) => map!(i, |x: u64| scalar::f64_to_int32(x)),
        (SinkKind::Uint32, SourceKind::F16 { .. }) => map!(i, |x: u16| scalar::f16_to_int32(x, 0)),
        (SinkKind::Uint32, SourceKind::Bf16) => map!(i, |x: u16| scalar::f32_to_uint32(u32::from(x) << 16)),
        (SinkKind::Uint32, SourceKind::F32) => map!(i, |x: u32| scalar::f32_to_uint32(x)),
        (SinkKind::Uint32, SourceKind::F64) => map!(i, |x: u64| scalar::f64_to_uint32(x)),
        (SinkKind::Round(to), SourceKind::F64) => round_f64(i, to),
        (SinkKind::Round(to), SourceKind::Int { signed, .. }) => {
            let to = Exact::new(&to);
            match signed {
                true => map!(i, |x: i8| to.code::<true>(x.into())),
                false => map!(i, |x: u8| to.code::<false>(x.into())),
            }
        }
        _ => unreachable!("no function of {source:?} to {sink:?}"),
    }
}

fn round_f64<I: Instructions + 'static>(i: I, format: EncodeFloat) -> Made {
    let to = RoundF64::new(&format);
    let packed = |bytes| match format.bits {
        8 => bytes,
        bits => Box::new(Packed { bytes, from_bits: 64, to_bits: bits as usize }),
    };
    match (format.bits, SignRule::new(&format)) {
        (16, _) => {
            // The compiler does not vectorise a loop with streaming stores: with AVX2 it takes twelve times as long.
            let code = Map::<u64, u16, _, 4>::new(
                #[inline(always)]
                move |x| to.code::<KEPT>(x) as u16,
            );
            steps(Portable(i), code)
        }
        (_, SignRule::Kept) => packed(map!(i, |x: u64| to.code::<KEPT>(x) as u8)),
        (_, SignRule::NoNegativeZero) => packed(map!(i, |x: u64| to.code::<NO_NEGATIVE_ZERO>(x) as u8)),
        (_, SignRule::Any) => packed(map!(i, |x: u64| to.code::<ANY>(x) as u8)),
    }
}

fn is_nonzero<I: Instructions + 'static>(i: I, source: SourceKind) -> Made {
    // A float is not zero if any bit but its sign is set. The mask is a variable because the compiler makes slower
    // loops of a constant one.
    let mask = source.magnitude_mask();
    match source.bits() {
        // Streaming stores gain nothing here.
        8 => map!(i, |x: u8| u8::from(x != 0)),
        bits => with_int!(Word: bits, false, {
            let code = Map::<Word, u8, _, 1>::new(
                #[inline(always)]
                move |x| u8::from(x & mask as Word != 0),
            );
            steps(Portable(i), code)
        }),
    }
}

fn to_f32<I: Instructions + 'static>(i: I, source: SourceKind) -> Made {
    match source {
        SourceKind::F16 { .. } => map!(i, |x: u16| scalar::canonical_f32(scalar::f16_to_f32(x))),
        SourceKind::Bf16 => map!(i, |x: u16| scalar::canonical_f32(u32::from(x) << 16)),
        SourceKind::F64 => map!(i, |x: u64| scalar::f64_to_f32(x)),
        SourceKind::Int { bits: 64, signed } => with_const!(SIGNED: bool = signed, of true false, {
            map!(i, |x: u64| scalar::int64_to_f32::<SIGNED>(x))
        }),
        SourceKind::Int { bits, signed } => with_int!(Int: bits, signed, map!(i, |x: Int| (x as f32).to_bits())),
        _ => unreachable!("no function of {source:?} to binary32"),
    }
}

fn to_f64<I: Instructions + 'static>(i: I, source: SourceKind) -> Made {
    match source {
        SourceKind::F16 { .. } => map!(i, |x: u16| scalar::f32_to_f64(scalar::f16_to_f32(x))),
        SourceKind::Bf16 => map!(i, |x: u16| scalar::f32_to_f64(u32::from(x) << 16)),
        SourceKind::F32 => map!(i, |x: u32| scalar::f32_to_f64(x)),
        SourceKind::Int { bits: 64, signed } => with_const!(SIGNED: bool = signed, of true false, {
            map!(i, |x: u64| scalar::int64_to_f64::<SIGNED>(x))
        }),
        SourceKind::Int { bits, signed } => with_int!(Int: bits, signed, map!(i, |x: Int| (x as f64).to_bits())),
        _ => unreachable!("no function of {source:?} to binary64"),
    }
}

fn to_int64<I: Instructions + 'static, const SIGNED: bool>(i: I, source: SourceKind) -> Made {
    match source {
        SourceKind::F16 { .. } => map!(i, |x: u16| scalar::f16_to_int64::<SIGNED>(x)),
        SourceKind::Bf16 => {
            map!(i, |x: u16| scalar::f64_to_int64::<SIGNED>(f64::from(f32::from_bits(u32::from(x) << 16))))
        }
        SourceKind::F32 => map!(i, |x: u32| scalar::f64_to_int64::<SIGNED>(f64::from(f32::from_bits(x)))),
        SourceKind::F64 => map!(i, |x: u64| scalar::f64_to_int64::<SIGNED>(f64::from_bits(x))),
        _ => unreachable!("no function of {source:?} to 64-bit integers"),
    }
}
