//! What is written with x86's own vector instructions, which the compiler does not find.

#![allow(clippy::needless_range_loop, reason = "the closures of adapters are compiled without the vector instructions")]

mod halves;
mod long;
mod lookup;
mod native;
mod round;
mod scale;
mod shuffle;
mod source;
mod strips;
mod truncate;
mod vector;
mod widen;

use halves::Halves;
use lookup::Lookup;
use native::Native;
use round::Round;
use scale::Scale;
use shuffle::Shuffle;
use truncate::Truncate;
use widen::Widen;

use super::level::Level;
use crate::conversion::Conversion;
use crate::element::ElementType;

/// The casts of one pair.
pub(crate) enum Vectors {
    Shuffle(Shuffle),
    Halves(Halves),
    Truncate(Truncate),
    Round(Round),
    Scale(Scale),
    Widen(Widen),
    Lookup(Box<Lookup>),
    Native(Native),
}

impl Vectors {
    /// By instructions or in words that plain loops do not have at this level. `None` for other pairs.
    pub(crate) fn loops(level: Level, conversion: &Conversion) -> Option<Self> {
        match level {
            Level::V4(simd) => (Native::new(simd, conversion).map(Self::Native)).or_else(|| match conversion.from {
                // FLOAT16 is faster in AVX-512's 16-bit words, and 8-bit floats by its tables.
                ElementType::BFLOAT16 | ElementType::FLOAT | ElementType::DOUBLE => {
                    Truncate::new(*simd, conversion).map(Self::Truncate)
                }
                _ => None,
            }),
            Level::V3(simd) => (Truncate::new(simd, conversion).map(Self::Truncate))
                .or_else(|| Halves::new(simd, conversion).map(Self::Halves))
                .or_else(|| Round::new(simd, conversion).map(Self::Round))
                .or_else(|| Scale::new(simd, conversion).map(Self::Scale))
                .or_else(|| Widen::new(simd, conversion).map(Self::Widen)),
            Level::Plain => None,
        }
    }

    /// From at most 8 bits, by tables that it takes time to make. `None` for other pairs, and at a level without.
    pub(crate) fn tables(level: Level, conversion: &Conversion) -> Option<Self> {
        if let Level::V4(simd) = level {
            let bits = [conversion.from, conversion.to].map(|t| t.code_bits());
            match bits {
                // A byte's eight are faster from memory.
                [8, 64] => return None,
                // AVX2 looks up 32 codes of at most 4 bits in bytes, where words are but as many.
                [..=4, ..=8] => {}
                _ => return Lookup::new(simd, conversion).map(|lookup| Self::Lookup(Box::new(lookup))),
            }
        }
        Shuffle::new(level.v3()?, conversion).map(Self::Shuffle)
    }

    /// Casts packed codes that start at a byte; what it writes to pad bits is undefined.
    pub(crate) fn convert(&self, source: &[u8], destination: &mut [u8]) {
        match self {
            Self::Shuffle(shuffle) => shuffle.convert(source, destination),
            Self::Halves(halves) => halves.convert(source, destination),
            Self::Widen(widen) => widen.convert(source, destination),
            Self::Scale(scale) => scale.convert(source, destination),
            Self::Round(round) => round.convert(source, destination),
            Self::Truncate(truncate) => truncate.convert(source, destination),
            Self::Lookup(lookup) => lookup.convert(source, destination),
            Self::Native(native) => native.convert(source, destination),
        }
    }
}

/// Packs codes of `bits` bits, each the low ones of `from_bits` bits, into `destination`; the last codes may be fewer than it
/// has room for. Whether it did, which needs a level and a width that it has instructions for.
pub(crate) fn pack(level: Level, codes: &[u8], from_bits: u32, bits: u32, destination: &mut [u8]) -> bool {
    if let (Level::V4(simd), 16) = (level, from_bits) {
        lookup::pack_words(simd, codes, bits, destination);
        return true;
    }
    match (level.v3(), from_bits) {
        (Some(simd), 8) => vector::pack(simd, codes, bits, destination),
        _ => return false,
    }
    true
}
