//! Replaces an infinite result of a finite value by the largest finite number of the type, with the same sign.

use wgpu_cast::{ElementType, FloatFormat, Kind};

use crate::repack::code_bits;

/// Whether clamping can change a cast between these types. Casts to FLOAT16, BFLOAT16 and FLOAT make large values
/// infinite, and no option of ONNX Cast changes that. No value of another type is beyond the range of DOUBLE.
pub(super) fn can_clamp(from: ElementType, to: ElementType) -> bool {
    from != to && matches!(to, ElementType::FLOAT16 | ElementType::BFLOAT16 | ElementType::FLOAT)
}

/// Replaces ±∞ in the packed codes `result` by the largest finite number with the same sign where the packed code in
/// `source` is finite.
pub(super) fn clamp(from: ElementType, source: &[u8], to: ElementType, result: &mut [u8]) {
    let (true, Kind::Float(to)) = (can_clamp(from, to), to.kind()) else { return };
    let from_format = match from.kind() {
        Kind::Float(format) => Some(format),
        _ => None,
    };
    // In casts between other widths, no finite value is beyond the range of the result.
    match (code_bits(from), to.bits()) {
        (8, 16) => replace::<1, 2>(source, from_format, result, to),
        (16, 16) => replace::<2, 2>(source, from_format, result, to),
        (32, 16) => replace::<4, 2>(source, from_format, result, to),
        (64, 16) => replace::<8, 2>(source, from_format, result, to),
        (64, 32) => replace::<8, 4>(source, from_format, result, to),
        _ => {}
    }
}

fn replace<const S: usize, const R: usize>(
    source: &[u8],
    from: Option<FloatFormat>,
    result: &mut [u8],
    to: FloatFormat,
) {
    let infinity_of_source = from.and_then(|format| format.infinity());
    let mask_of_source = from.map_or(u64::MAX, |format| format.magnitude_mask());
    let (infinity, mask) = (to.infinity(), to.magnitude_mask());
    for (source, result) in source.as_chunks::<S>().0.iter().zip(result.as_chunks_mut::<R>().0) {
        let code = number(result);
        if Some(code & mask) == infinity && Some(number(source) & mask_of_source) != infinity_of_source {
            // The code of the largest finite number is the code of infinity less 1. The sign bit stays.
            result.copy_from_slice(&(code - 1).to_le_bytes()[..R]);
        }
    }
}

/// A little-endian code of at most 8 bytes.
fn number<const N: usize>(code: &[u8; N]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..N].copy_from_slice(code);
    u64::from_le_bytes(bytes)
}
