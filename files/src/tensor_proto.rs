//! `.pb` files: one `TensorProto` of ONNX.
//!
//! Only the message's keys are read. Data that lies in one range, inline or in an external file, stays there until the
//! plan is executed. Data in other typed fields, and strings, are read by [`NamedTensor`].

use std::ops::Range;

use wgpu_cast::{CastOptions, ElementType, Kind};

use super::error::{FileCause, FileError, PlanFault, TensorFault};
use super::input::{ReadAt, size_of};
use super::plan::{FilePlan, Part, SourceRange, TensorStorage};
use super::stored::StoredTensor;
#[cfg(any(unix, windows))]
use super::stored::count;
use super::wire::put_length;
use crate::onnx::fields::tensor as field;
use crate::onnx::{ExternalRange, LONGEST_MESSAGE, NamedTensor, TensorHeader, TensorPlace, header_bytes, retyped};

/// A `TensorProto`, as its fields describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorMessage {
    /// The name, which may be empty.
    pub name: String,
    /// The element type.
    pub element_type: ElementType,
    /// The number of elements along each axis; empty for a scalar.
    pub shape: Vec<u64>,
    /// Where the data is.
    pub data: TensorData,
    /// The fields that do not describe the data, such as `doc_string`, as ranges of the input.
    pub kept: Vec<Range<u64>>,
    /// The message in the input.
    message: Range<u64>,
    external: Option<ExternalRange>,
}

/// Where the data of a `TensorProto` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TensorData {
    /// In one range of the message, from this byte of the input on.
    Inline(u64),
    /// In another file, which [`TensorMessage::open_external`] opens.
    External,
    /// In a field that [`TensorMessage::read_tensor`] reads.
    Fields,
}

impl TensorMessage {
    /// Reads the message that the whole input is, by the rules of [`NamedTensor::from_bytes`]. The values are not read.
    ///
    /// # Errors
    /// [`FileCause::Malformed`] if it is no valid tensor; [`FileCause::Unsupported`] if it is not one of numbers or
    /// strings; [`FileCause::TooLarge`]; [`FileCause::OutsideFolder`]; [`FileCause::Read`].
    pub fn read(input: &dyn ReadAt) -> Result<Self, FileError> {
        let size = size_of(input)?;
        if size > LONGEST_MESSAGE as u64 {
            return Err(PlanFault::BeyondMessage { bytes: size }.into());
        }
        let header = TensorHeader::read(input, 0..size)?;
        let element_type = header.element_type()?;
        let TensorHeader { range: message, name, dims: shape, data, kept, .. } = header;
        let (data, external) = match data {
            TensorPlace::Packed(range) => (TensorData::Inline(range.start), None),
            TensorPlace::External(range) => (TensorData::External, Some(range)),
            TensorPlace::Nowhere | TensorPlace::Field { .. } => (TensorData::Fields, None),
        };
        Ok(Self { name, element_type, shape, data, kept, message, external })
    }

    /// The tensor of data that lies in one range, of this message or of the external file. `input` is the number of
    /// that input, and `offset` the first byte there. `from` is the type of codes that are stored as unsigned integers
    /// of the same width.
    ///
    /// # Errors
    /// [`FileCause::ElementTypeContradicted`] if the codes cannot be of that type.
    pub fn stored(&self, input: usize, offset: u64, from: Option<ElementType>) -> Result<StoredTensor, FileError> {
        let storage = TensorStorage::packed(self.codes_of(from)?);
        let (name, shape) = (self.name.clone(), self.shape.clone());
        Ok(StoredTensor { name, shape, input, offset, storage, column_major: false })
    }

    /// The type of the codes.
    fn codes_of(&self, from: Option<ElementType>) -> Result<ElementType, FileError> {
        let found = self.element_type;
        match from {
            Some(from) if from != found => {
                let is_raw = found.kind() == Kind::Int { signed: false } && found.bits() == from.bits();
                let contradicted = FileCause::ElementTypeContradicted { dtype: None, found, given: from };
                if is_raw { Ok(from) } else { Err(contradicted.into()) }
            }
            _ => Ok(found),
        }
    }

    /// The relative path of the file of external data, as the message gives it; empty if there is none.
    pub fn external_file(&self) -> &str {
        self.external.as_ref().map_or("", |range| &range.location)
    }

    /// Opens the file of external data. Returns it with the first byte of the data. `path` is the path of the message's
    /// file, or of its folder alone, with the rules of [`ModelScan::open_external`](super::ModelScan::open_external).
    ///
    /// # Errors
    /// [`FileCause::OutsideFolder`] if the file is not inside the folder; [`FileCause::Malformed`] if it is no regular file,
    /// or does not have the data; [`FileCause::ModelPath`] if `path` does not exist; [`FileCause::Read`].
    #[cfg(any(unix, windows))]
    pub fn open_external(&self, path: &std::path::Path) -> Result<(super::input::InputFile, u64), FileError> {
        let failed = |error: FileError| error.of_tensor(&self.name);
        let range = self.external.as_ref().ok_or_else(|| failed(TensorFault::NoLocation.into()))?;
        let (file, size) = crate::onnx::open(&range.location, path).map_err(failed)?;
        let expected = count(&self.shape).and_then(|elements| self.element_type.packed_bytes(elements));
        range.bytes_in(size, expected).map_err(failed)?;
        Ok((super::input::InputFile::new(file), range.offset))
    }

    /// Reads the tensor into memory. External data is not read.
    ///
    /// # Errors
    /// As [`NamedTensor::from_bytes`].
    pub fn read_tensor(&self, input: &dyn ReadAt, from: Option<ElementType>) -> Result<NamedTensor, FileError> {
        let wanted = self.codes_of(from)?;
        let read = NamedTensor::read(input, self.message.clone(), None)?;
        let NamedTensor { name, tensor } = read;
        let tensor = if wanted == tensor.element_type() { tensor } else { retyped(tensor, wanted)? };
        Ok(NamedTensor { name, tensor })
    }
}

/// A `.pb` file of a tensor that is cast to another type of numbers. Codes that have the type already stay as they are,
/// whatever the options. `kept` are further fields of a message, which are copied: [`TensorMessage::kept`].
///
/// # Errors
/// [`FileCause::TooLarge`] if the message would exceed 2 GiB, or a size overflows; [`FileCause::Request`] if `to` is
/// STRING.
pub fn tensor_proto_plan(
    tensor: &StoredTensor,
    to: ElementType,
    options: &CastOptions,
    kept: &[SourceRange],
) -> Result<FilePlan, FileError> {
    if !to.is_numeric() {
        return Err(PlanFault::no_numbers(to).into());
    }
    let failed = |fault: TensorFault| FileError::from(fault).of_tensor(&tensor.name);
    let mut header = header_bytes(tensor.shape.iter().copied(), to, &tensor.name).map_err(failed)?;
    let dims = || tensor.shape.iter().map(|&dim| dim as i64).collect();
    let too_large = || failed(TensorFault::TooLarge { dims: dims() });
    let data = tensor.part(TensorStorage::packed(to), options).ok_or_else(too_large)?;
    put_length(&mut header, field::RAW_DATA, data.bytes().ok_or_else(too_large)?);
    let kept = kept.iter().map(|&range| Part::Copy(range));
    let plan = FilePlan { parts: [Part::Bytes(header), data].into_iter().chain(kept).collect() };
    let bytes = plan.bytes().unwrap_or(u64::MAX);
    if bytes > LONGEST_MESSAGE as u64 {
        return Err(FileError::from(PlanFault::BeyondMessage { bytes }).of_tensor(&tensor.name));
    }
    Ok(plan)
}
