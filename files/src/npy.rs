//! `.npy` files: one array of numpy.

mod dtype;
mod header;
mod strings;

use wgpu_cast::{CastOptions, ElementType};

use super::error::{FileCause, FileError, NpyFault, PlanFault};
use super::input::{ReadAt, size_of};
use super::plan::{FilePlan, Part, TensorStorage};
use super::stored::{StoredTensor, count};
use crate::onnx::MOST_DIMS;

pub use header::NpyHeader;
pub use strings::{Characters, StringLayout, write_strings};

/// An array, as the header of a `.npy` file describes it. The versions 1.0, 2.0 and 3.0 of the format are read. numpy's
/// module `numpy.lib.format` documents them.
///
/// The element types of numpy have a dtype of their own. The others have the dtypes that ml_dtypes writes: `<V2` for
/// BFLOAT16 and `<V1` for the rest, with one code per byte. A dtype `V` does not determine the element type, so that the
/// caller must give it. FLOAT8E5M2 may also be `<f1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NpyArray {
    /// The kind of the elements, and their storage.
    pub elements: NpyElements,
    /// The number of elements along each axis; empty for a scalar.
    pub shape: Vec<u64>,
    /// Whether the first axis varies fastest instead of the last one.
    pub column_major: bool,
    /// The first byte of the elements.
    pub data_offset: u64,
}

/// The elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NpyElements {
    /// Numbers, or bools.
    Numbers(TensorStorage),
    /// Strings, which [`NpyArray::read_strings`] reads.
    Strings(StringLayout),
}

/// The order in which the elements of an array are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NpyOrder {
    /// The order in which the input stores them. Nothing is moved: an array in column-major order stays in that order.
    #[default]
    Keep,
    /// In row-major order.
    RowMajor,
}

impl NpyArray {
    /// Reads the header. The dtypes of raw bytes (`V`) need `from`, the element type. Dtypes of unsigned integers may have
    /// it, for codes of the same size. For any other dtype, `from` must be the type of the dtype, or `None`.
    ///
    /// # Errors
    /// Those of [`NpyHeader::read`]; [`FileCause::DtypeNotSupported`]; [`FileCause::ElementTypeNeeded`] and
    /// [`FileCause::ElementTypeContradicted`]; [`FileCause::Request`] if `from` is STRING and the dtype is `V`;
    /// [`FileCause::DataLength`] if the input has another size than the header says; [`FileCause::TooLarge`]. Memory is
    /// allocated only for the header, which has at most 10,000 bytes.
    pub fn read(input: &dyn ReadAt, from: Option<ElementType>) -> Result<Self, FileError> {
        let NpyHeader { dtype, shape, column_major, data_offset } = NpyHeader::read(input)?;
        let elements = dtype::elements(&dtype, from)?;
        let count = count(&shape).ok_or(PlanFault::Size)?;
        let expected = match elements {
            NpyElements::Numbers(storage) => storage.bytes(count),
            NpyElements::Strings(layout) => layout.bytes().and_then(|bytes| bytes.checked_mul(count)),
        };
        let expected = expected.ok_or(PlanFault::Size)?;
        let found = size_of(input)?.saturating_sub(data_offset);
        if found != expected {
            let element_type = match elements {
                NpyElements::Numbers(storage) => storage.element_type,
                NpyElements::Strings(_) => ElementType::STRING,
            };
            return Err(FileCause::DataLength { element_type, elements: count, expected, found }.into());
        }
        Ok(Self { elements, shape, column_major, data_offset })
    }

    /// The tensor of an array of numbers. `input` is the index of the file among the inputs of the plan.
    ///
    /// # Errors
    /// [`FileCause::Request`] for an array of strings.
    pub fn stored(&self, name: &str, input: usize) -> Result<StoredTensor, FileError> {
        let storage = match self.elements {
            NpyElements::Numbers(storage) => storage,
            NpyElements::Strings(_) => return Err(PlanFault::no_numbers(ElementType::STRING).into()),
        };
        let (name, shape) = (name.to_owned(), self.shape.clone());
        Ok(StoredTensor { name, shape, input, offset: self.data_offset, storage, column_major: self.column_major })
    }
}

/// A `.npy` file of a tensor, cast to `to`, in version 1.0 of the format. A tensor that has this type already keeps its
/// codes, whatever the options.
///
/// The dtype is numpy's own, or the one that ml_dtypes writes: `<V2` for BFLOAT16 and `<V1` for the other types that
/// numpy lacks, with one code per byte. There is one exception: for FLOAT8E5M2, ml_dtypes writes `<f1`, which numpy
/// refuses to read, and this function writes `<V1`.
///
/// # Errors
/// [`FileCause::TooLarge`] if a size overflows; [`FileCause::Unsupported`] for more axes than numpy allows (64);
/// [`FileCause::Request`] if `to` is STRING: [`write_strings`] writes strings.
pub fn npy_plan(
    tensor: &StoredTensor,
    to: ElementType,
    options: &CastOptions,
    order: NpyOrder,
) -> Result<FilePlan, FileError> {
    if !to.is_numeric() {
        return Err(PlanFault::no_numbers(to).into());
    }
    if tensor.shape.len() > MOST_DIMS {
        return Err(NpyFault::Axes { limit: MOST_DIMS }.into());
    }
    let keep = order == NpyOrder::Keep && tensor.is_column_major();
    let header = header::bytes(&dtype::of(to), keep, &tensor.shape);
    // With the column-major flag cleared, the part keeps the elements in the order in which they are stored.
    let tensor = StoredTensor { column_major: tensor.column_major && !keep, ..tensor.clone() };
    let part = tensor.part(dtype::storage(to), options).ok_or(PlanFault::Size)?;
    Ok(FilePlan { parts: vec![Part::Bytes(header), part] })
}
