//! The recipes of AVX2 and of AVX-512 in words.

use super::own::{BYTES, NIBBLES, TO_F16, with};
use super::words::{InWords, Words, in_layout};
use crate::cpu::recipe::avx2::Avx2Recipe;
use crate::cpu::recipe::avx512::Avx512Recipe;
use crate::cpu::sink::avx512::RoundingOfFloats16;
use crate::cpu::table::shuffle::ShuffleTable;

const UNPACK_6: (char, &str, &str) = ('v', "unpacks codes of 6 bits to one in each byte, in vectors", "unpack.rs");

impl InWords for ShuffleTable {
    fn words(&self) -> Words {
        let (key, text) = match self.has_numbers() {
            true => ('n', "tables in AVX2's registers: numbers, which are converted"),
            false => ('s', "tables in AVX2's registers: destination codes"),
        };
        with((key, text, "table/shuffle.rs"), self.form())
    }
}

impl InWords for Avx2Recipe {
    fn words(&self) -> Words {
        match self {
            Self::Vector(vector) => vector.words(),
            Self::ToF16(to_f16) => with(TO_F16, format!("{to_f16:?}")),
            Self::Unpack6 => with(UNPACK_6, String::new()),
            Self::NibbleTable(_) => with(NIBBLES, String::new()),
            Self::ByteTable(_) => with(BYTES, String::new()),
            Self::ShuffleTable(table) => table.words(),
        }
    }
}

impl InWords for Avx512Recipe {
    fn words(&self) -> Words {
        match self {
            Self::Vector(vector) => vector.words(),
            Self::TruncateF32InAvx2(to) => {
                let truncated = ('l', "AVX2's lanes of 16 bits: FLOAT truncated to its low bits", "sink/low_bits.rs");
                with(truncated, format!("{to:?}"))
            }
            Self::TruncateTo16(from) => {
                let truncated = "lanes of 16 bits: float truncated, AVX2's past the caches";
                with(('a', truncated, "sink/low_bits.rs"), format!("{from:?}"))
            }
            Self::F64ToInt32 => {
                let truncated = "lanes of 32 bits: DOUBLE truncated, AVX2's past the caches";
                with(('g', truncated, "cast_loop.rs"), String::new())
            }
            Self::RoundCodes16(to @ RoundingOfFloats16::To4(_), layout) => {
                let looked_up = ('k', "lanes of 16 bits: float of 16 bits looked up", "sink/avx512.rs");
                in_layout(with(looked_up, format!("{to:?}")), *layout)
            }
            Self::RoundCodes16(to, layout) => {
                let rounded = "lanes of 16 bits: float of 16 bits shifted, or looked up if subnormal";
                in_layout(with(('h', rounded, "sink/avx512.rs"), format!("{to:?}")), *layout)
            }
            Self::RoundF64(to @ RoundingOfFloats16::To4(_), layout) => {
                in_layout(with(ODD_LOOKED_UP, format!("{to:?}")), *layout)
            }
            Self::RoundF64(to, layout) => {
                let rounded = "lanes of 16 bits: DOUBLE rounded to odd, then shifted or looked up";
                in_layout(with(('o', rounded, "sink/avx512.rs"), format!("{to:?}")), *layout)
            }
            Self::RoundF32To4(to, layout) => in_layout(with(ODD_LOOKED_UP, format!("{to:?}")), *layout),
            Self::ShiftInt16 { signed, to } => {
                let shifted = ('j', "lanes of 16 bits: integer of 16 bits rounded by shifting", "sink/avx512.rs");
                with(shifted, format!("signed: {signed}, {to:?}"))
            }
            Self::ToF16(to_f16) => with(TO_F16, format!("{to_f16:?}")),
            Self::Unpack6 => with(UNPACK_6, String::new()),
            Self::NibbleTable(_) => with(NIBBLES, String::new()),
            Self::ByteTable(_) => with(BYTES, String::new()),
            Self::ShuffleTable(table) => table.words(),
            Self::RegisterTable(table) => {
                let (key, text, file) = match (table.has_pairs(), table.has_numbers()) {
                    (true, _) => ('r', "table in AVX-512's registers: two codes a lane", "table/register/pairs.rs"),
                    (_, true) => {
                        ('m', "table in AVX-512's registers: numbers, which are converted", "table/register.rs")
                    }
                    _ if table.is_whole() => {
                        ('O', "table in AVX-512's registers: whole destination codes", "table/register/whole.rs")
                    }
                    _ => ('R', "table in AVX-512's registers: destination codes", "table/register.rs"),
                };
                with((key, text, file), table.form())
            }
        }
    }
}

const ODD_LOOKED_UP: (char, &str, &str) =
    ('q', "lanes of 16 bits: wider float rounded to odd, then looked up", "sink/avx512.rs");
