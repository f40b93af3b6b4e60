//! `.pb` files: one `TensorProto` of ONNX.
//!
//! Only the message's keys are read. Data that lies in one range, inline or in an external file, stays there until the
//! plan is executed. Data in other typed fields, and strings, are read by [`NamedTensor`].

mod found;

use std::ops::Range;

use wgpu_cast::{CastOptions, ElementType, Kind};

use super::input::ReadAt;
use super::plan::{FilePlan, Part, SourceRange, TensorStorage};
use super::stored::StoredTensor;
#[cfg(any(unix, windows))]
use super::stored::count;
use super::tensor_fields as field;
use super::wire::{WireError, put_bytes, put_length, put_number, put_varint, read_bytes};
#[cfg(any(unix, windows))]
use crate::onnx::open_data;
use crate::onnx::{LONGEST_MESSAGE, MessageError, NamedTensor, TensorFault, data_range, retyped};
use found::{Found, LONGEST_TEXT};

/// Why a `.pb` file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TensorProtoError {
    /// The bytes are not a message.
    #[error("invalid TensorProto: {0}")]
    Wire(#[from] WireError),
    /// The tensor is invalid, or too large for a message.
    #[error("{0}")]
    Tensor(#[from] MessageError),
    /// The element type that the caller gives cannot be that of the codes.
    #[error("contains {found}, which cannot be read as {from}")]
    #[non_exhaustive]
    From {
        /// The element type of the tensor.
        found: ElementType,
        /// The element type that the caller gives.
        from: ElementType,
    },
    /// Elements of the type have no fixed width.
    #[error("{element_type} elements have no fixed width")]
    #[non_exhaustive]
    NoCodes {
        /// The element type.
        element_type: ElementType,
    },
    /// A field has another type than ONNX gives it.
    #[error("invalid TensorProto: the field {field} has an unexpected wire type")]
    #[non_exhaustive]
    FieldType {
        /// The number of the field.
        field: u32,
    },
    /// A field of which there can be one is given twice, or there are too many entries of `external_data`.
    #[error("invalid TensorProto: the field {field} is given twice")]
    #[non_exhaustive]
    Repeated {
        /// The number of the field.
        field: u32,
    },
}

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
    /// The entries of `external_data`.
    external: Vec<Range<u64>>,
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
    /// Reads the message that the whole input is. Protobuf lets writers repeat a field of which there can be one, and
    /// the last one counts. Here a second name or element type is an error.
    ///
    /// # Errors
    /// [`TensorProtoError`] if it is no valid tensor, or not of numbers or strings.
    pub fn read(input: &dyn ReadAt) -> Result<Self, TensorProtoError> {
        let size = input.size().map_err(WireError::from)?;
        if size > LONGEST_MESSAGE as u64 {
            let fault = TensorFault::BeyondMessage { bytes: size };
            return Err(MessageError::Tensor { name: String::new(), fault }.into());
        }
        let found = Found::read(input, 0..size)?;
        let name = found.name.clone().unwrap_or_default();
        found.message(0..size).map_err(|fault| MessageError::Tensor { name, fault }.into())
    }

    /// The tensor of data that lies in one range, of this message or of the external file. `input` is the number of
    /// that input, and `offset` the first byte there. `from` is the type of codes that are stored as unsigned integers
    /// of the same width.
    ///
    /// # Errors
    /// [`TensorProtoError::From`] if the codes cannot be of that type.
    pub fn stored(
        &self,
        input: usize,
        offset: u64,
        from: Option<ElementType>,
    ) -> Result<StoredTensor, TensorProtoError> {
        let storage = TensorStorage::packed(self.codes_of(from)?);
        let (name, shape) = (self.name.clone(), self.shape.clone());
        Ok(StoredTensor { name, shape, input, offset, storage, column_major: false })
    }

    /// The type of the codes.
    fn codes_of(&self, from: Option<ElementType>) -> Result<ElementType, TensorProtoError> {
        let found = self.element_type;
        match from {
            Some(from) if from != found => {
                let is_raw = found.kind() == Kind::Int { signed: false } && found.bits() == from.bits();
                if is_raw { Ok(from) } else { Err(TensorProtoError::From { found, from }) }
            }
            _ => Ok(found),
        }
    }

    /// The relative path of the file of external data, as the message gives it; empty if it gives none.
    ///
    /// # Errors
    /// [`TensorProtoError`] if the entries of `external_data` are invalid.
    pub fn external_file(&self, input: &dyn ReadAt) -> Result<String, TensorProtoError> {
        let failed = |fault| MessageError::Tensor { name: self.name.clone(), fault };
        let range = data_range(&self.entries(input)?).map_err(failed)?;
        Ok(range.location.unwrap_or_default())
    }

    /// The entries of `external_data`.
    fn entries(&self, input: &dyn ReadAt) -> Result<Vec<bytes::Bytes>, TensorProtoError> {
        let read = |range| read_bytes(input, range, LONGEST_TEXT).map(bytes::Bytes::from);
        Ok(self.external.iter().map(read).collect::<Result<_, _>>()?)
    }

    /// Opens the file of external data. Returns it with the first byte of the data. `path` is the path of the message's
    /// file, or of its folder alone, with the rules of [`ModelScan::open_external`](super::ModelScan::open_external).
    ///
    /// # Errors
    /// [`TensorProtoError`] if the file is not a regular file inside the folder, or does not have the data, and if
    /// `path` does not exist.
    #[cfg(any(unix, windows))]
    pub fn open_external(
        &self,
        input: &dyn ReadAt,
        path: &std::path::Path,
    ) -> Result<(super::input::InputFile, u64), TensorProtoError> {
        let entries = self.entries(input)?;
        let expected = count(&self.shape).and_then(|elements| self.element_type.packed_bytes(elements));
        let failed = |fault| MessageError::Tensor { name: self.name.clone(), fault };
        let data = open_data(&entries, path, expected.unwrap_or(u64::MAX)).map_err(failed)?;
        Ok((super::input::InputFile::new(data.file), data.offset))
    }

    /// Reads the tensor into memory. External data is not read.
    ///
    /// # Errors
    /// As [`NamedTensor::from_bytes`].
    pub fn read_tensor(&self, input: &dyn ReadAt, from: Option<ElementType>) -> Result<NamedTensor, TensorProtoError> {
        let wanted = self.codes_of(from)?;
        let bytes = read_bytes(input, &self.message, LONGEST_MESSAGE as u64)?;
        let NamedTensor { name, tensor } = NamedTensor::from_bytes(bytes, None)?;
        let tensor = if wanted == tensor.element_type() {
            tensor
        } else {
            retyped(tensor, wanted).map_err(MessageError::from)?
        };
        Ok(NamedTensor { name, tensor })
    }
}

/// A `.pb` file of a tensor that is cast to another type of numbers. Codes that have the type already stay as they are,
/// whatever the options. `kept` are further fields of a message, which are copied: [`TensorMessage::kept`].
///
/// # Errors
/// [`MessageError::Tensor`] if the message would exceed 2 GiB, or a size overflows; [`TensorProtoError::NoCodes`] if `to` is STRING.
pub fn tensor_proto_plan(
    tensor: &StoredTensor,
    to: ElementType,
    options: &CastOptions,
    kept: &[SourceRange],
) -> Result<FilePlan, TensorProtoError> {
    if !to.is_numeric() {
        return Err(TensorProtoError::NoCodes { element_type: to });
    }
    let failed = |fault| TensorProtoError::from(MessageError::Tensor { name: tensor.name.clone(), fault });
    let dims: Vec<i64> = tensor.shape.iter().map(|&dim| i64::try_from(dim).unwrap_or(i64::MAX)).collect();
    let too_large = || failed(TensorFault::TooLarge { dims: dims.clone() });
    if tensor.shape.iter().any(|&dim| i64::try_from(dim).is_err()) {
        return Err(too_large());
    }
    let data = tensor.part(TensorStorage::packed(to), options).ok_or_else(too_large)?;
    let mut header = Vec::new();
    if !tensor.shape.is_empty() {
        let mut packed = Vec::new();
        tensor.shape.iter().for_each(|&dim| put_varint(&mut packed, dim));
        put_bytes(&mut header, field::DIMS, &packed);
    }
    put_number(&mut header, field::DATA_TYPE, to.onnx_code() as u64);
    if !tensor.name.is_empty() {
        put_bytes(&mut header, field::NAME, tensor.name.as_bytes());
    }
    put_length(&mut header, field::RAW_DATA, data.bytes().ok_or_else(too_large)?);
    let kept = kept.iter().map(|&range| Part::Copy(range));
    let plan = FilePlan { parts: [Part::Bytes(header), data].into_iter().chain(kept).collect() };
    let bytes = plan.bytes().unwrap_or(u64::MAX);
    if bytes > LONGEST_MESSAGE as u64 {
        return Err(failed(TensorFault::BeyondMessage { bytes }));
    }
    Ok(plan)
}
