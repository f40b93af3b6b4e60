//! Makes the kernel of a method: chooses its source and its sink, and compiles both for the lanes of an instruction
//! set.

use super::isa::{Baseline, Instructions, Isa};
use super::kernel::{
    Bf16ToInt64, F16ToF32, F16ToF64, F16ToInt64, F32ToInt64, Kernel, Map, Packed, SourceToSink, Step, Steps, ToInt32,
    Word,
};
use super::lanes::Lanes;
use super::lanes::portable::Portable;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use super::lanes::{avx2::Avx2, avx512::Avx512};
use super::method::{Method, SinkKind, SourceKind};
use super::scalar::{self, Exact, RoundF64};
use super::sign_rule::{ANY, KEPT, NO_NEGATIVE_ZERO, SignRule};
use super::sink::{Clamp, E8m0, ExponentRule, LowBits, Round, RoundF16, RoundMethod, Sink};
use super::source::{Bf16, F8, F16, F32Source, F64Source, Int, Source};
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use super::x86;
use crate::element::{BFLOAT16, BINARY16};
use crate::format::FloatFormat;
use crate::reference::{EncodeE8m0, EncodeFloat};

type Made = Box<dyn Kernel>;

/// The kernel of a method that needs no table.
pub(crate) fn compose(method: Method, source: SourceKind, sink: SinkKind, isa: Isa) -> Made {
    match (method, isa) {
        (Method::Elements, Isa::Portable) => elements(Baseline, source, sink),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        (Method::Elements, Isa::Avx2(simd)) => elements(simd, source, sink),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        (Method::Elements, Isa::Avx512(simd)) => elements(simd, source, sink),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        (Method::PackBytes, Isa::Avx2(simd)) => x86::pack_bytes(simd, sink.bits().unwrap_or(8)),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        (Method::PackBytes, Isa::Avx512(simd)) => x86::pack_bytes(*simd, sink.bits().unwrap_or(8)),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        (Method::LanesAvx2, Isa::Avx512(simd)) => lanes(Avx2(*simd), method, source, sink),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        (Method::ConvertF16, Isa::Avx512(simd)) => Box::new(Steps(Avx512(simd), x86::F32ToF16)),
        (_, Isa::Portable) => lanes(Portable(Baseline), method, source, sink),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        (_, Isa::Avx2(simd)) => lanes(Avx2(simd), method, source, sink),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        (_, Isa::Avx512(simd)) => lanes(Avx512(simd), method, source, sink),
    }
}

fn lanes<L: Lanes + 'static>(l: L, method: Method, source: SourceKind, sink: SinkKind) -> Made {
    match source {
        SourceKind::SmallFloat(format) => {
            let (man, bias, max) = (format.man_bits, format.bias, format.max() as u16);
            codes(l, F8 { man, bias, max }, LowBits::<16>)
        }
        SourceKind::F16 { subnormals } => match (method, sink) {
            (Method::RoundF16(rule), SinkKind::Round(to)) => round_f16(l, F16::<true>, BINARY16, to, rule),
            (_, SinkKind::F32) => steps(l, F16ToF32),
            (_, SinkKind::F64) => steps(l, F16ToF64),
            (_, SinkKind::Int64 { signed }) => {
                with_const!(SIGNED: bool = signed, of true false, steps(l, F16ToInt64::<SIGNED>))
            }
            _ if subnormals => from_float(l, F16::<true>, sink),
            _ => from_float(l, F16::<false>, sink),
        },
        SourceKind::Bf16 => match (method, sink) {
            (Method::RoundF16(rule), SinkKind::Round(to)) => round_f16(l, Bf16, BFLOAT16, to, rule),
            (_, SinkKind::Int64 { signed }) => {
                with_const!(SIGNED: bool = signed, of true false, steps(l, Bf16ToInt64::<SIGNED>))
            }
            _ => from_float(l, Bf16, sink),
        },
        SourceKind::F32 => match sink {
            SinkKind::Int64 { signed } => {
                with_const!(SIGNED: bool = signed, of true false, steps(l, F32ToInt64::<SIGNED>))
            }
            _ => from_float(l, F32Source, sink),
        },
        SourceKind::F64 => from_float(l, F64Source, sink),
        SourceKind::Int { bits: bits @ 16.., signed } => with_const!(BITS: usize = bits, of 16 32 64,
            with_const!(SIGNED: bool = signed, of true false,
                from_int(l, Int::<BITS, SIGNED, true>, Int::<BITS, SIGNED, false>, sink))),
        SourceKind::Bool | SourceKind::Int { .. } | SourceKind::OtherFloat(_) => {
            unreachable!("{method:?} from {source:?}")
        }
    }
}

fn steps<L: Lanes + 'static, T: Step<L> + 'static>(l: L, step: T) -> Made {
    Box::new(Steps(l, step))
}

/// The kernel of a source and a sink. If the lanes do not pack codes, it packs them afterwards.
fn codes<L: Lanes + 'static, S: Source<L> + 'static, K: Sink<L, S> + 'static>(l: L, source: S, sink: K) -> Made {
    let kernel = steps(l, SourceToSink(source, sink));
    if L::PACKS || K::BITS >= 8 { kernel } else { Box::new(Packed { kernel, from_bits: S::BITS, to_bits: K::BITS }) }
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
        SinkKind::Int32 => steps(l, ToInt32(source)),
        _ => unreachable!("no lanes of floats to {sink:?}"),
    }
}

/// `odd` rounds integers to odd. `bounded` does less: it serves destinations for which all integers from
/// [`BOUND`](super::lanes::BOUND) on are out of range.
fn from_int<L: Lanes + 'static, S: Source<L> + 'static, B: Source<L> + 'static>(
    l: L,
    odd: S,
    bounded: B,
    sink: SinkKind,
) -> Made {
    match sink {
        SinkKind::Round(to) if RoundMethod::new(&to) == Some(RoundMethod::Shift) => {
            codes(l, odd, Round::<16, false, KEPT>::new(to))
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

/// `map!(isa, |x: word| code)` is the kernel of a function that is always inlined.
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
    steps(Portable(isa), Map::new(function))
}

/// As `map!`, from integers of at most 32 bits: `$x` has the integer's own type.
macro_rules! map_int {
    ($isa:ident, $bits:ident, $signed:ident, |$x:ident| $number:expr) => {
        match ($bits, $signed) {
            (8, true) => map_int!($isa, u8 as i8, |$x| $number),
            (8, false) => map_int!($isa, u8 as u8, |$x| $number),
            (16, true) => map_int!($isa, u16 as i16, |$x| $number),
            (16, false) => map_int!($isa, u16 as u16, |$x| $number),
            (32, true) => map_int!($isa, u32 as i32, |$x| $number),
            (32, false) => map_int!($isa, u32 as u32, |$x| $number),
            (bits, _) => unreachable!("integers of {bits} bits"),
        }
    };
    ($isa:ident, $word:ty as $int:ty, |$x:ident| $number:expr) => {
        map!($isa, |x: $word| {
            let $x = x as $int;
            $number.to_bits()
        })
    };
}

/// The kernels of functions of one element.
fn elements<I: Instructions + 'static>(i: I, source: SourceKind, sink: SinkKind) -> Made {
    match (sink, source) {
        (SinkKind::Bool, _) => is_nonzero(i, source),
        (SinkKind::LowBits { .. }, SourceKind::Bool) => is_nonzero(i, source),
        (SinkKind::LowBits { bits }, SourceKind::Int { bits: from, signed }) => low_bits_of_int(i, from, signed, bits),
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
                true => map!(i, |x: u8| to.code::<true>(f32::from(x as i8))),
                false => map!(i, |x: u8| to.code::<false>(f32::from(x))),
            }
        }
        _ => unreachable!("no function of {source:?} to {sink:?}"),
    }
}

fn round_f64<I: Instructions + 'static>(i: I, format: EncodeFloat) -> Made {
    let to = RoundF64::new(&format);
    let bytes = |kernel| match format.bits {
        8 => kernel,
        bits => Box::new(Packed { kernel, from_bits: 64, to_bits: bits as usize }),
    };
    match (format.bits, SignRule::new(&format)) {
        (16, _) => map!(i, |x: u64| to.code::<KEPT>(x) as u16),
        (_, SignRule::Kept) => bytes(map!(i, |x: u64| to.code::<KEPT>(x) as u8)),
        (_, SignRule::NoNegativeZero) => bytes(map!(i, |x: u64| to.code::<NO_NEGATIVE_ZERO>(x) as u8)),
        (_, SignRule::Any) => bytes(map!(i, |x: u64| to.code::<ANY>(x) as u8)),
    }
}

fn is_nonzero<I: Instructions + 'static>(i: I, source: SourceKind) -> Made {
    // A float is not zero if any bit but its sign is set. The mask is a variable because the compiler makes slower
    // loops of a constant one.
    let mask = source.magnitude_mask();
    match source.bits() {
        8 => map!(i, |x: u8| u8::from(x != 0)),
        16 => map!(i, |x: u16| u8::from(x & mask as u16 != 0)),
        32 => map!(i, |x: u32| u8::from(x & mask as u32 != 0)),
        _ => map!(i, |x: u64| u8::from(x & mask != 0)),
    }
}

fn low_bits_of_int<I: Instructions + 'static>(i: I, from: u32, signed: bool, to: u32) -> Made {
    match (from, to, signed) {
        (_, ..8, _) => {
            let kernel = low_bits_of_int(i, from, signed, 8);
            Box::new(Packed { kernel, from_bits: from as usize, to_bits: to as usize })
        }
        (8, 8, _) => map!(i, |x: u8| x),
        (8, 16, true) => map!(i, |x: u8| x as i8 as u16),
        (8, 16, false) => map!(i, |x: u8| u16::from(x)),
        (8, 32, true) => map!(i, |x: u8| x as i8 as u32),
        (8, 32, false) => map!(i, |x: u8| u32::from(x)),
        (8, 64, true) => map!(i, |x: u8| x as i8 as u64),
        (8, 64, false) => map!(i, |x: u8| u64::from(x)),
        (16, 8, _) => map!(i, |x: u16| x as u8),
        (32, 8, _) => map!(i, |x: u32| x as u8),
        (64, 8, _) => map!(i, |x: u64| x as u8),
        (32, 16, _) => map!(i, |x: u32| x as u16),
        (64, 16, _) => map!(i, |x: u64| x as u16),
        (64, 32, _) => map!(i, |x: u64| x as u32),
        (16, 32, true) => map!(i, |x: u16| x as i16 as u32),
        (16, 32, false) => map!(i, |x: u16| u32::from(x)),
        (16, 64, true) => map!(i, |x: u16| x as i16 as u64),
        (16, 64, false) => map!(i, |x: u16| u64::from(x)),
        (32, 64, true) => map!(i, |x: u32| x as i32 as u64),
        (32, 64, false) => map!(i, |x: u32| u64::from(x)),
        (from, to, _) => unreachable!("integers of {from} bits to {to}"),
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
        SourceKind::Int { bits, signed } => map_int!(i, bits, signed, |x| (x as f32)),
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
        SourceKind::Int { bits, signed } => map_int!(i, bits, signed, |x| f64::from(x)),
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
