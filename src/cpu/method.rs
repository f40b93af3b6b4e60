//! How a pair is cast: [`method`] is a pure function of the source kind, the sink kind and the instruction set. Element
//! types are mapped to kinds here; `compose` uses kinds only. `tests/methods.txt` lists the method of each pair.

use super::isa::IsaName;
use super::scalar::Exact;
use super::sink::{ExponentRule, RoundMethod, looks_up_integers};
use crate::bits::format::FloatFormat;
use crate::bits::reference::{EncodeE8m0, EncodeFloat};
use crate::types::conversion::{Conversion, Encode, needs_subnormals};
use crate::types::element::{BFLOAT16, BINARY16, BINARY32, BINARY64, Kind};

/// What a source's codes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceKind {
    Bool,
    Int {
        bits: u32,
        signed: bool,
    },
    /// A float of at most 8 bits.
    SmallFloat(FloatFormat),
    /// IEEE's binary16, and whether the sink can tell its subnormals apart.
    F16 {
        subnormals: bool,
    },
    Bf16,
    F32,
    F64,
    /// A float that has no source of its own.
    OtherFloat(FloatFormat),
}

/// What the sink makes of the source's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SinkKind {
    Copy,
    ClampInfinity,
    Bool,
    /// The low bits of integers. A wider destination gets copies of the sign above them, or zeros from unsigned
    /// sources.
    LowBits {
        bits: u32,
    },
    /// The low `bits` bits, at most 16, of the integer parts of floats.
    Truncate {
        bits: u32,
    },
    /// The integer parts of floats, limited to between `-below` and `above`.
    Clamp {
        bits: u32,
        below: u16,
        above: u16,
    },
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
}

/// How a pair is cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// The codes are the same.
    Copy,
    /// Source and sink in the lanes of the instruction set.
    Lanes,
    /// On AVX-512, source and sink in AVX2's lanes.
    LanesAvx2,
    /// Source and sink in the lanes of the instruction set. Rounding takes place in 16-bit lanes, at 1.3 times the
    /// speed of [`Lanes`](Self::Lanes) in the mean of its pairs and at up to 2.9 times. On AVX-512, DOUBLE is
    /// rounded to odd for it first, and so is FLOAT to 4 bits; to more bits that is slower.
    RoundF16(ExponentRule),
    /// 16-bit integers in AVX-512's lanes of 16 bits.
    ShiftInteger,
    /// The processor's own conversion to FLOAT16. Beside [`Lanes`](Self::Lanes) in the caches it has 1.5 to 2.4 times the speed with
    /// AVX-512, 1.15 to 2.0 times with AVX2.
    ConvertF16,
    /// A function of one element. The compiler vectorises its loop with the vectors of the instruction set.
    Elements,
    /// A table of 256 entries in memory.
    MemoryTable,
    /// Tables of 16 entries in registers, which both halves of each source byte are looked up in.
    NibbleTable,
    /// Tables of 16 entries in AVX2's registers.
    ShuffleTable,
    /// A table of 256 entries in AVX-512's registers.
    RegisterTable,
    /// The reference, code by code, for formats that no other method handles.
    Reference,
}

impl SourceKind {
    pub(crate) fn new(conversion: &Conversion) -> Self {
        let bits = conversion.from.code_bits();
        match conversion.from.kind() {
            Kind::Bool => Self::Bool,
            Kind::Int { signed } => Self::Int { bits, signed },
            Kind::Float(format) => match format {
                _ if bits <= 8 => Self::SmallFloat(format),
                BINARY16 => Self::F16 { subnormals: needs_subnormals(&format, conversion.to) },
                BFLOAT16 => Self::Bf16,
                BINARY32 => Self::F32,
                BINARY64 => Self::F64,
                _ => Self::OtherFloat(format),
            },
            Kind::String => unreachable!("conversions are of numbers"),
        }
    }

    pub(crate) fn bits(&self) -> u32 {
        match self {
            Self::Int { bits, .. } => *bits,
            _ => self.format().map_or(8, |format| format.bits()),
        }
    }

    /// All bits but the sign of a float; all bits of others.
    pub(crate) fn magnitude_mask(&self) -> u64 {
        self.format().map_or(u64::MAX, |format| format.magnitude_mask())
    }

    /// The format of a float.
    pub(crate) fn format(&self) -> Option<FloatFormat> {
        match self {
            Self::Bool | Self::Int { .. } => None,
            Self::SmallFloat(format) | Self::OtherFloat(format) => Some(*format),
            Self::F16 { .. } => Some(BINARY16),
            Self::Bf16 => Some(BFLOAT16),
            Self::F32 => Some(BINARY32),
            Self::F64 => Some(BINARY64),
        }
    }
}

impl SinkKind {
    pub(crate) fn new(conversion: &Conversion) -> Self {
        let bits = conversion.to.code_bits();
        let from_int = matches!(conversion.from.kind(), Kind::Int { .. } | Kind::Bool);
        match conversion.encode {
            Encode::Copy => Self::Copy,
            Encode::ClampInfinity { .. } => Self::ClampInfinity,
            Encode::Bool => Self::Bool,
            Encode::Int(_) | Encode::Int64 { .. } if from_int => Self::LowBits { bits },
            Encode::Int(to) => match to.clamp {
                Some((below, above)) => Self::Clamp { bits, below: below as u16, above: above as u16 },
                None if bits <= 16 => Self::Truncate { bits },
                None if to.wide => Self::Uint32,
                None => Self::Int32,
            },
            Encode::Int64 { signed } => Self::Int64 { signed },
            Encode::Float(to) => Self::Round(to),
            Encode::E8m0(to) => Self::E8m0(to),
            Encode::F32 => Self::F32,
            Encode::F64 => Self::F64,
        }
    }

    pub(crate) fn bits(&self) -> Option<u32> {
        match self {
            Self::Copy | Self::ClampInfinity => None,
            Self::Bool | Self::E8m0(_) => Some(8),
            Self::LowBits { bits } | Self::Truncate { bits } | Self::Clamp { bits, .. } => Some(*bits),
            Self::Int32 | Self::Uint32 | Self::F32 => Some(32),
            Self::Int64 { .. } | Self::F64 => Some(64),
            Self::Round(to) => Some(to.bits),
        }
    }
}

/// The method of a pair.
pub(crate) fn method(source: SourceKind, sink: SinkKind, isa: IsaName) -> Method {
    match (source, sink) {
        (_, SinkKind::Copy) => Method::Copy,
        (SourceKind::OtherFloat(_), _) => Method::Reference,
        (SourceKind::Bool, SinkKind::Bool | SinkKind::LowBits { bits: 8.. } | SinkKind::F32 | SinkKind::F64) => {
            Method::Elements
        }
        (SourceKind::Int { bits: 8, .. }, _) => from_int8(sink, isa).unwrap_or_else(|| table(source, sink, isa)),
        // For fewer bits a table is faster.
        (SourceKind::SmallFloat(format), SinkKind::Truncate { bits: 16 })
            if isa == IsaName::Avx2 && format.bits() == 8 && format.is_signed() =>
        {
            Method::Lanes
        }
        _ if source.bits() <= 8 => table(source, sink, isa),
        (_, SinkKind::Round(to)) => round(source, &to, isa),
        _ => computed(source, sink, isa),
    }
}

/// The method from 8-bit integers to destinations that need no rounding.
fn from_int8(sink: SinkKind, isa: IsaName) -> Option<Method> {
    match sink {
        SinkKind::LowBits { bits } if bits < 8 && isa != IsaName::Portable => Some(Method::Lanes),
        SinkKind::LowBits { .. } | SinkKind::Bool | SinkKind::F32 | SinkKind::F64 => Some(Method::Elements),
        SinkKind::Round(to) if Exact::serves(&to) => Some(Method::Elements),
        _ => None,
    }
}

/// The method from codes of at most 8 bits that are looked up.
fn table(source: SourceKind, sink: SinkKind, isa: IsaName) -> Method {
    let to_bits = sink.bits().unwrap_or(source.bits());
    match (isa, source.bits(), to_bits) {
        (IsaName::Portable, ..) => Method::MemoryTable,
        (_, ..=4, ..=8) | (IsaName::Avx2, 4, 16) => Method::NibbleTable,
        (IsaName::Avx512, ..) => Method::RegisterTable,
        _ if fits_16_bits(source, sink) => Method::ShuffleTable,
        _ => Method::MemoryTable,
    }
}

/// Whether 16 bits determine each destination code of a source of at most 8 bits. The upper half of binary32 has eight significant
/// bits, as many as any such source needs, and instructions make DOUBLE and integers of a float's. The other bits of an integer
/// repeat its sign above them.
fn fits_16_bits(source: SourceKind, sink: SinkKind) -> bool {
    match (sink, source) {
        (SinkKind::F32, _) | (SinkKind::F64, SourceKind::SmallFloat(_)) => true,
        // Of larger numbers, four instructions for each 64 bits are slower than a table in memory.
        (SinkKind::Int64 { .. }, SourceKind::SmallFloat(format)) => format.max_exponent() < 31,
        _ => sink.bits().is_none_or(|bits| bits <= 32),
    }
}

/// The method from sources of more than 8 bits to floats of at most 16 bits.
fn round(source: SourceKind, to: &EncodeFloat, isa: IsaName) -> Method {
    let format = match source {
        // AVX-512 rounds them to odd first.
        SourceKind::F64 if isa == IsaName::Avx512 => Some(BFLOAT16),
        SourceKind::F32 if isa == IsaName::Avx512 && to.bits == 4 => Some(BFLOAT16),
        _ => source.format(),
    };
    let rule = format.and_then(|from| ExponentRule::new(&from, to));
    match (rule, RoundMethod::new(to), source) {
        (Some(rule), ..) if isa != IsaName::Portable => Method::RoundF16(rule),
        (_, None, _) => Method::Reference,
        (.., SourceKind::Int { .. }) if isa != IsaName::Portable && to.bits < 8 && !looks_up_integers(to) => {
            Method::Reference
        }
        (_, Some(RoundMethod::Add), _) if isa != IsaName::Portable && [to.bits, to.man] == [16, 10] => {
            Method::ConvertF16
        }
        (_, Some(RoundMethod::Add), SourceKind::Int { bits: 16, .. }) if isa == IsaName::Avx512 && to.bits == 8 => {
            Method::ShiftInteger
        }
        // The destination has binary32's subnormals, so binary32 would already round what binary64 holds below them.
        (_, Some(RoundMethod::Shift), SourceKind::F64) => Method::Elements,
        (_, _, SourceKind::F64) if isa == IsaName::Portable => Method::Elements,
        _ => Method::Lanes,
    }
}

/// The method from sources of more than 8 bits to all other destinations.
fn computed(source: SourceKind, sink: SinkKind, isa: IsaName) -> Method {
    match (sink, source) {
        // AVX2 packs 128 codes at a time, at 1.2 to 1.5 times the speed of AVX-512's lanes.
        (SinkKind::Truncate { bits: ..8 }, SourceKind::F32) if isa == IsaName::Avx512 => Method::LanesAvx2,
        (SinkKind::E8m0(_) | SinkKind::Truncate { .. } | SinkKind::Clamp { bits: 4, .. }, _) => Method::Lanes,
        (SinkKind::Clamp { .. }, _) => Method::Reference,
        _ if isa == IsaName::Portable => Method::Elements,
        (SinkKind::LowBits { bits: ..8 } | SinkKind::Int32, _) => Method::Lanes,
        (SinkKind::F32 | SinkKind::F64, SourceKind::F16 { .. }) => Method::Lanes,
        (SinkKind::Int64 { .. }, SourceKind::F16 { .. } | SourceKind::Bf16 | SourceKind::F32) => Method::Lanes,
        _ => Method::Elements,
    }
}
