//! Raw codes: a file that contains nothing but packed codes, as ONNX's `raw_data`.

use wgpu_cast::{CastOptions, ElementType};

use super::input::ReadAt;
use super::plan::{FilePlan, TensorStorage};
use super::stored::StoredTensor;
use crate::text::counted;

/// Why raw codes cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RawError {
    /// The size of the input cannot be found out.
    #[error("{0}")]
    Read(#[from] std::io::Error),
    /// Strings have no codes.
    #[error("strings have no raw codes")]
    Strings,
    /// The size is no whole number of codes.
    #[error("the file size of {} is not a whole number of {from} codes of {bits} bits", counted(*.bytes, "byte"))]
    #[non_exhaustive]
    NotWhole {
        /// The size in bytes.
        bytes: u64,
        /// The element type.
        from: ElementType,
        /// The width of a code in bits.
        bits: u32,
    },
    /// The size is not that of the given number of elements.
    #[error("{elements} elements of {from} need {}, but the file has {found}", counted(*.expected, "byte"))]
    #[non_exhaustive]
    Length {
        /// The number of elements.
        elements: u64,
        /// The element type.
        from: ElementType,
        /// The size that they need in bytes.
        expected: u64,
        /// The size of the file in bytes.
        found: u64,
    },
    /// The size of so many elements overflows.
    #[error("{elements} elements of {element_type} are too many: their size overflows")]
    #[non_exhaustive]
    TooLarge {
        /// The number of elements.
        elements: u64,
        /// The element type.
        element_type: ElementType,
    },
}

/// The codes of a whole input as a tensor of one axis. Without `elements`, there are as many as the input has room for;
/// that is ambiguous where a code is narrower than a byte.
///
/// # Errors
/// [`RawError`] if the size of the input does not match.
pub fn raw_tensor(
    input: &dyn ReadAt,
    index: usize,
    from: ElementType,
    elements: Option<u64>,
) -> Result<StoredTensor, RawError> {
    let found = input.size()?;
    let bits = from.bits().ok_or(RawError::Strings)?;
    let whole = || from.elements_in(found).ok_or(RawError::NotWhole { bytes: found, from, bits });
    let count = elements.map_or_else(whole, Ok)?;
    let expected = from.packed_bytes(count).ok_or(RawError::TooLarge { elements: count, element_type: from })?;
    match elements {
        Some(elements) if expected != found => Err(RawError::Length { elements, from, expected, found }),
        None if expected != found => Err(RawError::NotWhole { bytes: found, from, bits }),
        _ => {
            let storage = TensorStorage::packed(from);
            let (name, shape) = (String::new(), vec![count]);
            Ok(StoredTensor { name, shape, input: index, offset: 0, storage, column_major: false })
        }
    }
}

/// The raw codes of a tensor that is cast to another type of numbers, in row-major order. Codes that have the type
/// already stay as they are, whatever the options.
///
/// # Errors
/// [`RawError::Strings`] if `to` is STRING; [`RawError::TooLarge`] if a size overflows.
pub fn raw_plan(tensor: &StoredTensor, to: ElementType, options: &CastOptions) -> Result<FilePlan, RawError> {
    if !to.is_numeric() {
        return Err(RawError::Strings);
    }
    let elements = tensor.elements().unwrap_or(u64::MAX);
    let part = tensor.part(TensorStorage::packed(to), options);
    Ok(FilePlan { parts: vec![part.ok_or(RawError::TooLarge { elements, element_type: to })?] })
}
