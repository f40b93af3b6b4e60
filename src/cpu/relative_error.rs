//! The largest relative error of the values that a cast rounds.

use super::any_length::AnyLength;
use super::code_cast::{CodeBits, CodeCast};
use super::convert::CHUNK;
use super::count::LossCounter;
use super::isa::Isa;
use super::loops::loop_of;
use crate::bits::float_env::with_default_modes;
use crate::bits::packing::read_code;
use crate::bits::threads::max_of_chunks;
use crate::types::conversion::Conversion;
use crate::types::element::{ElementType, Kind};
use crate::types::error::Error;
use crate::types::loss::{Loss, lost_codes};
use crate::types::options::CastOptions;

/// The number of elements that are compared at a time. They fill whole bytes.
const BLOCK: usize = 1024;

/// The largest relative error of `len` elements, given their packed codes before and after the cast.
pub(super) fn largest(conversion: &Conversion, source: &[u8], len: usize, result: &[u8]) -> Result<f64, Error> {
    let [from, to] = [conversion.from, conversion.to];
    let is_float = |element_type: ElementType| matches!(element_type.kind(), Kind::Float(_));
    if to == ElementType::BOOL || !(is_float(from) || is_float(to)) {
        // A cast to BOOL only tests for zero, and a cast between integers does not round.
        return Ok(0.0);
    }
    let comparison = with_default_modes(|| Comparison::new(conversion, Isa::best()))?;
    let largest = max_of_chunks(source, result, [from, to].map(bytes), |index, source, result| {
        with_default_modes(|| comparison.largest(source, result, (len - index * CHUNK).min(CHUNK)))
    });
    Ok(f64::from_bits(largest))
}

/// The bytes of [`CHUNK`] elements.
fn bytes(element_type: ElementType) -> usize {
    CHUNK * element_type.code_bits() as usize / 8
}

/// Compares the elements before and after a cast.
struct Comparison {
    isa: Isa,
    from: ElementType,
    /// The size of a block in bytes, before and after the cast.
    block: [usize; 2],
    /// The source codes beyond the range of the destination type, whose errors are not counted.
    beyond: LossCounter,
    /// The casts to DOUBLE, from the source type and from the destination type.
    loops: [&'static AnyLength; 2],
}

impl Comparison {
    fn new(conversion: &Conversion, isa: Isa) -> Result<Self, Error> {
        let (from, types) = (conversion.from, [conversion.from, conversion.to]);
        let mut beyond = lost_codes(conversion);
        beyond.retain(|lost| matches!(lost.loss, Loss::Saturated | Loss::OutOfRange));
        let beyond = LossCounter::of(beyond, &CodeCast::packed(*conversion), isa);
        let to_double = |from| Conversion::new(from, ElementType::DOUBLE, &CastOptions::default());
        let loops =
            [to_double(types[0])?, to_double(types[1])?].map(|double| loop_of(&double, CodeBits::packed(&double), isa));
        let block = types.map(|element_type| BLOCK * element_type.code_bits() as usize / 8);
        Ok(Self { isa, from, block, beyond, loops })
    }

    /// The bits of the largest relative error of `len` elements.
    fn largest(&self, source: &[u8], result: &[u8], len: usize) -> u64 {
        let mut values = [[0f64; BLOCK]; 2];
        let blocks = source.chunks(self.block[0]).zip(result.chunks(self.block[1])).enumerate();
        let errors = blocks.map(|(block, (source, result))| {
            let len = (len - block * BLOCK).min(BLOCK);
            let [before, after] = values.each_mut().map(|values| &mut values[..len]);
            self.loops[0].convert(source, bytemuck::cast_slice_mut(before));
            self.loops[1].convert(result, bytemuck::cast_slice_mut(after));
            if self.beyond.count(source, len).total() > 0 {
                let bits = self.from.code_bits();
                let is_beyond = |index| self.beyond.contains(read_code(source, bits, index));
                // The value 0 has no error.
                let beyond = before.iter_mut().enumerate().filter(|(index, _)| is_beyond(*index));
                beyond.for_each(|(_, value)| *value = 0.0);
            }
            match self.from.kind() {
                Kind::Int { signed } if self.from.code_bits() == 64 => {
                    largest_of_integers(source, signed, before, after)
                }
                _ => largest_of_values(self.isa, before, after),
            }
        });
        errors.max().unwrap_or(0)
    }
}

/// The bits of the largest relative error below 1. An error that is not below 1 is not counted: the value is 0,
/// infinite or NaN before or after the cast. Errors are compared by their bits: positive numbers are in the order of their
/// bits, and infinities and NaNs are above 1.
fn largest_of_values(isa: Isa, before: &[f64], after: &[f64]) -> u64 {
    let mut largest = 0;
    isa.run(
        #[inline(always)]
        || {
            for (before, after) in before.iter().zip(after) {
                let error = ((after - before) / before).abs().to_bits();
                largest = largest.max(if error < 1f64.to_bits() { error } else { 0 });
            }
        },
    );
    largest
}

/// As [`largest_of_values`], for integers that binary64 does not hold exactly. The results of their casts are integers,
/// too.
fn largest_of_integers(source: &[u8], is_signed: bool, before: &[f64], after: &[f64]) -> u64 {
    let (codes, _) = source.as_chunks();
    let errors = codes.iter().zip(before.iter().zip(after)).map(|(&code, (before, after))| {
        let value = if is_signed { i64::from_le_bytes(code).into() } else { i128::from(u64::from_le_bytes(code)) };
        if *before == 0.0 || !after.is_finite() {
            return 0.0;
        }
        (*after as i128 - value).unsigned_abs() as f64 / value.unsigned_abs() as f64
    });
    errors.map(f64::to_bits).max().unwrap_or(0)
}
