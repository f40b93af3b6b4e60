//! The kinds of a pair's source and sink. The recipe of a pair is chosen by them.

use crate::bits::format::FloatFormat;
use crate::bits::reference::{EncodeE8m0, EncodeFloat, Hub};
use crate::cpu::code_cast::CodeCast;
use crate::cpu::sink::Clamp;
use crate::types::conversion::{Encode, needs_subnormals};
use crate::types::element::{BFLOAT16, BINARY16, BINARY32, BINARY64, ElementType, Kind};

/// What a source's codes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceKind {
    Bool,
    /// An integer of fewer than 8 bits.
    ShortInt,
    Int8 {
        signed: bool,
    },
    Int(LongInt),
    /// A float of at most 8 bits.
    ShortFloat(FloatFormat),
    Float(LongFloat),
    /// Anything else. No source decodes it.
    Other,
}

/// An integer of more than 8 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LongInt {
    pub bits: LongBits,
    pub signed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LongBits {
    Bits16,
    Bits32,
    Bits64,
}

/// A float of more than 8 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LongFloat {
    F16,
    Bf16,
    F32,
    F64,
}

/// What the sink makes of the source's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SinkKind {
    /// The codes are the same, and so are their layouts.
    Copy,
    /// The codes are the same, one in each byte on both sides. Bits above a code become zero.
    Mask(ShortBits),
    /// The codes are the same, one in each byte of the source and packed in the destination.
    Pack(ShortBits),
    /// The codes are the same, packed in the source and one in each byte of the destination.
    Unpack(ShortBits),
    Bool,
    /// The low bits of integers. A wider destination gets copies of the sign above them, or zeros from unsigned
    /// sources.
    LowBits(IntBits),
    /// The low bits, at most 16, of the integer parts of floats.
    Truncate(TruncatedBits),
    /// The same of fewer than 8 bits, one code in each byte.
    TruncateInBytes(PackedBits),
    /// The integer parts of floats, limited to the range of 4 bits.
    Clamp(Clamp<4>),
    /// Signed 32-bit integers from floats.
    Int32,
    /// The low words of 64-bit integers from floats.
    Uint32,
    Int64 {
        signed: bool,
    },
    /// A float of at most 16 bits.
    Round(EncodeFloat),
    E8m0(EncodeE8m0),
    F32,
    F64,
    /// Anything else. No sink encodes it.
    Other,
}

/// The bits of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntBits {
    Packed(PackedBits),
    /// One code of less than a byte in each byte.
    InBytes(PackedBits),
    Whole(WholeBits),
}

/// The bits of an integer of less than a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackedBits {
    Bits2,
    Bits4,
}

/// The bits of a code of less than a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShortBits {
    Bits2,
    Bits4,
    Bits6,
}

/// The bits of a whole number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WholeBits {
    Bits8,
    Bits16,
    Bits32,
    Bits64,
}

/// The bits of an integer that floats are truncated to in lanes of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TruncatedBits {
    Bits2,
    Bits4,
    Bits8,
    Bits16,
}

impl SourceKind {
    pub(crate) fn new(from: ElementType) -> Self {
        match (from.kind(), from.code_bits()) {
            (Kind::Bool, _) => Self::Bool,
            (Kind::Int { .. }, ..8) => Self::ShortInt,
            (Kind::Int { signed }, 8) => Self::Int8 { signed },
            (Kind::Int { signed }, bits) => LongBits::new(bits).map_or(Self::Other, |bits| Self::int(bits, signed)),
            (Kind::Float(format), ..=8) => Self::ShortFloat(format),
            (Kind::Float(format), _) => LongFloat::new(&format).map_or(Self::Other, Self::Float),
            (Kind::String, _) => Self::Other,
        }
    }

    fn int(bits: LongBits, signed: bool) -> Self {
        Self::Int(LongInt { bits, signed })
    }

    /// Whether a code has at most 8 bits. A table can have an entry for each such code.
    pub(crate) fn is_short(self) -> bool {
        matches!(self, Self::Bool | Self::ShortInt | Self::Int8 { .. } | Self::ShortFloat(_))
    }
}

impl SinkKind {
    pub(crate) fn new(cast: &CodeCast) -> Self {
        let conversion = &cast.conversion;
        let bits = conversion.to.code_bits();
        let from_int = matches!(conversion.from.kind(), Kind::Int { .. } | Kind::Bool);
        match conversion.encode {
            Encode::Copy => Self::copy(cast),
            Encode::Bool => Self::Bool,
            Encode::Int(_) | Encode::Int64 { .. } if from_int => {
                IntBits::new(bits, cast.bits()[1]).map_or(Self::Other, Self::LowBits)
            }
            Encode::Int(to) => match (to.clamp, bits) {
                (Some((below, above)), 4) => Self::Clamp(Clamp { below: below as u16, above: above as u16 }),
                (None, 32) if to.wide => Self::Uint32,
                (None, 32) => Self::Int32,
                (None, _) => Self::truncate(bits, cast.bits()[1]),
                (Some(_), _) => Self::Other,
            },
            Encode::Int64 { signed } => Self::Int64 { signed },
            Encode::Float(to) => Self::Round(to),
            Encode::E8m0(to) => Self::E8m0(to),
            Encode::F32 => Self::F32,
            Encode::F64 => Self::F64,
            Encode::ClampInfinity { .. } => Self::Other,
        }
    }

    /// The low bits of the integer parts of floats. `in_memory` is the number of bits that a code takes there.
    fn truncate(bits: u32, in_memory: u32) -> Self {
        match IntBits::new(bits, in_memory) {
            Some(IntBits::InBytes(bits)) => Self::TruncateInBytes(bits),
            _ => TruncatedBits::new(bits).map_or(Self::Other, Self::Truncate),
        }
    }

    /// What becomes of codes that stay the same.
    fn copy(cast: &CodeCast) -> Self {
        let Some(bits) = ShortBits::new(cast.conversion.from.code_bits()) else { return Self::Copy };
        match cast.bits() {
            [8, 8] => Self::Mask(bits),
            [8, _] => Self::Pack(bits),
            [_, 8] => Self::Unpack(bits),
            _ => Self::Copy,
        }
    }
}

impl LongFloat {
    fn new(format: &FloatFormat) -> Option<Self> {
        match *format {
            BINARY16 => Some(Self::F16),
            BFLOAT16 => Some(Self::Bf16),
            BINARY32 => Some(Self::F32),
            BINARY64 => Some(Self::F64),
            _ => None,
        }
    }

    pub(crate) fn bits(self) -> WholeBits {
        match self {
            Self::F16 | Self::Bf16 => WholeBits::Bits16,
            Self::F32 => WholeBits::Bits32,
            Self::F64 => WholeBits::Bits64,
        }
    }

    /// All bits but the sign.
    pub(crate) fn magnitude_mask(self) -> u64 {
        let format = match self {
            Self::F16 => BINARY16,
            Self::Bf16 => BFLOAT16,
            Self::F32 => BINARY32,
            Self::F64 => BINARY64,
        };
        format.magnitude_mask()
    }

    /// The format in which its source returns numbers.
    pub(crate) fn hub(self) -> Hub {
        match self {
            Self::F16 | Self::Bf16 | Self::F32 => Hub::F32,
            Self::F64 => Hub::F64_HIGH_WORD,
        }
    }
}

/// Whether a sink can tell subnormals of FLOAT16 apart.
pub(crate) fn f16_subnormals(to: ElementType) -> bool {
    needs_subnormals(&BINARY16, to)
}

impl LongBits {
    fn new(bits: u32) -> Option<Self> {
        match bits {
            16 => Some(Self::Bits16),
            32 => Some(Self::Bits32),
            64 => Some(Self::Bits64),
            _ => None,
        }
    }

    pub(crate) fn whole(self) -> WholeBits {
        match self {
            Self::Bits16 => WholeBits::Bits16,
            Self::Bits32 => WholeBits::Bits32,
            Self::Bits64 => WholeBits::Bits64,
        }
    }
}

impl IntBits {
    /// `in_memory` is the number of bits that a code takes there.
    fn new(bits: u32, in_memory: u32) -> Option<Self> {
        if let Some(bits) = PackedBits::new(bits) {
            return Some(if in_memory < 8 { Self::Packed(bits) } else { Self::InBytes(bits) });
        }
        match bits {
            8 => Some(Self::Whole(WholeBits::Bits8)),
            _ => LongBits::new(bits).map(|bits| Self::Whole(bits.whole())),
        }
    }
}

impl PackedBits {
    pub(crate) fn new(bits: u32) -> Option<Self> {
        match bits {
            2 => Some(Self::Bits2),
            4 => Some(Self::Bits4),
            _ => None,
        }
    }

    pub(crate) fn number(self) -> usize {
        match self {
            Self::Bits2 => 2,
            Self::Bits4 => 4,
        }
    }
}

impl ShortBits {
    fn new(bits: u32) -> Option<Self> {
        match bits {
            2 => Some(Self::Bits2),
            4 => Some(Self::Bits4),
            6 => Some(Self::Bits6),
            _ => None,
        }
    }

    pub(crate) fn number(self) -> usize {
        match self {
            Self::Bits2 => 2,
            Self::Bits4 => 4,
            Self::Bits6 => 6,
        }
    }

    pub(crate) fn mask(self) -> u8 {
        (1 << self.number()) - 1
    }
}

impl From<PackedBits> for ShortBits {
    fn from(bits: PackedBits) -> Self {
        match bits {
            PackedBits::Bits2 => Self::Bits2,
            PackedBits::Bits4 => Self::Bits4,
        }
    }
}

impl TruncatedBits {
    fn new(bits: u32) -> Option<Self> {
        match bits {
            2 => Some(Self::Bits2),
            4 => Some(Self::Bits4),
            8 => Some(Self::Bits8),
            16 => Some(Self::Bits16),
            _ => None,
        }
    }
}
