//! The recipes of AVX2.

use super::kinds::{ShortBits, SinkKind, SourceKind};
use super::to_f16::ToF16;
use super::{InstructionSet, SharedRecipe, VectorRecipe};
use crate::cpu::cast_loop::CastLoop;
use crate::cpu::code_cast::CodeCast;
use crate::cpu::lanes::avx2::Avx2;
use crate::cpu::table::byte::ByteTable;
use crate::cpu::table::nibble::NibbleTable;
use crate::cpu::table::shuffle::ShuffleTable;
use crate::cpu::unpack::Unpack6;
use crate::cpu::x86::X86V3;

/// A recipe of AVX2.
pub(crate) enum Avx2Recipe {
    Vector(VectorRecipe),
    /// The processor's own conversion.
    ToF16(ToF16),
    /// Codes of 6 bits to the same codes, one in each byte.
    Unpack6,
    /// Tables of 16 entries in registers, by the halves of each source byte.
    NibbleTable(NibbleTable),
    /// Tables of 16 entries in registers, by source bytes with one code.
    ByteTable(ByteTable),
    /// Tables of 16 entries in registers, by source codes.
    ShuffleTable(ShuffleTable),
}

impl InstructionSet for X86V3 {
    type Recipe = Avx2Recipe;

    fn recipe(cast: &CodeCast) -> Avx2Recipe {
        let (source, sink) = (SourceKind::new(cast.conversion.from), SinkKind::new(cast));
        if sink == SinkKind::Unpack(ShortBits::Bits6) {
            return Avx2Recipe::Unpack6;
        }
        if let Some(vector) = VectorRecipe::new(source, sink, cast.destination_layout()) {
            return Avx2Recipe::Vector(vector);
        }
        if let Some(f8) = VectorRecipe::truncated_f8(source, sink) {
            return Avx2Recipe::Vector(f8);
        }
        if source.is_short() {
            return Avx2Recipe::table(source, sink, cast);
        }
        match ToF16::new(source, sink) {
            Some(to_f16) => Avx2Recipe::ToF16(to_f16),
            None => Avx2Recipe::Vector(VectorRecipe::rounded(source, sink, cast)),
        }
    }

    fn build(self, recipe: Avx2Recipe) -> Box<dyn CastLoop> {
        match recipe {
            Avx2Recipe::Vector(vector) => vector.build(self, Avx2(self)),
            Avx2Recipe::ToF16(to_f16) => to_f16.build(Avx2(self), Avx2(self)),
            Avx2Recipe::Unpack6 => Box::new((Avx2(self), Unpack6)),
            Avx2Recipe::NibbleTable(table) => table.build(Avx2(self)),
            Avx2Recipe::ByteTable(table) => table.build(Avx2(self)),
            Avx2Recipe::ShuffleTable(table) => table.build(self),
        }
    }
}

impl Avx2Recipe {
    /// The recipe of a source of at most 8 bits.
    fn table(source: SourceKind, sink: SinkKind, cast: &CodeCast) -> Self {
        if let Some(table) = NibbleTable::new(cast) {
            return Self::NibbleTable(table);
        }
        if let Some(table) = ByteTable::new(cast) {
            return Self::ByteTable(table);
        }
        match ShuffleTable::new(source, sink, cast) {
            Some(table) => Self::ShuffleTable(table),
            None => Self::Vector(VectorRecipe::Shared(SharedRecipe::memory_table(cast))),
        }
    }
}
