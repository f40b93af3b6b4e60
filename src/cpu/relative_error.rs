//! The largest relative error of the values that a cast rounds.

use super::cast_loop;
use super::count::LossCounter;
use super::isa::Isa;
use super::method::Length;
use crate::conversion::Conversion;
use crate::element::{ElementType, Kind};
use crate::error::Error;
use crate::float_env::with_default_modes;
use crate::loss::{Loss, lost_codes};
use crate::options::CastOptions;
use crate::packing::read_code;

/// The number of elements that are compared at a time. They fill whole bytes.
const BLOCK: usize = 4096;

/// The largest relative error of `len` elements, given their packed codes before and after the cast.
pub(super) fn largest(conversion: &Conversion, source: &[u8], len: usize, result: &[u8]) -> Result<f64, Error> {
    let [from, to] = [conversion.from, conversion.to];
    let is_float = |element_type: ElementType| matches!(element_type.kind(), Kind::Float(_));
    if to == ElementType::BOOL || !(is_float(from) || is_float(to)) {
        // A test, or nothing is rounded.
        return Ok(0.0);
    }
    let isa = Isa::best();
    let mut beyond = with_default_modes(|| lost_codes(conversion));
    beyond.retain(|lost| matches!(lost.loss, Loss::Saturated | Loss::OutOfRange));
    let counter = LossCounter::of(beyond, from.code_bits(), isa);
    let to_double = |from| Conversion::new(from, ElementType::DOUBLE, &CastOptions::default());
    let loops = [to_double(from)?, to_double(to)?]
        .map(|conversion| with_default_modes(|| cast_loop(&conversion, isa, Length::Long)));
    let exact = match from.kind() {
        Kind::Int { signed } if from.code_bits() == 64 => Some(signed),
        _ => None,
    };

    let bytes = |element_type: ElementType| BLOCK * element_type.code_bits() as usize / 8;
    let mut values = [[0f64; BLOCK]; 2];
    let mut largest = 0;
    with_default_modes(|| {
        for (block, (source, result)) in source.chunks(bytes(from)).zip(result.chunks(bytes(to))).enumerate() {
            let len = (len - block * BLOCK).min(BLOCK);
            let [before, after] = &mut values;
            loops[0].convert(source, bytemuck::cast_slice_mut(&mut before[..len]));
            loops[1].convert(result, bytemuck::cast_slice_mut(&mut after[..len]));
            let (before, after) = (&mut before[..len], &after[..len]);
            if counter.count(source, len).total() > 0 {
                // The errors of zeros are not counted.
                let is_beyond = |index| counter.contains(read_code(source, from.code_bits(), index));
                before
                    .iter_mut()
                    .enumerate()
                    .filter(|(index, _)| is_beyond(*index))
                    .for_each(|(_, value)| *value = 0.0);
            }
            largest = largest.max(match exact {
                None => largest_of_values(before, after),
                Some(is_signed) => largest_of_integers(source, is_signed, before, after),
            });
        }
    });
    Ok(f64::from_bits(largest))
}

/// The bits of the largest relative error below 1. From 1 on, a value has become 0 or ±∞. Positive numbers are in the
/// order of their bits, which compilers compare in vectors; infinities and NaNs are above 1.
fn largest_of_values(before: &[f64], after: &[f64]) -> u64 {
    let errors = before.iter().zip(after).map(|(before, after)| ((after - before) / before).abs().to_bits());
    errors.map(|error| if error < 1f64.to_bits() { error } else { 0 }).fold(0, u64::max)
}

/// As [`largest_of_values`], for integers that binary64 does not hold exactly. What they become are integers again.
fn largest_of_integers(source: &[u8], is_signed: bool, before: &[f64], after: &[f64]) -> u64 {
    let (codes, _) = source.as_chunks();
    let errors = codes.iter().zip(before.iter().zip(after)).map(|(&code, (before, after))| {
        let value = if is_signed { i64::from_le_bytes(code).into() } else { i128::from(u64::from_le_bytes(code)) };
        if *before == 0.0 || !after.is_finite() {
            return 0.0;
        }
        (*after as i128 - value).unsigned_abs() as f64 / value.unsigned_abs() as f64
    });
    errors.map(f64::to_bits).filter(|error| *error < 1f64.to_bits()).max().unwrap_or(0)
}
