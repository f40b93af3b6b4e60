//! Casts of elements that are divided by scales.

use std::sync::{Mutex, PoisonError};

use super::ScaledCast;
use super::pieces::{Numbers, PIECE};
use super::scales::{Rows, Scales};
use crate::bits::float_env::with_default_modes;
use crate::cpu::code_cast::CodeBits;
use crate::cpu::codes::{F32_NAN, F32_SIGN};
use crate::cpu::convert::convert_by;
use crate::cpu::count::LossCounter;
use crate::cpu::isa::Isa;
use crate::cpu::loops::loop_of;
use crate::types::error::{CastFault, Error};
use crate::types::layout::CodeLayout;
use crate::types::loss::LossCounts;
use crate::types::spec::CastSpec;

/// Casts a tensor into preallocated memory as ONNX's QuantizeLinear does to floats: `element / scale` in FLOAT, rounded
/// once, and then cast to the destination type. What the cast from FLOAT loses is counted, as by
/// [`cast_counted`](crate::cpu::cast_counted).
///
/// Types, lengths and addresses are those of [`cast_scaled`](super::cast_scaled), which multiplies again. There are no
/// zero points. Quotients follow IEEE 754, with subnormals, and are rounded to nearest, ties to even. A NaN has the sign
/// of the element that is NaN, or else of the scale that is NaN; 0 / 0 and ∞ / ∞ are the positive NaN.
/// [`docs::semantics`](crate::docs::semantics) has the sources of these rules.
///
/// ```
/// use wgpu_cast::{CastSpec, ElementType, cpu};
///
/// // The scale of a row is its largest magnitude by 448, the largest number of FLOAT8E4M3FN.
/// let rows = [1.75f32, -0.5, 896.0, 64.0].map(f32::to_le_bytes);
/// let scales = cpu::Scales::new(&[2, 2], &[1, 2], &[1.75 / 448.0, 2.0])?;
/// let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT8E4M3FN);
/// let mut codes = [0; 4];
/// let lost = cpu::cast_divided_counted(&spec, &scales, rows.as_flattened(), &mut codes)?;
/// // 448, -128, 448 and 32
/// assert_eq!(codes, [0x7e, 0xf0, 0x7e, 0x60]);
/// assert_eq!(lost.total(), 0);
/// # Ok::<(), wgpu_cast::Error>(())
/// ```
///
/// # Errors
/// As [`cast_scaled`](super::cast_scaled), and [`CastFault::DivisionZeroPoint`] for the first zero point that is not 0.
/// Nothing is written then.
pub fn cast_divided_counted(
    spec: &CastSpec,
    scales: &Scales<'_>,
    source: &[u8],
    destination: &mut [u8],
) -> Result<LossCounts, Error> {
    let cast = ScaledCast::new(spec, scales, [CodeLayout::Packed; 2], [source.len(), destination.len()])?;
    if let Some(index) = scales.zero_points.iter().position(|point| *point != 0) {
        let zero_point = scales.zero_points[index];
        return Err(Error::cast(spec.from, spec.to, CastFault::DivisionZeroPoint { index, zero_point }));
    }
    let lost = Mutex::new(LossCounts::default());
    if cast.elements == 0 {
        return Ok(LossCounts::default());
    }
    let isa = Isa::best();
    let [decode, encode] = [&cast.decode, &cast.encode].map(|cast| loop_of(&cast.conversion, cast.bits, isa));
    let (rows, counter) = (scales.rows(), LossCounter::new(&cast.encode, isa));
    let bits = CodeBits([cast.decode.bits()[0], cast.encode.bits()[1]]);
    let [read, written] = bits.bytes(PIECE);
    convert_by(bits, cast.elements, source, destination, |mut at, source, destination| {
        let (mut numbers, mut counts) = (Numbers([0; 4 * PIECE]), LossCounts::default());
        for (source, destination) in source.chunks(read).zip(destination.chunks_mut(written)) {
            // The last byte of the tensor may have bits after the last code.
            let elements = (source.len() * 8 / bits.0[0] as usize).min(cast.elements - at);
            let numbers = &mut numbers.0[..4 * elements];
            with_default_modes(|| {
                decode.convert(source, numbers);
                divide(scales, &rows, at, numbers);
                encode.convert(numbers, destination);
            });
            counts += counter.count_cast(numbers, destination);
            at += elements;
        }
        *lost.lock().unwrap_or_else(PoisonError::into_inner) += counts;
    });
    Ok(lost.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Replaces each FLOAT by its quotient. The first one is element `at` of the tensor.
fn divide(scales: &Scales<'_>, rows: &Rows, mut at: usize, numbers: &mut [u8]) {
    let mut numbers = numbers.as_chunks_mut::<4>().0;
    while !numbers.is_empty() {
        let (row, within) = (at / rows.len, at % rows.len);
        let in_block = (rows.block - within % rows.block).min(rows.len - within).min(numbers.len());
        let scale = scales.values[rows.first_scale(row) + within / rows.block];
        let (block, rest) = numbers.split_at_mut(in_block);
        for number in block {
            *number = quotient(u32::from_le_bytes(*number), scale).to_le_bytes();
        }
        (numbers, at) = (rest, at + in_block);
    }
}

/// The quotient of any number and any scale. Processors give NaNs of different signs and payloads, so that the NaN is
/// chosen here.
#[inline(always)]
fn quotient(code: u32, scale: f32) -> u32 {
    let quotient = f32::from_bits(code) / scale;
    // 0 / 0 and ∞ / ∞ are positive.
    let of_scale = if scale.is_nan() { scale.to_bits() } else { 0 };
    let sign = if f32::from_bits(code).is_nan() { code } else { of_scale };
    if quotient.is_nan() { sign & F32_SIGN | F32_NAN } else { quotient.to_bits() }
}
