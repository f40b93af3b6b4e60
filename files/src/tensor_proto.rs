//! `.pb` files: one `TensorProto` of ONNX.
//!
//! Only the fields that describe the tensor are read. Data that lies in one range, in the message or in an external file,
//! stays there until the plan is executed. Strings, and numbers in typed fields that must be decoded, are read by
//! [`NamedTensor`].

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

/// A `TensorProto` without its data.
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
    /// Where the message lies in the input.
    message: Range<u64>,
    external: Option<ExternalRange>,
}

/// Where the data of a `TensorProto` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TensorData {
    /// Packed codes in one range of the message. The number is the first byte in the input.
    Inline(u64),
    /// In another file, which [`TensorMessage::open_external`] opens.
    External,
    /// In a field that [`TensorMessage::read_tensor`] reads.
    Fields,
}

impl TensorMessage {
    /// Reads a message, which is the whole input, by the rules of [`NamedTensor::from_bytes`]. The values are not read.
    ///
    /// # Errors
    /// [`FileCause::Malformed`] if it is not a valid tensor; [`FileCause::Unsupported`] for an element type that casts do
    /// not have, for segments, for more than 64 dimensions, and for a name of more than 1 MiB; [`FileCause::TooLarge`];
    /// [`FileCause::OutsideFolder`]; [`FileCause::Read`]; [`FileCause::OutOfMemory`].
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

    /// The tensor, whose data lies in one range of the message or of the external file. `input` is the index of the file
    /// with the data among the inputs of the plan, and `offset` is the first byte there. Some writers store codes of
    /// another type as unsigned integers of the same width; `from` is then the type of the codes.
    ///
    /// # Errors
    /// [`FileCause::ElementTypeContradicted`] if `from` is neither the element type of the message nor stored as it.
    pub fn stored(&self, input: usize, offset: u64, from: Option<ElementType>) -> Result<StoredTensor, FileError> {
        let storage = TensorStorage::packed(self.codes_of(from)?);
        let (name, shape) = (self.name.clone(), self.shape.clone());
        Ok(StoredTensor { name, shape, input, offset, storage, column_major: false })
    }

    /// The type of the codes: `from`, if the message can store it as its own element type.
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

    /// The relative path of the file of external data, as the message gives it; empty without external data.
    pub fn external_file(&self) -> &str {
        self.external.as_ref().map_or("", |range| &range.location)
    }

    /// Opens the file of external data. Returns the file, and the offset of the data in it. `path` is the path of the
    /// message's file, or of its folder. The rules are those of
    /// [`ModelScan::open_external`](super::ModelScan::open_external).
    ///
    /// # Errors
    /// [`FileCause::OutsideFolder`] if the file is not inside the folder; [`FileCause::Malformed`] if the message has no
    /// external data, if the file is not a regular file, or if the file is too short; [`FileCause::ModelPath`] if `path`
    /// cannot be resolved; [`FileCause::Read`].
    #[cfg(any(unix, windows))]
    pub fn open_external(&self, path: &std::path::Path) -> Result<(super::input::InputFile, u64), FileError> {
        let failed = |error: FileError| error.of_tensor(&self.name);
        let range = self.external.as_ref().ok_or_else(|| failed(TensorFault::NoLocation.into()))?;
        let (file, size) = crate::onnx::open(&range.location, path).map_err(failed)?;
        let expected = count(&self.shape).and_then(|elements| self.element_type.packed_bytes(elements));
        range.bytes_in(size, expected).map_err(failed)?;
        Ok((super::input::InputFile::new(file), range.offset))
    }

    /// Reads the tensor into memory. `input` is the input that the message was read from, and `from` is as in
    /// [`stored`](Self::stored). External data is not read.
    ///
    /// # Errors
    /// Those of [`NamedTensor::from_bytes`] without a path: [`FileCause::FolderNeeded`] for external data. Those of
    /// [`stored`](Self::stored).
    pub fn read_tensor(&self, input: &dyn ReadAt, from: Option<ElementType>) -> Result<NamedTensor, FileError> {
        let wanted = self.codes_of(from)?;
        let read = NamedTensor::read(input, self.message.clone(), None)?;
        let NamedTensor { name, tensor } = read;
        let tensor = if wanted == tensor.element_type() { tensor } else { retyped(tensor, wanted)? };
        Ok(NamedTensor { name, tensor })
    }
}

/// A `.pb` file of a tensor, cast to `to`. A tensor that has this type already keeps its codes, whatever the options.
/// `kept` are ranges of further fields, such as [`TensorMessage::kept`], which are copied behind the data.
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
