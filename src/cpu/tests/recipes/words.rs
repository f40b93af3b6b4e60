//! Recipes in words.

use crate::cpu::recipe::elements::{Element, PortableElement, Widened};
use crate::cpu::recipe::lanes::{InLanes, InVectors};
use crate::cpu::recipe::{PortableRecipe, SharedRecipe, VectorRecipe};
use crate::cpu::sink::{RoundToBytes, Rounding};
use crate::types::layout::CodeLayout;

/// The keys of loops that tests know.
pub(crate) const MEMORY_TABLE: char = 'M';
pub(crate) const REFERENCE: char = '.';

/// What a loop does, as the committed table and `tests/recipe.sh` print it.
pub(crate) struct Words {
    pub key: char,
    pub text: &'static str,
    /// The file that makes the loop special, in `src/cpu`.
    pub file: &'static str,
    /// What the recipe was made with.
    pub parameters: String,
}

pub(crate) trait InWords {
    fn words(&self) -> Words;
}

pub(super) fn words(key: char, text: &'static str, file: &'static str) -> Words {
    Words { key, text, file, parameters: String::new() }
}

impl InWords for SharedRecipe {
    fn words(&self) -> Words {
        match self {
            Self::Copy => words('=', "copies the codes", "cast_loop.rs"),
            Self::Element(element) => element.words(),
            Self::InLanes(in_lanes, layout) => in_layout(in_lanes.words(), *layout),
            Self::MemoryTable(_) => {
                words(MEMORY_TABLE, "table in memory: destination codes, by source bytes", "table/memory.rs")
            }
            Self::MemoryTableOfPacked { from, .. } => {
                let text = "table in memory: destination codes, by bytes that are packed before";
                Words { parameters: format!("{from:?}"), ..words('K', text, "packed_loop.rs") }
            }
            Self::Reference(_) => words(REFERENCE, "reference, code by code", "reference.rs"),
        }
    }
}

impl InWords for PortableRecipe {
    fn words(&self) -> Words {
        match self {
            Self::Shared(shared) => shared.words(),
            Self::Element(element) => element.words(),
            Self::RoundIntToPacked(rounding, layout) => {
                let words = Words { parameters: format!("{rounding:?}"), ..words('N', ROUND_INT, "sink/round.rs") };
                in_layout(words, *layout)
            }
            Self::RoundFloat16(rounding, layout) => {
                let (key, text, file) = rounded_float(&rounding.to);
                let words = Words { parameters: format!("{rounding:?}"), ..words(key, text, file) };
                in_layout(words, *layout)
            }
            Self::Pack(bits) => {
                Words { parameters: format!("{bits:?}"), ..words('c', "packs the low bits of bytes", "packed_loop.rs") }
            }
            Self::Unpack(bits) => Words { parameters: format!("{bits:?}"), ..words('u', UNPACK, "packed_loop.rs") },
        }
    }
}

/// What packed codes and codes that lie one in each byte have in common. The layout is a parameter.
pub(super) fn in_layout(words: Words, layout: CodeLayout) -> Words {
    match layout {
        CodeLayout::Packed => words,
        CodeLayout::OnePerByte => Words { parameters: format!("{}, OnePerByte", words.parameters), ..words },
    }
}

const UNPACK: &str = "unpacks codes to one in each byte";
const ROUND_INT: &str = "lanes of 32 bits: integer rounded by shifting";

impl InWords for Element {
    fn words(&self) -> Words {
        let (key, text, file) = match self {
            Self::Widen(Widened::BoolToInt(_) | Widened::BoolToF32 | Widened::BoolToF64) => {
                ('b', "element: 0 or 1 from BOOL", "recipe/elements.rs")
            }
            Self::IsNonzero { .. } => {
                ('z', "element: whether a bit is set, without a float's sign", "recipe/elements.rs")
            }
            Self::Widen(Widened::Int { .. }) | Self::Narrow(_) | Self::Mask(_) => LOW_BITS,
            Self::Widen(Widened::IntToF32(_) | Widened::IntToF64(_)) | Self::Int64ToF32 { .. } => {
                ('i', "element: integer to FLOAT or DOUBLE", "scalar.rs")
            }
            Self::Int8Exact { .. } => ('x', "element: integer to a float of 16 bits that holds it", "scalar.rs"),
            Self::Bf16ToF32 | Self::F64ToF32 | Self::Bf16ToF64 | Self::F32ToF64 => ('f', FLOAT_TO_FLOAT, "scalar.rs"),
            Self::F64ToInt64 { .. } | Self::ToUint32(_) => ('t', TRUNCATED, "scalar.rs"),
            Self::F64To16(_) => ('d', ROUNDED_F64, "scalar.rs"),
        };
        Words { parameters: format!("{self:?}"), ..words(key, text, file) }
    }
}

const LOW_BITS: (char, &str, &str) =
    ('w', "element: low bits of an integer, or its sign above them", "recipe/elements.rs");
const FLOAT_TO_FLOAT: &str = "element: float to FLOAT or DOUBLE";
const TRUNCATED: &str = "element: float truncated to 32 or 64 bits";
const ROUNDED_F64: &str = "element: DOUBLE rounded in words of 64 bits";

impl InWords for PortableElement {
    fn words(&self) -> Words {
        let (key, text, file) = match self {
            Self::F16ToF32 | Self::F16ToF64 => ('f', FLOAT_TO_FLOAT, "scalar.rs"),
            Self::ToInt32(_) | Self::F16ToInt64 { .. } | Self::Bf16ToInt64 { .. } | Self::F32ToInt64 { .. } => {
                ('t', TRUNCATED, "scalar.rs")
            }
            Self::LowBits { .. } => ('p', "element: low bits of an integer, packed afterwards", "recipe/elements.rs"),
            Self::LowBitsInBytes { .. } => LOW_BITS,
            Self::RoundF64 { .. } => ('d', ROUNDED_F64, "scalar.rs"),
        };
        Words { parameters: format!("{self:?}"), ..words(key, text, file) }
    }
}

const ROUNDED_BY_SHIFTING: (char, &str, &str) = ('S', "lanes of 32 bits: float rounded by shifting", "sink/round.rs");

fn rounded_float(to: &Rounding) -> (char, &'static str, &'static str) {
    match to {
        Rounding::ToBytes(RoundToBytes::Shift16(_)) => ROUNDED_BY_SHIFTING,
        _ => ('A', "lanes of 32 bits: float rounded by adding a power of two", "sink/round.rs"),
    }
}

impl InWords for InLanes {
    fn words(&self) -> Words {
        let (key, text, file) = match self {
            Self::F16ToBf16(_) => ROUNDED_BY_SHIFTING,
            Self::Round { to, .. } => rounded_float(to),
            Self::RoundInt { .. } => ('N', ROUND_INT, "sink/round.rs"),
            Self::FloatToE8m0 { .. } | Self::IntToE8m0 { .. } => {
                ('E', "lanes of 32 bits: rounded to a power of two", "sink/e8m0.rs")
            }
            Self::Truncate { .. } | Self::TruncateInBytes { .. } => {
                ('T', "lanes of 16 bits: float truncated to its low bits", "sink/low_bits.rs")
            }
            Self::Clamp { .. } => ('C', "lanes of 16 bits: float truncated and limited to 4 bits", "sink/clamp.rs"),
        };
        Words { parameters: format!("{self:?}"), ..words(key, text, file) }
    }
}

impl InWords for VectorRecipe {
    fn words(&self) -> Words {
        match self {
            Self::Shared(shared) => shared.words(),
            Self::InVectors(in_vectors, layout) => in_layout(in_vectors.words(), *layout),
        }
    }
}

impl InWords for InVectors {
    fn words(&self) -> Words {
        let (key, text, file) = match self {
            Self::RoundIn16Bits(_) => ('H', "lanes of 16 bits: float of 16 bits rounded", "sink/round_in_16_bits.rs"),
            Self::LookUpInteger { .. } => ('L', "lanes of 16 bits: integer looked up", "sink/look_up_integer.rs"),
            Self::LowBitsOfInt8(_) | Self::LowBits { .. } | Self::LowBitsInBytes { .. } => {
                ('B', "lanes of 16 bits: low bits of an integer", "sink/low_bits.rs")
            }
            Self::TruncateF8(_) => ('F', "lanes of 16 bits: float of 8 bits truncated", "source.rs"),
            Self::F16ToF32 | Self::F16ToF64 => ('W', "lanes of 32 bits: FLOAT16 to FLOAT or DOUBLE", "cast_loop.rs"),
            Self::F16ToInt64 { .. } | Self::ToInt32(_) | Self::Bf16ToInt64 { .. } | Self::F32ToInt64 { .. } => {
                ('I', "lanes of 32 bits: float truncated to 32 or 64 bits", "cast_loop.rs")
            }
        };
        Words { parameters: format!("{self:?}"), ..words(key, text, file) }
    }
}
