//! The recipes of AVX-512.

use super::kinds::{LongBits, LongFloat, LongInt, PackedBits, ShortBits, SinkKind, SourceKind, TruncatedBits};
use super::lanes::{WideFloat, codes, short_codes};
use super::to_f16::ToF16;
use super::{InstructionSet, SharedRecipe, VectorRecipe};
use crate::bits::reference::EncodeFloat;
use crate::cpu::cast_loop::{CastLoop, SourceToSink, Step, ToInt};
use crate::cpu::code_cast::CodeCast;
use crate::cpu::lanes::{avx2::Avx2, avx512::Avx512};
use crate::cpu::sign_rule::ANY;
use crate::cpu::sink::LowBits;
use crate::cpu::sink::avx512::{Floats16, LookUp4, RoundingOfFloats16, ShiftInteger};
use crate::cpu::source::{Codes16, F32Source, F64Source, Int};
use crate::cpu::table::byte::ByteTable;
use crate::cpu::table::nibble::NibbleTable;
use crate::cpu::table::register::{RegisterLoop, RegisterTable};
use crate::cpu::table::shuffle::ShuffleTable;
use crate::cpu::unpack::Unpack6;
use crate::cpu::x86::X86V4;
use crate::types::element::{BFLOAT16, BINARY16};
use crate::types::layout::CodeLayout;

/// A recipe of AVX-512.
pub(crate) enum Avx512Recipe {
    Vector(VectorRecipe),
    /// FLOAT truncated to packed codes of less than a byte, in AVX2's lanes. They have 1.2 to 1.5 times the speed of AVX-512's lanes
    /// here.
    TruncateF32InAvx2(PackedBits),
    /// FLOAT and DOUBLE truncated to 16 bits. Past the caches, this and the next take AVX2's lanes, which are faster there.
    TruncateTo16(WideFloat),
    /// DOUBLE truncated to INT32.
    F64ToInt32,
    /// FLOAT16 and BFLOAT16 to floats of at most 8 bits.
    RoundCodes16(RoundingOfFloats16, CodeLayout),
    /// DOUBLE to floats of at most 8 bits. It is rounded to odd first.
    RoundF64(RoundingOfFloats16, CodeLayout),
    /// FLOAT to floats of 4 bits. It is rounded to odd first. To floats of more bits, this would be slower than lanes
    /// of 32 bits.
    RoundF32To4(LookUp4<ANY>, CodeLayout),
    /// 16-bit integers to floats of 8 bits.
    ShiftInt16 {
        signed: bool,
        to: ShiftInteger<8>,
    },
    /// The processor's own conversion.
    ToF16(ToF16),
    /// Codes of 6 bits to the same codes, one in each byte.
    Unpack6,
    /// Tables of 16 entries in registers, by the halves of each source byte.
    NibbleTable(NibbleTable),
    /// Tables of 16 entries in registers, by source bytes with one code.
    ByteTable(ByteTable),
    /// Tables of 16 entries in AVX2's registers, by source codes, where few of them are enough.
    ShuffleTable(ShuffleTable),
    /// Tables of up to 256 entries in registers.
    RegisterTable(RegisterTable),
}

impl InstructionSet for X86V4 {
    type Recipe = Avx512Recipe;

    fn recipe(cast: &CodeCast) -> Avx512Recipe {
        let (source, sink) = (SourceKind::new(cast.conversion.from), SinkKind::new(cast));
        let layout = cast.destination_layout();
        match (source, sink) {
            (SourceKind::Float(LongFloat::F32), SinkKind::Truncate(TruncatedBits::Bits2)) => {
                return Avx512Recipe::TruncateF32InAvx2(PackedBits::Bits2);
            }
            (SourceKind::Float(LongFloat::F32), SinkKind::Truncate(TruncatedBits::Bits4)) => {
                return Avx512Recipe::TruncateF32InAvx2(PackedBits::Bits4);
            }
            (SourceKind::Float(LongFloat::F32), SinkKind::Truncate(TruncatedBits::Bits16)) => {
                return Avx512Recipe::TruncateTo16(WideFloat::F32);
            }
            (SourceKind::Float(LongFloat::F64), SinkKind::Truncate(TruncatedBits::Bits16)) => {
                return Avx512Recipe::TruncateTo16(WideFloat::F64);
            }
            (SourceKind::Float(LongFloat::F64), SinkKind::Int32) => return Avx512Recipe::F64ToInt32,
            (_, SinkKind::Unpack(ShortBits::Bits6)) => return Avx512Recipe::Unpack6,
            _ => {}
        }
        if let Some(vector) = VectorRecipe::new(source, sink, layout) {
            return Avx512Recipe::Vector(vector);
        }
        if source.is_short() {
            return Avx512Recipe::table(source, sink, cast);
        }
        let rounded = match sink {
            SinkKind::Round(to) => Avx512Recipe::rounded(source, &to, layout),
            _ => None,
        };
        let recipe = rounded.or_else(|| ToF16::new(source, sink).map(Avx512Recipe::ToF16));
        recipe.unwrap_or_else(|| Avx512Recipe::Vector(VectorRecipe::rounded(source, sink, cast)))
    }

    fn build(self, recipe: Avx512Recipe) -> Box<dyn CastLoop> {
        let l = Avx512(self);
        match recipe {
            Avx512Recipe::Vector(vector) => vector.build(self, l),
            Avx512Recipe::TruncateF32InAvx2(to) => {
                let l = Avx2(self.v3);
                with_number!(BITS = to, PackedBits { Bits2 2, Bits4 4 }, {
                    short_codes(l, F32Source, LowBits::<BITS>, CodeLayout::Packed)
                })
            }
            Avx512Recipe::TruncateTo16(WideFloat::F32) => avx2_past_caches(l, SourceToSink(F32Source, LowBits::<16>)),
            Avx512Recipe::TruncateTo16(WideFloat::F64) => avx2_past_caches(l, SourceToSink(F64Source, LowBits::<16>)),
            Avx512Recipe::F64ToInt32 => avx2_past_caches(l, ToInt::<_, 32, true>(F64Source)),
            Avx512Recipe::RoundCodes16(to, layout) => round(l, Codes16, to, layout),
            Avx512Recipe::RoundF64(to, layout) => round(l, F64Source, to, layout),
            Avx512Recipe::RoundF32To4(to, layout) => short_codes(l, F32Source, to, layout),
            Avx512Recipe::ShiftInt16 { signed, to } => {
                with_bool!(SIGNED = signed, codes(l, Int::<16, SIGNED, false>, to))
            }
            Avx512Recipe::ToF16(to_f16) => to_f16.build(l, Avx2(self.v3)),
            Avx512Recipe::Unpack6 => Box::new((l, Unpack6)),
            Avx512Recipe::NibbleTable(table) => table.build(l),
            Avx512Recipe::ByteTable(table) => table.build(l),
            Avx512Recipe::ShuffleTable(table) => table.build(self.v3),
            Avx512Recipe::RegisterTable(table) => Box::new(RegisterLoop(l, table)),
        }
    }
}

/// The loop of a step, in AVX2's lanes past the caches.
fn avx2_past_caches<T: Step<Avx512> + Step<Avx2> + 'static>(l: Avx512, step: T) -> Box<dyn CastLoop> {
    Box::new((l, Avx2(l.0.v3), step))
}

fn round<S: Floats16 + 'static>(l: Avx512, source: S, to: RoundingOfFloats16, layout: CodeLayout) -> Box<dyn CastLoop> {
    match to {
        RoundingOfFloats16::To4(to) => short_codes(l, source, to, layout),
        RoundingOfFloats16::To6(to) => short_codes(l, source, to, layout),
        RoundingOfFloats16::To8(to) => codes(l, source, to),
        RoundingOfFloats16::To8NoNegativeZero(to) => codes(l, source, to),
    }
}

impl Avx512Recipe {
    /// The recipe of a source of at most 8 bits.
    fn table(source: SourceKind, sink: SinkKind, cast: &CodeCast) -> Self {
        // To 16 bits, look-ups of single codes are faster.
        if cast.bits()[1] <= 8
            && let Some(table) = NibbleTable::new(cast)
        {
            return Self::NibbleTable(table);
        }
        if let Some(table) = ByteTable::new(cast) {
            return Self::ByteTable(table);
        }
        if let Some(table) = ShuffleTable::new(source, sink, cast).filter(ShuffleTable::is_short) {
            return Self::ShuffleTable(table);
        }
        match RegisterTable::new(source, sink, cast) {
            Some(table) => Self::RegisterTable(table),
            None => Self::Vector(VectorRecipe::Shared(SharedRecipe::memory_table(cast))),
        }
    }

    /// The rounding in lanes of 16 bits; `None` for pairs that it does not serve.
    fn rounded(source: SourceKind, to: &EncodeFloat, layout: CodeLayout) -> Option<Self> {
        let round_codes = |to| Self::RoundCodes16(to, layout);
        match source {
            SourceKind::Float(LongFloat::F16) => RoundingOfFloats16::new(&BINARY16, to).map(round_codes),
            SourceKind::Float(LongFloat::Bf16) => RoundingOfFloats16::new(&BFLOAT16, to).map(round_codes),
            SourceKind::Float(LongFloat::F64) => {
                RoundingOfFloats16::new(&BFLOAT16, to).map(|to| Self::RoundF64(to, layout))
            }
            SourceKind::Float(LongFloat::F32) => match RoundingOfFloats16::new(&BFLOAT16, to)? {
                RoundingOfFloats16::To4(to) => Some(Self::RoundF32To4(to, layout)),
                _ => None,
            },
            SourceKind::Int(LongInt { bits: LongBits::Bits16, signed }) => {
                ShiftInteger::new(to).map(|to| Self::ShiftInt16 { signed, to })
            }
            _ => None,
        }
    }
}
