//! Tables of the numbers of small floats in binary32. Instructions make the destination codes of them.

use super::units;
use crate::cpu::method::{SinkKind, SourceKind};
use crate::cpu::scalar::{f32_to_int32, f64_to_int64};
use crate::types::conversion::Conversion;
use crate::types::element::ElementType;
use crate::types::options::CastOptions;

/// The upper halves of a small float's numbers in binary32, whose other bits are zero, and what an instruction makes of them to
/// get the destination codes. `None` for other sources, and if there is no such instruction.
pub(crate) fn numbers(
    conversion: &Conversion,
    source: SourceKind,
    sink: SinkKind,
) -> Option<(Box<[[u64; 4]; 256]>, SinkKind)> {
    let made_as = match sink {
        SinkKind::F32 | SinkKind::F64 | SinkKind::Int32 | SinkKind::Int64 { signed: true } => sink,
        SinkKind::Uint32 => SinkKind::Int32,
        SinkKind::Int64 { signed: false } => SinkKind::Int64 { signed: true },
        _ => return None,
    };
    if !matches!(source, SourceKind::SmallFloat(_)) {
        return None;
    }
    let upper_halves = Conversion::new(conversion.from, ElementType::BFLOAT16, &CastOptions::default());
    let mut numbers = units(&upper_halves.expect("both are numeric"), 1);
    if made_as != sink {
        // Codes that are 0 (out of range, NaN, multiples of 2³²) get the number 0. All others must be what the instruction
        // to signed integers gives.
        for (number, &[code, ..]) in numbers.iter_mut().zip(&*units(conversion, 1)) {
            if code == 0 {
                number[0] = 0;
            } else if code != signed_integer(made_as, (number[0] as u32) << 16) {
                return None;
            }
        }
    }
    Some((numbers, made_as))
}

/// What the instruction to signed integers makes of a number in binary32.
fn signed_integer(sink: SinkKind, number: u32) -> u64 {
    match sink {
        SinkKind::Int32 => f32_to_int32(number).into(),
        _ => f64_to_int64::<true>(f32::from_bits(number).into()),
    }
}
