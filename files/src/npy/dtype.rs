//! The dtypes of numpy and ml_dtypes, and their element types.

use wgpu_cast::ElementType;

use super::NpyElements;
use super::strings::{Characters, StringLayout};
use crate::error::{FileCause, FileError, PlanFault};
use crate::plan::{CodeStorage, TensorStorage};
use crate::repack::code_bits;

/// The types that have a dtype of their own: kind, size in bytes, element type. They are numpy's types, and FLOAT8E5M2:
/// of the types of ml_dtypes, only this one is not written as raw bytes.
const OWN: [(char, u64, ElementType); 13] = [
    ('b', 1, ElementType::BOOL),
    ('i', 1, ElementType::INT8),
    ('i', 2, ElementType::INT16),
    ('i', 4, ElementType::INT32),
    ('i', 8, ElementType::INT64),
    ('u', 1, ElementType::UINT8),
    ('u', 2, ElementType::UINT16),
    ('u', 4, ElementType::UINT32),
    ('u', 8, ElementType::UINT64),
    ('f', 1, ElementType::FLOAT8E5M2),
    ('f', 2, ElementType::FLOAT16),
    ('f', 4, ElementType::FLOAT),
    ('f', 8, ElementType::DOUBLE),
];

/// The kinds of dtypes that have no element type, in words for an error.
const UNSUPPORTED: [(char, &str); 6] = [
    ('c', "complex numbers"),
    ('W', "complex numbers of ml_dtypes"),
    ('M', "datetime64"),
    ('m', "timedelta64"),
    ('O', "Python objects"),
    ('f', "a float that ONNX does not have"),
];

/// The size of one element in the file, in bytes.
fn element_bytes(element_type: ElementType) -> u64 {
    element_type.bits().unwrap_or(0).div_ceil(8).into()
}

/// The elements of an array of this dtype. `from` is the element type that the caller gives.
pub(super) fn elements(dtype: &str, from: Option<ElementType>) -> Result<NpyElements, FileError> {
    let unsupported = |what| FileError::from(FileCause::DtypeNotSupported { dtype: dtype.to_owned(), what });
    if dtype.starts_with('[') {
        return Err(unsupported("it has several fields"));
    }
    let needed = |bytes, given| FileError::from(FileCause::ElementTypeNeeded { dtype: dtype.to_owned(), bytes, given });
    let mut characters = dtype.chars();
    let order = characters.next().filter(|order| "<>|".contains(*order)).ok_or_else(|| unsupported("unknown"))?;
    let kind = characters.next().ok_or_else(|| unsupported("unknown"))?;
    let bytes = characters.as_str().parse::<u64>().ok();
    let big_endian = order == '>';
    let own = OWN.iter().find(|row| row.0 == kind && Some(row.1) == bytes).map(|row| row.2);
    let element_type = match (kind, bytes, own, from) {
        ('S' | 'U', Some(length @ 1..), ..) => {
            if let Some(from) = from.filter(|from| *from != ElementType::STRING) {
                return Err(contradicts(dtype, ElementType::STRING, from));
            }
            let characters = match (kind, big_endian) {
                ('S', _) => Characters::Utf8,
                (_, false) => Characters::Utf32Little,
                (_, true) => Characters::Utf32Big,
            };
            return Ok(NpyElements::Strings(StringLayout { characters, length }));
        }
        ('S' | 'U', ..) => return Err(unsupported("strings of no length")),
        (_, _, Some(own), None) => own,
        (_, _, Some(own), Some(from)) if own == from => own,
        ('u' | 'V', Some(bytes), _, Some(from)) if from.is_numeric() && element_bytes(from) == bytes => from,
        ('u' | 'V', Some(bytes), _, Some(from)) if from.is_numeric() => return Err(needed(bytes, Some(from))),
        (_, _, Some(own), Some(from)) => return Err(contradicts(dtype, own, from)),
        ('V', Some(_), None, Some(from)) => {
            return Err(PlanFault::Kind { wanted: "a type of numbers", found: from }.into());
        }
        ('V', Some(bytes), None, None) => return Err(needed(bytes, None)),
        _ => {
            let what = UNSUPPORTED.iter().find(|row| row.0 == kind).map_or("unknown", |row| row.1);
            return Err(unsupported(what));
        }
    };
    let codes = match code_bits(element_type) {
        bits if bits < 8 => CodeStorage::OnePerByte,
        bits if bits > 8 && big_endian => CodeStorage::BigEndian,
        _ => CodeStorage::Packed,
    };
    Ok(NpyElements::Numbers(TensorStorage { element_type, codes }))
}

fn contradicts(dtype: &str, found: ElementType, given: ElementType) -> FileError {
    FileCause::ElementTypeContradicted { dtype: Some(dtype.to_owned()), found, given }.into()
}

/// The dtype for this type of numbers. It is the one that numpy or ml_dtypes writes, except for FLOAT8E5M2, which is raw
/// bytes ([`npy_plan`](super::npy_plan) says why).
pub(super) fn of(element_type: ElementType) -> String {
    let own =
        OWN.iter().find(|row| row.2 == element_type && row.2 != ElementType::FLOAT8E5M2).map(|row| (row.0, row.1));
    let (kind, bytes) = own.unwrap_or(('V', element_bytes(element_type)));
    // numpy writes `|` (no byte order) for its own types of one byte. ml_dtypes writes `<` for all of its types.
    let order = if bytes == 1 && "biu".contains(kind) { '|' } else { '<' };
    format!("{order}{kind}{bytes}")
}

/// How `.npy` files that are written store elements of this type of numbers.
pub(super) fn storage(element_type: ElementType) -> TensorStorage {
    let codes = if element_type.bits() < Some(8) { CodeStorage::OnePerByte } else { CodeStorage::Packed };
    TensorStorage { element_type, codes }
}
