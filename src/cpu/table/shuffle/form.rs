//! What becomes of the 16 bits of an entry.

use crate::cpu::table::halves::Meaning;
use crate::cpu::table::numbers::NumberTo;

/// What the entries become, by the bits of the source. From sources of at most 4 bits to other destinations, there are
/// faster tables.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    From2(To16OrMore),
    From4(To32OrMore),
    From6(To),
    From8(To),
    /// One code of at most 4 bits in each byte.
    FromBytesOf4(ByteTo),
    /// One code of 6 bits in each byte.
    FromBytesOf6(To),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum To16OrMore {
    Bits16,
    UpperHalf,
    Extended,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum To32OrMore {
    UpperHalf,
    Extended,
    F64,
    Int64,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ByteTo {
    Bits16,
    UpperHalf,
    Extended,
    F64,
    Int64,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum To {
    Bits2,
    Bits4,
    Bits6,
    Bits8,
    Bits16,
    UpperHalf,
    Int32,
    F64,
    Int64,
}

impl Form {
    /// `from_bits` are the bits of a source code, and those that it takes in memory.
    pub(super) fn new(from_bits: [u32; 2], to_bits: u32, meaning: Meaning) -> Option<Self> {
        match from_bits {
            [2, 2] => To16OrMore::new(to_bits, meaning).map(Self::From2),
            [4, 4] => To32OrMore::new(meaning).map(Self::From4),
            [6, 6] => To::new(to_bits, meaning).map(Self::From6),
            [8, 8] => To::new(to_bits, meaning).map(Self::From8),
            [2 | 4, 8] => ByteTo::new(to_bits, meaning).map(Self::FromBytesOf4),
            [6, 8] => To::new(to_bits, meaning).map(Self::FromBytesOf6),
            _ => None,
        }
    }

    /// Whether instructions make the destination codes of numbers.
    #[cfg(test)]
    pub(super) fn has_numbers(self) -> bool {
        match self {
            Self::From2(_) => false,
            Self::From4(to) => matches!(to, To32OrMore::F64 | To32OrMore::Int64),
            Self::From6(to) | Self::From8(to) | Self::FromBytesOf6(to) => {
                matches!(to, To::Int32 | To::F64 | To::Int64)
            }
            Self::FromBytesOf4(to) => matches!(to, ByteTo::F64 | ByteTo::Int64),
        }
    }
}

impl To16OrMore {
    fn new(to_bits: u32, meaning: Meaning) -> Option<Self> {
        match (meaning, to_bits) {
            (Meaning::Code, 16) => Some(Self::Bits16),
            (Meaning::UpperHalf, _) => Some(Self::UpperHalf),
            (Meaning::Extended, _) => Some(Self::Extended),
            _ => None,
        }
    }
}

impl To32OrMore {
    fn new(meaning: Meaning) -> Option<Self> {
        match meaning {
            Meaning::UpperHalf => Some(Self::UpperHalf),
            Meaning::Extended => Some(Self::Extended),
            Meaning::Number(NumberTo::F64) => Some(Self::F64),
            Meaning::Number(NumberTo::Int64) => Some(Self::Int64),
            Meaning::Code | Meaning::Number(NumberTo::F32 | NumberTo::Int32) => None,
        }
    }
}

impl ByteTo {
    fn new(to_bits: u32, meaning: Meaning) -> Option<Self> {
        match (meaning, to_bits) {
            (Meaning::Code, 16) => Some(Self::Bits16),
            (Meaning::UpperHalf, _) => Some(Self::UpperHalf),
            (Meaning::Extended, _) => Some(Self::Extended),
            (Meaning::Number(NumberTo::F64), _) => Some(Self::F64),
            (Meaning::Number(NumberTo::Int64), _) => Some(Self::Int64),
            (Meaning::Code | Meaning::Number(NumberTo::F32 | NumberTo::Int32), _) => None,
        }
    }
}

impl To {
    fn new(to_bits: u32, meaning: Meaning) -> Option<Self> {
        match (meaning, to_bits) {
            (Meaning::Code, 2) => Some(Self::Bits2),
            (Meaning::Code, 4) => Some(Self::Bits4),
            (Meaning::Code, 6) => Some(Self::Bits6),
            (Meaning::Code, 8) => Some(Self::Bits8),
            (Meaning::Code, 16) => Some(Self::Bits16),
            (Meaning::UpperHalf | Meaning::Number(NumberTo::F32), _) => Some(Self::UpperHalf),
            (Meaning::Number(NumberTo::Int32), _) => Some(Self::Int32),
            (Meaning::Number(NumberTo::F64), _) => Some(Self::F64),
            (Meaning::Number(NumberTo::Int64), _) => Some(Self::Int64),
            (Meaning::Code | Meaning::Extended, _) => None,
        }
    }
}
