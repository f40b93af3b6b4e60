//! Words that several instruction sets have for recipes of their own.

use super::words::{Words, words};

pub(super) const TO_F16: (char, &str, &str) =
    ('P', "lanes: the processor's own conversion to FLOAT16", "sink/convert_to_f16.rs");
pub(super) const NIBBLES: (char, &str, &str) =
    ('Q', "tables of 16 entries in registers, by half source bytes", "table/nibble.rs");
pub(super) const BYTES: (char, &str, &str) =
    ('y', "tables of 16 entries in registers, by source bytes with one code", "table/byte.rs");

pub(super) fn with((key, text, file): (char, &'static str, &'static str), parameters: String) -> Words {
    Words { parameters, ..words(key, text, file) }
}
