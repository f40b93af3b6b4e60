//! The recipes of NEON.

use super::kinds::{IntBits, LongBits, LongFloat, LongInt, ShortBits, SinkKind, SourceKind};
use super::lanes::{codes, round, with_int};
use super::to_f16::ToF16;
use super::{InstructionSet, PortableRecipe, SharedRecipe, VectorRecipe};
use crate::bits::reference::EncodeFloat;
use crate::cpu::cast_loop::{CastLoop, ToInt};
use crate::cpu::code_cast::CodeCast;
use crate::cpu::isa::Baseline;
use crate::cpu::lanes::neon::Neon;
use crate::cpu::lanes::portable::Portable;
use crate::cpu::neon_steps::{
    BoolTo16, F16ToInt32, F64ToF32, F64ToInt64, F64ToUint32, Int64ToF32, Int64ToF64, Pack, ToF32, ToF64, ToUint32,
    Unpack,
};
use crate::cpu::sink::convert_to_f16::ConvertToF16;
use crate::cpu::sink::neon::{RoundToBf16, UpperHalves};
use crate::cpu::sink::{RoundToBytes, Rounding};
use crate::cpu::source::neon::{CanonicalBf16, F8NumbersOf, Int8, OddF64};
use crate::cpu::source::{Bf16, F16, F32Source, Int, Numbers};
use crate::cpu::table::byte::ByteTable;
use crate::cpu::table::entries;
use crate::cpu::table::neon::LookUpTable;
use crate::cpu::table::nibble::NibbleTable;
use crate::types::layout::CodeLayout;

/// A recipe of NEON.
pub(crate) enum NeonRecipe {
    /// Portable code is as fast.
    Portable(PortableRecipe),
    Vector(VectorRecipe),
    Step(NeonStep),
    /// The processor's own conversion.
    ToF16(ToF16),
    /// The same of DOUBLE, which is rounded to odd first.
    F64ToF16(ConvertToF16),
    /// DOUBLE to floats of at most 8 bits. It is rounded to odd first.
    RoundF64(Rounding, CodeLayout),
    ToBf16(LongFloat, RoundToBf16),
    IntToBf16(LongInt, RoundToBf16),
    /// Integers of 8 bits to floats of at least 16 bits.
    FromInt8 {
        signed: bool,
        to: LongTo,
    },
    /// BOOL to floats of 16 bits, by the code of 1.
    BoolTo16(BoolTo16),
    /// Floats of 8 bits to wider types, by calculation.
    FromF8(F8NumbersOf, LongTo),
    /// Tables of 16 entries in registers, by the halves of each source byte.
    NibbleTable(NibbleTable),
    /// Tables of 16 entries in registers, by source bytes with one code.
    ByteTable(ByteTable),
    /// Tables of up to 256 entries in registers, by source codes.
    LookUpTable(Box<LookUpTable>),
}

/// A type of at least 16 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LongTo {
    F16(ConvertToF16),
    Bf16,
    F32,
    F64,
    Int32,
}

/// A step that is neither a source with a sink nor a table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NeonStep {
    Pack(ShortBits),
    Unpack(ShortBits),
    Bf16ToF32,
    Bf16ToF64,
    F32ToF64,
    F64ToF32,
    Int64ToF32 { signed: bool },
    Int64ToF64 { signed: bool },
    F64ToInt64 { signed: bool },
    F16ToInt32,
    ToUint32(LongFloat),
}

impl InstructionSet for Neon {
    type Recipe = NeonRecipe;

    fn recipe(cast: &CodeCast) -> NeonRecipe {
        let (source, sink) = (SourceKind::new(cast.conversion.from), SinkKind::new(cast));
        if NeonRecipe::is_slower(source, sink) {
            return NeonRecipe::Portable(Baseline::recipe(cast));
        }
        if let Some(step) = NeonStep::new(source, sink) {
            return NeonRecipe::Step(step);
        }
        if let Some(recipe) = NeonRecipe::of_8_bits(source, sink, cast) {
            return recipe;
        }
        if let SinkKind::Round(to) = sink
            && let Some(recipe) = NeonRecipe::rounded(source, &to, cast.destination_layout())
        {
            return recipe;
        }
        if let Some(vector) = VectorRecipe::new(source, sink, cast.destination_layout()) {
            return NeonRecipe::Vector(vector);
        }
        if let Some(f8) = VectorRecipe::truncated_f8(source, sink) {
            return NeonRecipe::Vector(f8);
        }
        if source.is_short() {
            return NeonRecipe::table(source, sink, cast);
        }
        NeonRecipe::Vector(VectorRecipe::rounded(source, sink, cast))
    }

    fn build(self, recipe: NeonRecipe) -> Box<dyn CastLoop> {
        match recipe {
            NeonRecipe::Portable(portable) => portable.build(Baseline, Portable(Baseline)),
            NeonRecipe::Vector(vector) => vector.build(Baseline, self),
            NeonRecipe::Step(step) => step.build(self),
            NeonRecipe::ToF16(to_f16) => to_f16.build(self, self),
            NeonRecipe::F64ToF16(to) => codes(self, OddF64, to),
            NeonRecipe::RoundF64(to, layout) => round(self, OddF64, to, layout),
            NeonRecipe::ToBf16(LongFloat::F16, to) => codes(self, F16::<true>, to),
            NeonRecipe::ToBf16(LongFloat::Bf16, to) => codes(self, Bf16, to),
            NeonRecipe::ToBf16(LongFloat::F32, to) => codes(self, F32Source, to),
            NeonRecipe::ToBf16(LongFloat::F64, to) => codes(self, OddF64, to),
            NeonRecipe::IntToBf16(from, to) => with_int!(|source| from, ODD = true, codes(self, source, to)),
            NeonRecipe::FromInt8 { signed, to } => {
                with_bool!(SIGNED = signed, to.build(self, Int8::<SIGNED>))
            }
            NeonRecipe::BoolTo16(step) => Box::new((self, step)),
            NeonRecipe::FromF8(F8NumbersOf::Ieee(from), to) => to.build(self, from),
            NeonRecipe::FromF8(F8NumbersOf::TopCodeNan(from), to) => to.build(self, from),
            NeonRecipe::FromF8(F8NumbersOf::NegativeZeroNan(from), to) => to.build(self, from),
            NeonRecipe::FromF8(F8NumbersOf::Scale(from), to) => to.build(self, from),
            NeonRecipe::NibbleTable(table) => table.build(self),
            NeonRecipe::ByteTable(table) => table.build(self),
            NeonRecipe::LookUpTable(table) => table.build(self),
        }
    }
}

impl NeonRecipe {
    /// Whether the lanes of a pair take more cycles than portable code.
    fn is_slower(source: SourceKind, sink: SinkKind) -> bool {
        match (source, sink) {
            (SourceKind::Float(LongFloat::F16), SinkKind::Truncate(_) | SinkKind::TruncateInBytes(_)) => true,
            (SourceKind::Float(LongFloat::F32), SinkKind::E8m0(_)) => true,
            (SourceKind::Int(LongInt { bits: LongBits::Bits32, .. }), SinkKind::LowBits(IntBits::InBytes(_))) => true,
            (SourceKind::Int(LongInt { bits: LongBits::Bits16, signed: false }), SinkKind::E8m0(_)) => true,
            (SourceKind::Int(LongInt { bits: LongBits::Bits16, signed: false }), SinkKind::Round(to)) => to.bits == 8,
            _ => false,
        }
    }

    /// The recipe of a source of 8 bits with a destination of more; `None` for others.
    fn of_8_bits(source: SourceKind, sink: SinkKind, cast: &CodeCast) -> Option<Self> {
        let to = LongTo::new(sink)?;
        match (source, to) {
            (SourceKind::Int8 { signed }, LongTo::F16(_) | LongTo::Bf16 | LongTo::F64) => {
                Some(Self::FromInt8 { signed, to })
            }
            (SourceKind::Bool, LongTo::F16(_) | LongTo::Bf16) => {
                Some(Self::BoolTo16(BoolTo16(entries(cast, 1)[1][0] as u16)))
            }
            (SourceKind::ShortFloat(format), _) => {
                F8NumbersOf::new(cast.conversion.from, &format).map(|from| Self::FromF8(from, to))
            }
            _ => None,
        }
    }

    /// The rounding of a source of more than 8 bits; `None` for pairs without a way of their own.
    fn rounded(source: SourceKind, to: &EncodeFloat, layout: CodeLayout) -> Option<Self> {
        if let Some(to) = RoundToBf16::new(to) {
            return match source {
                SourceKind::Float(from) => Some(Self::ToBf16(from, to)),
                SourceKind::Int(from) => Some(Self::IntToBf16(from, to)),
                _ => None,
            };
        }
        if source == SourceKind::Float(LongFloat::F64) {
            if let Some(to) = ConvertToF16::new(to) {
                return Some(Self::F64ToF16(to));
            }
            return match Rounding::new(to)? {
                // `RoundToBf16` serves the others.
                Rounding::ToBytes(RoundToBytes::Shift16(_)) => None,
                rounding => Some(Self::RoundF64(rounding, layout)),
            };
        }
        ToF16::new(source, SinkKind::Round(*to)).map(Self::ToF16)
    }

    /// The recipe of a source of at most 8 bits.
    fn table(source: SourceKind, sink: SinkKind, cast: &CodeCast) -> Self {
        if let Some(table) = NibbleTable::new(cast) {
            return Self::NibbleTable(table);
        }
        if let Some(table) = ByteTable::new(cast) {
            return Self::ByteTable(table);
        }
        match LookUpTable::new(source, sink, cast) {
            Some(table) => Self::LookUpTable(Box::new(table)),
            None => Self::Vector(VectorRecipe::Shared(SharedRecipe::memory_table(cast))),
        }
    }
}

impl LongTo {
    fn new(sink: SinkKind) -> Option<Self> {
        match sink {
            SinkKind::Round(to) if RoundToBf16::new(&to).is_some() => Some(Self::Bf16),
            SinkKind::Round(to) => ConvertToF16::new(&to).map(Self::F16),
            SinkKind::F32 => Some(Self::F32),
            SinkKind::F64 => Some(Self::F64),
            SinkKind::Int32 => Some(Self::Int32),
            _ => None,
        }
    }

    fn build<S: Numbers<Neon> + 'static>(self, l: Neon, source: S) -> Box<dyn CastLoop> {
        match self {
            Self::F16(to) => codes(l, source, to),
            Self::Bf16 => codes(l, source, UpperHalves),
            Self::F32 => Box::new((l, ToF32(source))),
            Self::F64 => Box::new((l, ToF64(source))),
            Self::Int32 => Box::new((l, ToInt::<_, 32, true>(source))),
        }
    }
}

impl NeonStep {
    fn new(source: SourceKind, sink: SinkKind) -> Option<Self> {
        match (source, sink) {
            (_, SinkKind::Pack(bits)) => Some(Self::Pack(bits)),
            (SourceKind::Int8 { .. }, SinkKind::LowBits(IntBits::Packed(bits))) => Some(Self::Pack(bits.into())),
            (_, SinkKind::Unpack(bits)) => Some(Self::Unpack(bits)),
            (SourceKind::Float(LongFloat::Bf16), SinkKind::F32) => Some(Self::Bf16ToF32),
            (SourceKind::Float(LongFloat::Bf16), SinkKind::F64) => Some(Self::Bf16ToF64),
            (SourceKind::Float(LongFloat::F32), SinkKind::F64) => Some(Self::F32ToF64),
            (SourceKind::Float(LongFloat::F64), SinkKind::F32) => Some(Self::F64ToF32),
            (SourceKind::Int(LongInt { bits: LongBits::Bits64, signed }), SinkKind::F32) => {
                Some(Self::Int64ToF32 { signed })
            }
            (SourceKind::Int(LongInt { bits: LongBits::Bits64, signed }), SinkKind::F64) => {
                Some(Self::Int64ToF64 { signed })
            }
            (SourceKind::Float(LongFloat::F64), SinkKind::Int64 { signed }) => Some(Self::F64ToInt64 { signed }),
            (SourceKind::Float(LongFloat::F16), SinkKind::Int32) => Some(Self::F16ToInt32),
            (SourceKind::Float(from), SinkKind::Uint32) => Some(Self::ToUint32(from)),
            _ => None,
        }
    }

    fn build(self, l: Neon) -> Box<dyn CastLoop> {
        match self {
            Self::Pack(bits) => {
                with_number!(BITS = bits, ShortBits { Bits2 2, Bits4 4, Bits6 6 }, Box::new((l, Pack::<BITS>)))
            }
            Self::Unpack(bits) => {
                with_number!(BITS = bits, ShortBits { Bits2 2, Bits4 4, Bits6 6 }, Box::new((l, Unpack::<BITS>)))
            }
            Self::Bf16ToF32 => Box::new((l, ToF32(CanonicalBf16::NEW))),
            Self::Bf16ToF64 => Box::new((l, ToF64(CanonicalBf16::NEW))),
            Self::F32ToF64 => Box::new((l, ToF64(F32Source))),
            Self::F64ToF32 => Box::new((l, F64ToF32)),
            Self::Int64ToF32 { signed } => with_bool!(SIGNED = signed, Box::new((l, Int64ToF32::<SIGNED>))),
            Self::Int64ToF64 { signed } => with_bool!(SIGNED = signed, Box::new((l, Int64ToF64::<SIGNED>))),
            Self::F64ToInt64 { signed } => with_bool!(SIGNED = signed, Box::new((l, F64ToInt64::<SIGNED>))),
            Self::F16ToInt32 => Box::new((l, F16ToInt32::<true>)),
            Self::ToUint32(LongFloat::F16) => Box::new((l, F16ToInt32::<false>)),
            Self::ToUint32(LongFloat::Bf16) => Box::new((l, ToUint32(Bf16))),
            Self::ToUint32(LongFloat::F32) => Box::new((l, ToUint32(F32Source))),
            Self::ToUint32(LongFloat::F64) => Box::new((l, F64ToUint32)),
        }
    }
}
