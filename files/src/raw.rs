//! Raw codes: a file that contains only packed codes, in the layout of ONNX's `raw_data`.

use wgpu_cast::{CastOptions, ElementType};

use super::error::{FileCause, FileError, PlanFault};
use super::input::{ReadAt, size_of};
use super::plan::{FilePlan, TensorStorage};
use super::stored::StoredTensor;

/// The codes of a whole input as a tensor of one axis. `index` is the index of this input in the plan. Without
/// `elements`, the tensor has as many elements as the input has room for. Where a code is narrower than a byte, the last
/// of them may be padding.
///
/// # Errors
/// [`FileCause::DataLength`], or [`FileCause::Malformed`] without `elements`, if the size of the input does not match;
/// [`FileCause::TooLarge`] if a size overflows; [`FileCause::Request`] for strings, which have no codes;
/// [`FileCause::Read`] if the input cannot tell its size.
pub fn raw_tensor(
    input: &dyn ReadAt,
    index: usize,
    from: ElementType,
    elements: Option<u64>,
) -> Result<StoredTensor, FileError> {
    let found = size_of(input)?;
    let bits = from.bits().ok_or(PlanFault::no_numbers(from))?;
    let not_whole = || PlanFault::NotWhole { bytes: found, from, bits };
    let count = elements.map_or_else(|| from.elements_in(found).ok_or_else(not_whole), Ok)?;
    let expected = from.packed_bytes(count).ok_or(PlanFault::Elements { elements: count, element_type: from })?;
    match elements {
        Some(elements) if expected != found => {
            Err(FileCause::DataLength { element_type: from, elements, expected, found }.into())
        }
        None if expected != found => Err(not_whole().into()),
        _ => {
            let storage = TensorStorage::packed(from);
            let (name, shape) = (String::new(), vec![count]);
            Ok(StoredTensor { name, shape, input: index, offset: 0, storage, column_major: false })
        }
    }
}

/// A file of the raw codes of a tensor, cast to `to`, in row-major order. A tensor that has this type already keeps its
/// codes, whatever the options.
///
/// # Errors
/// [`FileCause::Request`] if `to` is STRING; [`FileCause::TooLarge`] if a size overflows.
pub fn raw_plan(tensor: &StoredTensor, to: ElementType, options: &CastOptions) -> Result<FilePlan, FileError> {
    if !to.is_numeric() {
        return Err(PlanFault::no_numbers(to).into());
    }
    let elements = tensor.elements().unwrap_or(u64::MAX);
    let part = tensor.part(TensorStorage::packed(to), options);
    Ok(FilePlan { parts: vec![part.ok_or(PlanFault::Elements { elements, element_type: to })?] })
}
