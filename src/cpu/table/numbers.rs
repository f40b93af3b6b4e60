//! Tables of the numbers of small floats in binary32. Instructions convert the numbers to destination codes.

use super::{Entries, entries};
use crate::cpu::code_cast::CodeCast;
use crate::cpu::recipe::kinds::{SinkKind, SourceKind};
use crate::cpu::scalar::{f32_to_int32, f64_to_int64};
use crate::types::conversion::Conversion;
use crate::types::element::ElementType;
use crate::types::options::CastOptions;

/// The upper halves of a small float's numbers in binary32, whose other bits are zero.
pub(super) struct NumberTable {
    pub upper_halves: Box<Entries>,
    pub to: NumberTo,
}

/// The type to which an instruction converts the numbers.
#[derive(Clone, Copy, Debug)]
pub(super) enum NumberTo {
    F32,
    F64,
    Int32,
    Int64,
}

impl NumberTable {
    /// `None` if the source is not a small float, if the sink has no such instruction, and if the instruction gives
    /// other codes.
    pub(super) fn new(source: SourceKind, sink: SinkKind, conversion: &Conversion) -> Option<Self> {
        let (to, signed) = match sink {
            SinkKind::F32 => (NumberTo::F32, true),
            SinkKind::F64 => (NumberTo::F64, true),
            SinkKind::Int32 => (NumberTo::Int32, true),
            SinkKind::Uint32 => (NumberTo::Int32, false),
            SinkKind::Int64 { signed } => (NumberTo::Int64, signed),
            _ => return None,
        };
        if !matches!(source, SourceKind::ShortFloat(_)) {
            return None;
        }
        let upper_halves = Conversion::new(conversion.from, ElementType::BFLOAT16, &CastOptions::default()).ok()?;
        let mut numbers = entries(&CodeCast::packed(upper_halves), 1);
        if !signed {
            // Where the code is 0 (out of range, NaN, multiples of 2³²), the number becomes 0. All other codes must be
            // those that the instruction to signed integers gives.
            for (number, &[code, ..]) in numbers.iter_mut().zip(&*entries(&CodeCast::packed(*conversion), 1)) {
                if code == 0 {
                    number[0] = 0;
                } else if code != to.signed_integer((number[0] as u32) << 16) {
                    return None;
                }
            }
        }
        Some(Self { upper_halves: numbers, to })
    }
}

impl NumberTo {
    /// What the instruction to signed integers makes of a number in binary32.
    fn signed_integer(self, number: u32) -> u64 {
        match self {
            Self::Int32 => f32_to_int32(number).into(),
            _ => f64_to_int64::<true>(f32::from_bits(number).into()),
        }
    }
}
