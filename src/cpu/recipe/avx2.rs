//! The recipes of AVX2.

use super::kinds::{SinkKind, SourceKind};
use super::to_f16::ToF16;
use super::{InstructionSet, SharedRecipe, VectorRecipe};
use crate::cpu::cast_loop::CastLoop;
use crate::cpu::f16c::X86V3;
use crate::cpu::lanes::avx2::Avx2;
use crate::cpu::table::nibble::NibbleTable;
use crate::cpu::table::shuffle::ShuffleTable;
use crate::types::conversion::Conversion;

/// A recipe of AVX2.
pub(crate) enum Avx2Recipe {
    Vector(VectorRecipe),
    /// The processor's own conversion.
    ToF16(ToF16),
    /// Tables of 16 entries in registers, by the halves of each source byte.
    NibbleTable(NibbleTable),
    /// Tables of 16 entries in registers, by source codes.
    ShuffleTable(ShuffleTable),
}

impl InstructionSet for X86V3 {
    type Recipe = Avx2Recipe;

    fn recipe(conversion: &Conversion) -> Avx2Recipe {
        let (source, sink) = (SourceKind::new(conversion.from), SinkKind::new(conversion));
        if let Some(vector) = VectorRecipe::new(source, sink) {
            return Avx2Recipe::Vector(vector);
        }
        if let Some(f8) = VectorRecipe::truncated_f8(source, sink) {
            return Avx2Recipe::Vector(f8);
        }
        if source.is_short() {
            return Avx2Recipe::table(source, sink, conversion);
        }
        match ToF16::new(source, sink) {
            Some(to_f16) => Avx2Recipe::ToF16(to_f16),
            None => Avx2Recipe::Vector(VectorRecipe::rounded(source, sink, conversion)),
        }
    }

    fn build(self, recipe: Avx2Recipe) -> Box<dyn CastLoop> {
        match recipe {
            Avx2Recipe::Vector(vector) => vector.build(self.v3, Avx2::<false>(self)),
            Avx2Recipe::ToF16(to_f16) => to_f16.build(Avx2::<true>(self)),
            Avx2Recipe::NibbleTable(table) => table.build(Avx2::<false>(self)),
            Avx2Recipe::ShuffleTable(table) => table.build(self),
        }
    }
}

impl Avx2Recipe {
    /// The recipe of a source of at most 8 bits.
    fn table(source: SourceKind, sink: SinkKind, conversion: &Conversion) -> Self {
        if let Some(table) = NibbleTable::new(conversion) {
            return Self::NibbleTable(table);
        }
        match ShuffleTable::new(source, sink, conversion) {
            Some(table) => Self::ShuffleTable(table),
            None => Self::Vector(VectorRecipe::Shared(SharedRecipe::memory_table(conversion))),
        }
    }
}
