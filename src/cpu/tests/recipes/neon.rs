//! The recipes of NEON in words.

use super::own::{BYTES, NIBBLES, TO_F16, with};
use super::words::{InWords, Words, in_layout, words};
use crate::cpu::recipe::neon::{NeonRecipe, NeonStep};

impl InWords for NeonRecipe {
    fn words(&self) -> Words {
        match self {
            Self::Portable(portable) => portable.words(),
            Self::Vector(vector) => vector.words(),
            Self::Step(step) => step.words(),
            Self::ToF16(to_f16) => with(TO_F16, format!("{to_f16:?}")),
            Self::F64ToF16(to) => with(TO_F16, format!("{to:?}")),
            Self::RoundF64(to, layout) => {
                let rounded = "lanes of 32 bits: DOUBLE rounded to odd, then by adding a power of two";
                in_layout(with(('o', rounded, "source/neon.rs"), format!("{to:?}")), *layout)
            }
            Self::ToBf16(from, to) => with(TO_BF16, format!("{from:?}, {to:?}")),
            Self::IntToBf16(from, to) => with(TO_BF16, format!("{from:?}, {to:?}")),
            Self::FromInt8 { signed, to } => {
                let text = "lanes: 8-bit integer to a float that holds it";
                with(('X', text, "source/neon.rs"), format!("signed: {signed}, {to:?}"))
            }
            Self::BoolTo16(step) => with(('Z', "0 or 1 from BOOL", "neon_steps.rs"), format!("{step:?}")),
            Self::FromF8(from, to) => {
                let text = "lanes: float of 8 bits, moved to its place in binary32 and scaled";
                with(('V', text, "source/neon.rs"), format!("{from:?}, {to:?}"))
            }
            Self::NibbleTable(_) => with(NIBBLES, String::new()),
            Self::ByteTable(_) => with(BYTES, String::new()),
            Self::LookUpTable(table) => {
                let (key, text) = match table.has_numbers() {
                    true => ('n', "tables in NEON's registers: numbers, which are converted"),
                    false => ('s', "tables in NEON's registers: destination codes"),
                };
                with((key, text, "table/neon.rs"), table.form())
            }
        }
    }
}

const TO_BF16: (char, &str, &str) = ('Y', "lanes of 32 bits: narrowed with rounding to BFLOAT16", "sink/neon.rs");

impl InWords for NeonStep {
    fn words(&self) -> Words {
        let (key, text) = match self {
            Self::Pack(_) => ('G', "packs the low bits of bytes, in vectors"),
            Self::Unpack(_) => ('U', "unpacks codes to one in each byte, in vectors"),
            Self::Bf16ToF32 | Self::Bf16ToF64 | Self::F32ToF64 | Self::F64ToF32 => {
                ('D', "lanes: float to FLOAT or DOUBLE")
            }
            Self::Int64ToF32 { .. } | Self::Int64ToF64 { .. } => ('J', "lanes: 64-bit integer to FLOAT or DOUBLE"),
            Self::F64ToInt64 { .. } | Self::F16ToInt32 | Self::ToUint32(_) => {
                ('O', "lanes: float truncated to 32 or 64 bits")
            }
        };
        Words { parameters: format!("{self:?}"), ..words(key, text, "neon_steps.rs") }
    }
}
