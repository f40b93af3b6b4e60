//! Sources and sinks in the lanes of an instruction set.

use super::kinds::{
    LongBits, LongFloat, LongInt, PackedBits, ShortBits, SinkKind, SourceKind, TruncatedBits, f16_subnormals,
};
use crate::bits::format::FloatFormat;
use crate::bits::reference::{EncodeE8m0, EncodeFloat, Hub};
use crate::cpu::cast_loop::{CastLoop, F16ToFloat, F16ToInt64, SourceToSink, Step, ToInt};
use crate::cpu::lanes::Lanes;
use crate::cpu::packed_loop::Packed;
use crate::cpu::sink::{
    Clamp, IntegerLookUp, LowBits, LowBitsInBytes, RoundToBf16, RoundToBytes, RoundToPacked, Rounding,
    RoundingIn16Bits, RoundingToE8m0, ShortSink, Sink,
};
use crate::cpu::source::{Bf16, Codes16, F8, F16, F32Source, F64Source, Int, Numbers, Source, Truncates};
use crate::types::element::{BFLOAT16, BINARY16, ElementType};
use crate::types::layout::CodeLayout;

/// A source and a sink that are the fastest for their pairs in the lanes of every instruction set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InLanes {
    Round { from: WideFloat, to: Rounding },
    F16ToBf16(RoundToBf16),
    RoundInt { from: LongInt, to: RoundToBytes },
    FloatToE8m0 { from: LongFloat, to: RoundingToE8m0 },
    IntToE8m0 { from: LongInt, to: RoundingToE8m0 },
    Truncate { from: LongFloat, to: TruncatedBits },
    TruncateInBytes { from: LongFloat, to: PackedBits },
    Clamp { from: LongFloat, to: Clamp<4> },
}

/// A float that is rounded in lanes of 32 bits on every instruction set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WideFloat {
    F32,
    F64,
}

/// The rounding of floats of 16 bits in lanes of 32 bits. Instruction sets with vectors have lanes of 16 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundFloat16 {
    from: Float16,
    pub to: Rounding,
}

/// A float of 16 bits. Without `subnormals`, subnormals of FLOAT16 are not decoded.
#[derive(Clone, Copy, Debug)]
enum Float16 {
    F16 { subnormals: bool },
    Bf16,
}

/// A source and a sink that are the fastest for their pairs where a vector holds several elements.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InVectors {
    RoundIn16Bits(RoundingIn16Bits),
    LookUpInteger { from: LongInt, to: IntegerLookUp },
    LowBitsOfInt8(ShortBits),
    LowBits { from: LongBits, to: PackedBits },
    LowBitsInBytes { from: LongBits, to: PackedBits },
    TruncateF8(F8),
    F16ToF32,
    F16ToF64,
    F16ToInt64 { signed: bool },
    ToInt32(LongFloat),
    Bf16ToInt64 { signed: bool },
    F32ToInt64 { signed: bool },
}

impl WideFloat {
    /// `None` for floats of 16 bits.
    pub(super) fn new(from: LongFloat) -> Option<Self> {
        match from {
            LongFloat::F16 | LongFloat::Bf16 => None,
            LongFloat::F32 => Some(Self::F32),
            LongFloat::F64 => Some(Self::F64),
        }
    }
}

impl RoundFloat16 {
    /// `None` for floats of more than 16 bits.
    pub(super) fn new(from: LongFloat, to: Rounding, element_type: ElementType) -> Option<Self> {
        let from = match from {
            LongFloat::F16 => Float16::F16 { subnormals: f16_subnormals(element_type) },
            LongFloat::Bf16 => Float16::Bf16,
            LongFloat::F32 | LongFloat::F64 => return None,
        };
        Some(Self { from, to })
    }

    pub(super) fn build<L: Lanes + 'static>(self, l: L, layout: CodeLayout) -> Box<dyn CastLoop> {
        match self.from {
            Float16::F16 { subnormals } => {
                with_bool!(SUBNORMALS = subnormals, round(l, F16::<SUBNORMALS>, self.to, layout))
            }
            Float16::Bf16 => round(l, Bf16, self.to, layout),
        }
    }
}

fn steps<L: Lanes + 'static, T: Step<L> + 'static>(l: L, step: T) -> Box<dyn CastLoop> {
    Box::new((l, step))
}

/// The loop of a source and a sink of at least 8 bits.
pub(super) fn codes<L: Lanes + 'static, S: Source + 'static, K: Sink<L, S> + 'static>(
    l: L,
    source: S,
    sink: K,
) -> Box<dyn CastLoop> {
    const { assert!(K::BITS >= 8, "no layout is needed") };
    steps(l, SourceToSink(source, sink))
}

/// The loop of a source and a sink of fewer than 8 bits. If the lanes do not pack codes, it packs them afterwards.
pub(super) fn short_codes<L, S, K>(l: L, source: S, sink: K, layout: CodeLayout) -> Box<dyn CastLoop>
where
    L: Lanes + 'static,
    S: Source + 'static,
    K: Sink<L, S> + ShortSink<InBytes: Sink<L, S> + 'static> + 'static,
{
    match layout {
        CodeLayout::Packed if L::PACKS => steps(l, SourceToSink(source, sink)),
        CodeLayout::Packed => {
            let bytes = steps(l, SourceToSink(source, sink.in_bytes()));
            Box::new(Packed::new(bytes, S::BITS, K::BITS))
        }
        CodeLayout::OnePerByte => steps(l, SourceToSink(source, sink.in_bytes())),
    }
}

/// Evaluates an expression with the source of a float. `$subnormals` says whether subnormals of FLOAT16
/// are decoded.
macro_rules! with_float {
    (|$source:ident| $float:expr, F16<$subnormals:literal>, $made:expr) => {
        match $float {
            LongFloat::F16 => {
                let $source = F16::<$subnormals>;
                $made
            }
            LongFloat::Bf16 => {
                let $source = Bf16;
                $made
            }
            LongFloat::F32 => {
                let $source = F32Source;
                $made
            }
            LongFloat::F64 => {
                let $source = F64Source;
                $made
            }
        }
    };
}

/// Evaluates an expression with the source of an integer. `ODD` says whether it is rounded to odd.
macro_rules! with_int {
    (|$source:ident| $int:expr, ODD = $odd:literal, $made:expr) => {{
        let LongInt { bits, signed } = $int;
        with_number!(BITS = bits, LongBits { Bits16 16, Bits32 32, Bits64 64 }, with_bool!(SIGNED = signed, {
            let $source = Int::<BITS, SIGNED, $odd>;
            $made
        }))
    }};
}
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) use with_int;

impl InLanes {
    /// The recipe of a pair whose destination is FLOAT8E8M0 or an integer; `None` if it has no such recipe.
    pub(super) fn new(source: SourceKind, sink: SinkKind) -> Option<Self> {
        match (source, sink) {
            (SourceKind::Float(from), SinkKind::E8m0(to)) => {
                Some(Self::FloatToE8m0 { from, to: RoundingToE8m0::new(&to, from.hub()) })
            }
            (SourceKind::Int(from), SinkKind::E8m0(to)) => Some(Self::int_to_e8m0(from, &to)),
            (SourceKind::Float(from), SinkKind::Truncate(to)) => Some(Self::Truncate { from, to }),
            (SourceKind::Float(from), SinkKind::TruncateInBytes(to)) => Some(Self::TruncateInBytes { from, to }),
            (SourceKind::Float(from), SinkKind::Clamp(to)) => Some(Self::Clamp { from, to }),
            _ => None,
        }
    }

    fn int_to_e8m0(from: LongInt, to: &EncodeE8m0) -> Self {
        Self::IntToE8m0 { from, to: RoundingToE8m0::new(to, Hub::F32) }
    }

    pub(super) fn build<L: Lanes + 'static>(self, l: L, layout: CodeLayout) -> Box<dyn CastLoop> {
        match self {
            Self::Round { from: WideFloat::F32, to } => round(l, F32Source, to, layout),
            Self::Round { from: WideFloat::F64, to } => round(l, F64Source, to, layout),
            Self::F16ToBf16(to) => codes(l, F16::<true>, to),
            // The bias is binary32's: a number beyond `BOUND` may be in range.
            Self::RoundInt { from, to: RoundToBytes::Shift16(to) } => {
                with_int!(|source| from, ODD = true, codes(l, source, to))
            }
            Self::RoundInt { from, to: RoundToBytes::Add16(to) } => {
                with_int!(|source| from, ODD = false, codes(l, source, to))
            }
            Self::RoundInt { from, to: RoundToBytes::Add8(to) } => {
                with_int!(|source| from, ODD = false, codes(l, source, to))
            }
            Self::RoundInt { from, to: RoundToBytes::Add8NoNegativeZero(to) } => {
                with_int!(|source| from, ODD = false, codes(l, source, to))
            }
            Self::FloatToE8m0 { from, to: RoundingToE8m0::Saturating(to) } => {
                with_float!(|source| from, F16<true>, codes(l, source, to))
            }
            Self::FloatToE8m0 { from, to: RoundingToE8m0::ToNan(to) } => {
                with_float!(|source| from, F16<true>, codes(l, source, to))
            }
            Self::IntToE8m0 { from, to: RoundingToE8m0::Saturating(to) } => {
                with_int!(|source| from, ODD = true, codes(l, source, to))
            }
            Self::IntToE8m0 { from, to: RoundingToE8m0::ToNan(to) } => {
                with_int!(|source| from, ODD = true, codes(l, source, to))
            }
            Self::Truncate { from: LongFloat::F16, to } => truncate(l, F16::<false>, to),
            Self::Truncate { from: LongFloat::Bf16, to } => truncate(l, Bf16, to),
            Self::Truncate { from: LongFloat::F32, to } => truncate(l, F32Source, to),
            Self::Truncate { from: LongFloat::F64, to } => truncate(l, F64Source, to),
            Self::TruncateInBytes { from, to } => {
                let to = LowBitsInBytes::new(to.number());
                with_float!(|source| from, F16<false>, codes(l, source, to))
            }
            Self::Clamp { from, to } => with_float!(|source| from, F16<false>, short_codes(l, source, to, layout)),
        }
    }
}

pub(super) fn round<L: Lanes + 'static, S: Numbers<L> + 'static>(
    l: L,
    source: S,
    to: Rounding,
    layout: CodeLayout,
) -> Box<dyn CastLoop> {
    match to {
        Rounding::ToBytes(RoundToBytes::Shift16(to)) => codes(l, source, to),
        Rounding::ToBytes(RoundToBytes::Add16(to)) => codes(l, source, to),
        Rounding::ToBytes(RoundToBytes::Add8(to)) => codes(l, source, to),
        Rounding::ToBytes(RoundToBytes::Add8NoNegativeZero(to)) => codes(l, source, to),
        Rounding::ToPacked(RoundToPacked::Add6(to)) => short_codes(l, source, to, layout),
        Rounding::ToPacked(RoundToPacked::Add4(to)) => short_codes(l, source, to, layout),
    }
}

fn truncate<L: Lanes + 'static, S: Truncates<L> + 'static>(l: L, source: S, to: TruncatedBits) -> Box<dyn CastLoop> {
    match to {
        TruncatedBits::Bits2 => packed_low_bits(l, source, PackedBits::Bits2),
        TruncatedBits::Bits4 => packed_low_bits(l, source, PackedBits::Bits4),
        TruncatedBits::Bits8 => codes(l, source, LowBits::<8>),
        TruncatedBits::Bits16 => codes(l, source, LowBits::<16>),
    }
}

fn packed_low_bits<L: Lanes + 'static, S: Truncates<L> + 'static>(
    l: L,
    source: S,
    to: PackedBits,
) -> Box<dyn CastLoop> {
    if L::PACKS {
        with_number!(BITS = to, PackedBits { Bits2 2, Bits4 4 }, steps(l, SourceToSink(source, LowBits::<BITS>)))
    } else {
        // Packing drops the higher bits.
        Box::new(Packed::new(codes(l, source, LowBits::<8>), S::BITS, to.number()))
    }
}

impl InVectors {
    /// The recipe of a pair that is not rounded; `None` if it has no such recipe.
    pub(super) fn new(source: SourceKind, sink: SinkKind) -> Option<Self> {
        use super::kinds::IntBits::{InBytes, Packed};

        match (source, sink) {
            (SourceKind::Int8 { .. }, SinkKind::LowBits(Packed(to))) => Some(Self::LowBitsOfInt8(to.into())),
            (_, SinkKind::Pack(to)) => Some(Self::LowBitsOfInt8(to)),
            (SourceKind::Int(from), SinkKind::LowBits(Packed(to))) => Some(Self::LowBits { from: from.bits, to }),
            (SourceKind::Int(from), SinkKind::LowBits(InBytes(to))) => {
                Some(Self::LowBitsInBytes { from: from.bits, to })
            }
            (SourceKind::Float(from), SinkKind::Int32) => Some(Self::ToInt32(from)),
            (SourceKind::Float(LongFloat::F16), SinkKind::F32) => Some(Self::F16ToF32),
            (SourceKind::Float(LongFloat::F16), SinkKind::F64) => Some(Self::F16ToF64),
            (SourceKind::Float(LongFloat::F16), SinkKind::Int64 { signed }) => Some(Self::F16ToInt64 { signed }),
            (SourceKind::Float(LongFloat::Bf16), SinkKind::Int64 { signed }) => Some(Self::Bf16ToInt64 { signed }),
            (SourceKind::Float(LongFloat::F32), SinkKind::Int64 { signed }) => Some(Self::F32ToInt64 { signed }),
            _ => None,
        }
    }

    /// The rounding of floats of 16 bits in lanes of 16 bits; `None` for pairs that it does not serve.
    pub(super) fn rounded(from: LongFloat, to: &EncodeFloat) -> Option<Self> {
        let format = format_of_16_bits(from)?;
        RoundingIn16Bits::new(&format, to).map(Self::RoundIn16Bits)
    }

    pub(super) fn build<L: Lanes + 'static>(self, l: L, layout: CodeLayout) -> Box<dyn CastLoop> {
        match self {
            Self::RoundIn16Bits(RoundingIn16Bits::Same8(to)) => codes(l, Codes16, to),
            Self::RoundIn16Bits(RoundingIn16Bits::Next8NoNegativeZero(to)) => codes(l, Codes16, to),
            Self::RoundIn16Bits(RoundingIn16Bits::Smaller8(to)) => codes(l, Codes16, to),
            Self::RoundIn16Bits(RoundingIn16Bits::Smaller8NoNegativeZero(to)) => codes(l, Codes16, to),
            Self::RoundIn16Bits(RoundingIn16Bits::Smaller6(to)) => short_codes(l, Codes16, to, layout),
            Self::RoundIn16Bits(RoundingIn16Bits::Smaller4(to)) => short_codes(l, Codes16, to, layout),
            Self::LookUpInteger { from, to: IntegerLookUp::To6(to) } => {
                with_int!(|source| from, ODD = false, short_codes(l, source, to, layout))
            }
            Self::LookUpInteger { from, to: IntegerLookUp::To4(to) } => {
                with_int!(|source| from, ODD = false, short_codes(l, source, to, layout))
            }
            Self::LowBitsOfInt8(to) => with_number!(BITS = to, ShortBits { Bits2 2, Bits4 4, Bits6 6 }, {
                short_codes(l, Int::<8, false, false>, LowBits::<BITS>, CodeLayout::Packed)
            }),
            Self::LowBits { from, to } => with_number!(BITS = from, LongBits { Bits16 16, Bits32 32, Bits64 64 }, {
                packed_low_bits(l, Int::<BITS, false, false>, to)
            }),
            Self::LowBitsInBytes { from, to } => {
                let to = LowBitsInBytes::new(to.number());
                with_number!(BITS = from, LongBits { Bits16 16, Bits32 32, Bits64 64 }, {
                    codes(l, Int::<BITS, false, false>, to)
                })
            }
            Self::TruncateF8(from) => codes(l, from, LowBits::<16>),
            Self::F16ToF32 => steps(l, F16ToFloat::<32>),
            Self::F16ToF64 => steps(l, F16ToFloat::<64>),
            Self::F16ToInt64 { signed } => with_bool!(SIGNED = signed, steps(l, F16ToInt64::<SIGNED>)),
            Self::ToInt32(from) => {
                with_float!(|source| from, F16<false>, steps(l, ToInt::<_, 32, true>(source)))
            }
            Self::Bf16ToInt64 { signed } => with_bool!(SIGNED = signed, steps(l, ToInt::<_, 64, SIGNED>(Bf16))),
            Self::F32ToInt64 { signed } => with_bool!(SIGNED = signed, steps(l, ToInt::<_, 64, SIGNED>(F32Source))),
        }
    }
}

/// The format of a float of 16 bits.
pub(super) fn format_of_16_bits(from: LongFloat) -> Option<FloatFormat> {
    match from {
        LongFloat::F16 => Some(BINARY16),
        LongFloat::Bf16 => Some(BFLOAT16),
        LongFloat::F32 | LongFloat::F64 => None,
    }
}

/// The rounding of integers to codes of less than a byte, for lanes without a fast look-up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundIntToPacked {
    pub from: LongInt,
    pub to: RoundToPacked,
}

impl RoundIntToPacked {
    pub(super) fn build<L: Lanes + 'static>(self, l: L, layout: CodeLayout) -> Box<dyn CastLoop> {
        match self.to {
            RoundToPacked::Add6(to) => {
                with_int!(|source| self.from, ODD = false, short_codes(l, source, to, layout))
            }
            RoundToPacked::Add4(to) => {
                with_int!(|source| self.from, ODD = false, short_codes(l, source, to, layout))
            }
        }
    }
}
