//! Numbers to strings.

use std::collections::TryReserveError;

use super::{BLOCK_LEN, float16, positional};
use crate::bits::float_env::with_default_modes;
use crate::bits::packing::unpack_words;
use crate::bits::threads::for_each_index;
use crate::types::conversion::Conversion;
use crate::types::element::{ElementType, Kind};
use crate::types::error::{CastFault, Error};
use crate::types::options::CastOptions;
use crate::types::string_array::{CHUNK_LEN, StringArray, StringChunk};
use crate::types::tensor::Tensor;

/// A bound on the bytes of a string. The longest have a sign, "0.", 323 zeros and 17 digits.
const LONGEST: usize = 352;

/// Every element as a string.
///
/// # Errors
/// [`CastFault::OutOfMemory`] if there is no memory for the strings.
pub(crate) fn print(tensor: &Tensor) -> Result<Tensor, Error> {
    use ElementType::{BOOL, DOUBLE, FLOAT, FLOAT16, INT64, UINT64};
    let from = tensor.element_type();
    let (bits, codes) = (from.code_bits(), 1 << from.code_bits().min(8));
    if bits <= 8 && tensor.len() > 2 * codes {
        // There are fewer codes than elements, so each code is printed only once.
        let table = print(&Tensor::from_codes(from, [codes], 0..codes as u64)?)?;
        let table = table.string_array().ok_or_else(|| Error::cast(from, ElementType::STRING, CastFault::NoKernel))?;
        return print_chunks(tensor, None, |text, code| text.push_str(table.get(code as usize & (codes - 1))));
    }
    match from.kind() {
        Kind::Bool => {
            print_chunks(tensor, Some(BOOL), |text, code| text.push_str(["False", "True"][code as usize & 1]))
        }
        Kind::Int { signed: true } => print_chunks(tensor, Some(INT64), |text, code| push_int(text, code as i64)),
        Kind::Int { signed: false } => print_chunks(tensor, Some(UINT64), push_int),
        Kind::Float(_) if from == FLOAT16 => print_chunks(tensor, None, |text, code| push_f16(text, code as u32)),
        Kind::Float(_) if from == DOUBLE => {
            print_chunks(tensor, None, |text, code| push_float(text, f64::from_bits(code)))
        }
        // Every value of the other floats is also a binary32 number.
        Kind::Float(_) => print_chunks(tensor, Some(FLOAT), |text, code| push_float(text, f32::from_bits(code as u32))),
        Kind::String => Ok(tensor.clone()),
    }
}

fn push_int(text: &mut String, value: impl itoa::Integer) {
    text.push_str(itoa::Buffer::new().format(value));
}

fn push_f16(text: &mut String, code: u32) {
    match code & 0x7fff {
        0..0x7c00 => float16::push_finite(text, code),
        0x7c00 => push_infinity(text, code != 0x7c00),
        _ => text.push_str("NaN"),
    }
}

fn push_float<F: zmij::Float + Into<f64> + Copy>(text: &mut String, value: F) {
    let wide = value.into();
    if wide.is_finite() {
        positional::push_finite(text, value);
    } else if wide.is_nan() {
        text.push_str("NaN");
    } else {
        push_infinity(text, wide < 0.0);
    }
}

fn push_infinity(text: &mut String, negative: bool) {
    text.push_str(if negative { "-INF" } else { "INF" });
}

/// Prints every element by `push`, from its code. With `via`, the code is first cast to that type, which must hold
/// every value exactly.
fn print_chunks(
    tensor: &Tensor,
    via: Option<ElementType>,
    push: impl Fn(&mut String, u64) + Sync,
) -> Result<Tensor, Error> {
    let (from, to) = (tensor.element_type(), ElementType::STRING);
    let conversion = via.map(|via| Conversion::new(from, via, &CastOptions::default())).transpose()?;
    let bytes = tensor.packed()?;
    let bits = from.code_bits();
    let size = CHUNK_LEN * bits as usize / 8;
    let chunks = for_each_index(tensor.len().div_ceil(CHUNK_LEN), &|index, text| {
        let rest = &bytes[index * size..];
        let elements = (tensor.len() - index * CHUNK_LEN).min(CHUNK_LEN);
        let codes = Codes { bytes: &rest[..rest.len().min(size)], bits, elements };
        let chunk = with_default_modes(|| print_chunk(&codes, conversion.as_ref(), text, &push));
        let bytes = text.len() as u64;
        chunk.map_err(|_| Error::cast(from, to, CastFault::OutOfMemory { bytes }))
    })?;
    Ok(tensor.with_strings(StringArray::from_chunks(chunks)))
}

/// The packed codes of a chunk.
struct Codes<'a> {
    bytes: &'a [u8],
    bits: u32,
    elements: usize,
}

/// The strings of at most [`CHUNK_LEN`] codes. `text` is scratch memory; it holds the text of the strings afterwards.
fn print_chunk(
    codes: &Codes<'_>,
    conversion: Option<&Conversion>,
    text: &mut String,
    push: impl Fn(&mut String, u64),
) -> Result<StringChunk, TryReserveError> {
    let (mut low, mut high) = ([0; BLOCK_LEN], [0; BLOCK_LEN]);
    let mut ends = Vec::new();
    ends.try_reserve_exact(codes.elements)?;
    text.clear();
    for block in codes.bytes.chunks(BLOCK_LEN * codes.bits as usize / 8) {
        let count = (codes.elements - ends.len()).min(BLOCK_LEN);
        let (low, high) = (&mut low[..count], &mut high[..count]);
        unpack_words(block, codes.bits, low, high);
        if let Some(conversion) = conversion {
            conversion.convert(low, high);
        }
        text.try_reserve(count * LONGEST)?;
        for (&low, &high) in low.iter().zip(high.iter()) {
            push(text, u64::from(low) | u64::from(high) << 32);
            ends.push(text.len());
        }
    }
    StringChunk::new(text, ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(element_type: ElementType, codes: &[u64]) -> Vec<String> {
        let tensor = Tensor::from_codes(element_type, [codes.len()], codes.iter().copied()).unwrap();
        print(&tensor).unwrap().strings().unwrap().map(str::to_owned).collect()
    }

    /// Large tensors use tables and threads; single elements use neither.
    #[test]
    fn large_tensors_print_as_single_elements() {
        for &element_type in ElementType::ALL.iter().filter(|t| t.is_numeric()) {
            let mask = u64::MAX >> (64 - element_type.code_bits());
            let code = |i: u64| (if i < 256 { i } else { i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 64) }) & mask;
            let codes: Vec<u64> = (0..2 * CHUNK_LEN as u64 + 5).map(code).collect();
            let all = strings(element_type, &codes);
            assert_eq!(all.len(), codes.len());
            for (&code, string) in codes.iter().zip(&all) {
                assert_eq!(&strings(element_type, &[code])[0], string, "{element_type} {code:x}");
            }
        }
    }

    #[test]
    fn no_string_is_longer_than_was_reserved() {
        let longest = [f64::MIN, -f64::MIN_POSITIVE, -f64::MIN_POSITIVE.next_down(), -f64::from_bits(1)];
        for string in strings(ElementType::DOUBLE, &longest.map(f64::to_bits)) {
            assert!(string.len() <= LONGEST, "{string}");
        }
    }
}
