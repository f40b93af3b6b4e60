//! The recipe of a pair's loop says what decodes, what rounds and with which parameters, or which table is used with
//! which entries.
//!
//! [`InstructionSet::recipe`] is a pure function of the conversion and of the layouts of both sides. It makes every choice, by making the parts that a
//! loop needs: if a part cannot be made, it tries the next recipe. [`InstructionSet::build`] makes the loop of a recipe
//! without further choices. `src/cpu/tests/recipes.txt` has the recipe of each pair in words.

#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
pub(crate) mod avx2;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
pub(crate) mod avx512;
pub(crate) mod elements;
pub(crate) mod kinds;
pub(crate) mod lanes;
#[cfg(all(feature = "cpu-simd", target_arch = "aarch64"))]
pub(crate) mod neon;
mod portable;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) mod to_f16;
#[cfg_attr(
    not(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64"))),
    allow(
        dead_code,
        reason = "other processors have no such instruction set yet; tests build its recipes in portable lanes"
    )
)]
mod vectors;

#[cfg(any(test, all(feature = "cpu-simd", target_arch = "aarch64")))]
pub(crate) use portable::PortableRecipe;
#[cfg(any(
    test,
    all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64"))
))]
pub(crate) use vectors::VectorRecipe;

use super::cast_loop::{CastLoop, CopyCodes};
use super::code_cast::CodeCast;
use super::isa::Instructions;
use super::lanes::Lanes;
use super::packed_loop::PackedFirst;
use super::reference::Reference;
use super::table::memory::MemoryTable;
use crate::types::layout::CodeLayout;
use elements::Element;
use kinds::{PackedBits, SinkKind, SourceKind};
use lanes::InLanes;

/// An instruction set with recipes and loops.
pub(crate) trait InstructionSet: Copy {
    /// What a loop is made of.
    type Recipe;

    /// The recipe of the fastest loop of a cast.
    fn recipe(cast: &CodeCast) -> Self::Recipe;

    /// The loop of a recipe.
    fn build(self, recipe: Self::Recipe) -> Box<dyn CastLoop>;
}

/// A recipe that every instruction set has.
pub(crate) enum SharedRecipe {
    /// The codes of both types are the same.
    Copy,
    /// A function of one element. The compiler vectorises its loop with the vectors of the instruction set.
    Element(Element),
    /// A source and a sink in the lanes of the instruction set, and the layout of the codes.
    InLanes(InLanes, CodeLayout),
    /// A table of 256 entries in memory.
    MemoryTable(MemoryTable),
    /// The same by packed codes, from codes of at most 4 bits that lie one in each byte. They are packed first: an
    /// entry for several codes is faster than several entries.
    MemoryTableOfPacked { packed: MemoryTable, from: PackedBits, to_bits: usize },
    /// The reference, code by code, for formats that nothing else serves.
    Reference(CodeCast),
}

impl SharedRecipe {
    /// The recipe of a pair that no instruction set casts in a way of its own; `None` for others.
    fn new(source: SourceKind, sink: SinkKind, to: CodeLayout) -> Option<Self> {
        if sink == SinkKind::Copy {
            return Some(Self::Copy);
        }
        let in_lanes = || InLanes::new(source, sink).map(|recipe| Self::InLanes(recipe, to));
        Element::new(source, sink).map(Self::Element).or_else(in_lanes)
    }

    /// The recipe of a source of at most 8 bits that no table in registers serves.
    fn memory_table(cast: &CodeCast) -> Self {
        if let [8, _] = cast.bits()
            && let Some(from) = PackedBits::new(cast.conversion.from.code_bits())
            && let Some(packed) = MemoryTable::new(&cast.with_packed_source())
        {
            return Self::MemoryTableOfPacked { packed, from, to_bits: cast.bits()[1] as usize };
        }
        MemoryTable::new(cast).map_or(Self::Reference(*cast), Self::MemoryTable)
    }

    /// `i` and `l` must be the same instruction set.
    fn build<I: Instructions + 'static, L: Lanes + 'static>(self, i: I, l: L) -> Box<dyn CastLoop> {
        match self {
            Self::Copy => Box::new(CopyCodes(i.half_width())),
            Self::Element(element) => element.build(i),
            Self::InLanes(in_lanes, to) => in_lanes.build(l, to),
            Self::MemoryTable(table) => Box::new(table),
            Self::MemoryTableOfPacked { packed, from, to_bits } => {
                Box::new(PackedFirst::new(Box::new(packed), from.number(), to_bits))
            }
            Self::Reference(cast) => Box::new(Reference(cast)),
        }
    }
}
