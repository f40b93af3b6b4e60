//! `TensorProto` to a host tensor and back.

use std::path::Path;

use bytes::Bytes;
use prost::Message;
use wgpu_cast::{ElementType, Error, Kind, Tensor};

use super::external::{self, ExternalFiles, TensorRange};
use super::memory::parse_message;
use super::proto::{EXTERNAL, TensorProto};
use crate::onnx::{MessageError, TensorFault};

/// The maximum size of a protobuf message in bytes: it must be smaller than 2 GiB.
pub const LONGEST_MESSAGE: usize = (1 << 31) - 1;

/// The largest number of dimensions that is read; numpy has the same limit. Every result of a cast has a shape, so
/// that a large one could take much memory many times.
pub(crate) const MOST_DIMS: usize = 64;

/// The first bytes of the fields of data that are written: their numbers and the wire type of bytes.
const STRING_DATA: u8 = 6 << 3 | 2;
const RAW_DATA: u8 = 9 << 3 | 2;

/// A tensor with its name, as in a `TensorProto`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTensor {
    /// The name, which may be empty.
    pub name: String,
    /// The tensor.
    pub tensor: Tensor,
}

impl NamedTensor {
    /// Reads a `TensorProto` (a `.pb` file). The data may be in `raw_data`, in the field of its type, or in an external
    /// file. `path` is the path of the message's file, or of its folder alone. Links are followed: the external file must
    /// be a regular file inside the folder of the message, or if the message's file is a link, inside the folder of the
    /// file that it leads to.
    ///
    /// In `int32_data`, 2- and 4-bit types are packed bytes, and 6-bit types have one code per entry. Negative entries
    /// are valid for signed integers and for floats, whose codes some writers sign-extend. The `checksum` of external
    /// data is not verified. More than 64 dimensions are an error. Do not read from a folder that untrusted users can
    /// write to at the same time.
    ///
    /// # Errors
    /// [`MessageError::Message`] if the bytes are not a `TensorProto`; [`MessageError::Tensor`] if it is invalid. Memory is allocated
    /// only for data that exists.
    pub fn from_bytes(bytes: Vec<u8>, path: Option<&Path>) -> Result<Self, MessageError> {
        let message: TensorProto = parse_message(bytes.into(), "TensorProto")?;
        let tensor = read(&message, &mut ExternalFiles::new(path))?;
        Ok(Self { name: message.name, tensor })
    }

    /// Writes a `TensorProto`, with the data in `raw_data` or `string_data`.
    ///
    /// # Errors
    /// [`MessageError::Tensor`] if the message exceeds 2 GiB, the limit of protobuf messages, if there is no memory for it, or
    /// if the size of an axis exceeds 63 bits.
    pub fn into_bytes(self) -> Result<Vec<u8>, MessageError> {
        let Self { name, tensor } = self;
        let failed = |fault| MessageError::Tensor { name: name.clone(), fault };
        let dims: Vec<i64> = tensor.shape().iter().map(|&dim| i64::try_from(dim).unwrap_or(i64::MAX)).collect();
        if tensor.shape().iter().any(|&dim| i64::try_from(dim).is_err()) {
            return Err(failed(TensorFault::TooLarge { dims }));
        }
        // The data is not in this message, because it would be copied there.
        let data_type = tensor.element_type().onnx_code();
        let header = TensorProto { dims, data_type, name: name.clone(), ..TensorProto::default() };
        let raw = tensor.bytes();
        if raw.is_none() && tensor.element_type().is_numeric() {
            // Something else owns the bytes and has changed their number, which this error tells.
            retyped(tensor.clone(), tensor.element_type())?;
        }
        let strings = || tensor.strings().into_iter().flatten().map(str::as_bytes);
        let field = |data: &[u8]| (1 + prost::length_delimiter_len(data.len()) + data.len()) as u64;
        let bytes = strings().chain(raw).map(field).fold(header.encoded_len() as u64, u64::saturating_add);
        if bytes > LONGEST_MESSAGE as u64 {
            return Err(failed(TensorFault::BeyondMessage { bytes }));
        }
        let mut bytes = encoded(&header, bytes as usize).map_err(|bytes| failed(TensorFault::OutOfMemory { bytes }))?;
        for (key, data) in strings().map(|string| (STRING_DATA, string)).chain(raw.map(|raw| (RAW_DATA, raw))) {
            bytes.push(key);
            let length = prost::encode_length_delimiter(data.len(), &mut bytes);
            debug_assert!(length.is_ok(), "a vector grows");
            bytes.extend_from_slice(data);
        }
        Ok(bytes)
    }
}

/// The bytes of a message, with room for `length` in all. The error is the number of bytes for which there is no
/// memory.
pub(super) fn encoded(message: &impl Message, length: usize) -> Result<Vec<u8>, u64> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).map_err(|_| length as u64)?;
    let written = message.encode(&mut bytes);
    debug_assert!(written.is_ok(), "a vector grows");
    Ok(bytes)
}

/// The same bytes as codes of another type of the same width; they are shared. Strings stay strings.
pub(crate) fn retyped(tensor: Tensor, element_type: ElementType) -> Result<Tensor, Error> {
    let shape = tensor.shape().to_vec();
    match tensor.clone().into_shared() {
        Some(bytes) => Tensor::from_shared(element_type, shape, bytes),
        None => Ok(tensor),
    }
}

/// A tensor from its message.
pub(super) fn read(message: &TensorProto, files: &mut ExternalFiles<'_>) -> Result<Tensor, MessageError> {
    let failed = |fault| MessageError::Tensor { name: message.name.clone(), fault };
    let (header, field) = checked(message).map_err(failed)?;
    header.read(field, message, files).map_err(failed)
}

/// The element type of a tensor whose data is not needed. Everything is checked but the values and external files.
pub(super) fn element_type(message: &TensorProto) -> Result<ElementType, MessageError> {
    let failed = |fault| MessageError::Tensor { name: message.name.clone(), fault };
    checked(message).map(|(header, _)| header.element_type).map_err(failed)
}

/// What type and dims say, and where the data is.
fn checked(message: &TensorProto) -> Result<(Header, Field), TensorFault> {
    let code = message.data_type;
    let element_type = ElementType::from_onnx_code(code).ok_or(TensorFault::DataType { code })?;
    if message.segment.is_some() {
        return Err(TensorFault::Segment);
    }
    let shape = shape(&message.dims)?;
    let too_large = || TensorFault::TooLarge { dims: message.dims.clone() };
    // An axis of size 0 means no elements, even where the product of the other axes would overflow.
    let product = || shape.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim));
    let elements = if shape.contains(&0) { 0 } else { product().ok_or_else(too_large)? as u64 };
    let packed = match element_type.bits() {
        Some(_) => Some(element_type.packed_bytes(elements).ok_or_else(too_large)?),
        None => None,
    };
    let own = own_field(element_type);
    let header = Header { element_type, elements, shape };
    let field = match (data_field(message)?, packed) {
        (None, _) if elements == 0 => Field::Own(own),
        (None, _) => {
            let expected = header.entries();
            return Err(TensorFault::Length { field: own, unit: "entries", expected, found: 0 });
        }
        (Some(("external_data", _)), Some(expected)) => {
            Field::External(external::tensor_range(&message.external_data, expected)?)
        }
        (Some(("raw_data", found)), Some(expected)) => {
            length("raw_data", "bytes", expected, found)?;
            Field::Raw
        }
        (Some((field, _)), _) if field != own => return Err(TensorFault::WrongField { field, element_type }),
        (Some((_, found)), _) => {
            length(own, "entries", header.entries(), found)?;
            Field::Own(own)
        }
    };
    Ok((header, field))
}

/// The field that holds a tensor's data.
enum Field {
    External(TensorRange),
    Raw,
    /// The field of the type.
    Own(&'static str),
}

fn shape(dims: &[i64]) -> Result<Vec<usize>, TensorFault> {
    if dims.len() > MOST_DIMS {
        return Err(TensorFault::Rank { found: dims.len(), limit: MOST_DIMS });
    }
    if let Some((axis, &dim)) = dims.iter().enumerate().find(|(_, dim)| **dim < 0) {
        return Err(TensorFault::NegativeDim { axis, dim });
    }
    let shape = dims.iter().map(|&dim| usize::try_from(dim)).collect::<Result<_, _>>();
    shape.map_err(|_| TensorFault::TooLarge { dims: dims.to_vec() })
}

/// The one field that holds data, if any does, and how many bytes or entries it has.
fn data_field(message: &TensorProto) -> Result<Option<(&'static str, usize)>, TensorFault> {
    if !(0..=EXTERNAL).contains(&message.data_location) {
        return Err(TensorFault::DataLocation { code: message.data_location });
    }
    // External data counts also without an entry.
    let external = usize::from(message.data_location == EXTERNAL) + message.external_data.len();
    let holds = [
        ("external_data", external),
        ("raw_data", message.raw_data.as_ref().map_or(0, Bytes::len)),
        ("float_data", message.float_data.len()),
        ("int32_data", message.int32_data.len()),
        ("string_data", message.string_data.len()),
        ("int64_data", message.int64_data.len()),
        ("double_data", message.double_data.len()),
        ("uint64_data", message.uint64_data.len()),
    ];
    let mut fields = holds.into_iter().filter(|(_, length)| *length > 0);
    match (fields.next(), fields.next()) {
        (Some((first, _)), Some((second, _))) => Err(TensorFault::TwoFields { first, second }),
        (Some(("external_data", _)), None) if message.data_location != EXTERNAL => {
            Err(TensorFault::DataLocation { code: message.data_location })
        }
        (field, _) => Ok(field),
    }
}

/// The field for a type's values, where they are not in `raw_data`.
fn own_field(element_type: ElementType) -> &'static str {
    match (element_type.kind(), element_type.bits()) {
        (Kind::String, _) => "string_data",
        (Kind::Float(_), Some(32)) => "float_data",
        (Kind::Float(_), Some(64)) => "double_data",
        (Kind::Int { signed: true }, Some(64)) => "int64_data",
        (Kind::Int { signed: false }, Some(32 | 64)) => "uint64_data",
        _ => "int32_data",
    }
}

fn length(field: &'static str, unit: &'static str, expected: u64, found: usize) -> Result<(), TensorFault> {
    let found = found as u64;
    if found == expected { Ok(()) } else { Err(TensorFault::Length { field, unit, expected, found }) }
}

/// A STRING tensor, if all is UTF-8.
pub(super) fn texts(shape: Vec<usize>, strings: &[Bytes]) -> Result<Tensor, TensorFault> {
    let dims = shape.iter().map(|&dim| dim as i64).collect();
    let mut invalid = None;
    let texts = strings.iter().enumerate().map_while(|(index, bytes)| {
        std::str::from_utf8(bytes).map_err(|_| invalid = Some(TensorFault::Utf8 { index })).ok()
    });
    let tensor = Tensor::from_strings(shape, texts);
    match invalid {
        Some(fault) => Err(fault),
        None => tensor.map_err(|error| fault(&error, dims)),
    }
}

/// What type and dims say.
struct Header {
    element_type: ElementType,
    elements: u64,
    shape: Vec<usize>,
}

impl Header {
    fn read(self, field: Field, message: &TensorProto, files: &mut ExternalFiles<'_>) -> Result<Tensor, TensorFault> {
        let own = match field {
            Field::Own(own) => own,
            Field::External(range) => {
                return files.tensor(&range, self.element_type, self.elements, self.shape);
            }
            Field::Raw => return self.raw(message.raw_data.as_deref().unwrap_or_default().iter().copied()),
        };
        match own {
            "float_data" => self.codes(message.float_data.iter().map(|value| value.to_bits().into())),
            "double_data" => self.codes(message.double_data.iter().map(|value| value.to_bits())),
            "int64_data" => self.codes(message.int64_data.iter().map(|&value| value as u64)),
            "uint64_data" => {
                self.check(own, message.uint64_data.iter().map(|&value| value.into()))?;
                self.codes(message.uint64_data.iter().copied())
            }
            "string_data" => texts(self.shape, &message.string_data),
            _ => self.int32(&message.int32_data),
        }
    }

    /// Packed bytes, of which there are as many as there must be.
    fn raw(self, values: impl ExactSizeIterator<Item = u8>) -> Result<Tensor, TensorFault> {
        let dims = self.dims();
        let mut bytes = Vec::new();
        let size = values.len();
        bytes.try_reserve_exact(size).map_err(|_| TensorFault::OutOfMemory { bytes: size as u64 })?;
        bytes.extend(values);
        Tensor::from_bytes(self.element_type, self.shape, bytes).map_err(|error| fault(&error, dims))
    }

    /// One code an element.
    fn codes(self, codes: impl ExactSizeIterator<Item = u64>) -> Result<Tensor, TensorFault> {
        let dims = self.dims();
        Tensor::from_codes(self.element_type, self.shape, codes).map_err(|error| fault(&error, dims))
    }

    fn int32(self, values: &[i32]) -> Result<Tensor, TensorFault> {
        if self.element_type == ElementType::BOOL {
            return self.codes(values.iter().map(|&value| (value != 0).into()));
        }
        self.check("int32_data", values.iter().map(|&value| value.into()))?;
        if self.is_packed() {
            return self.raw(values.iter().map(|&value| value as u8));
        }
        self.codes(values.iter().map(|&value| value as u64))
    }

    /// Whether `int32_data` holds packed bytes.
    fn is_packed(&self) -> bool {
        matches!(self.element_type.bits(), Some(2 | 4))
    }

    /// Entries of the type's own field.
    fn entries(&self) -> u64 {
        let packed = if self.is_packed() { self.element_type.packed_bytes(self.elements) } else { None };
        packed.unwrap_or(self.elements)
    }

    /// Whether each value is a code: integers within their range, floats and packed bytes of either signedness.
    fn check(&self, field: &'static str, values: impl Iterator<Item = i128>) -> Result<(), TensorFault> {
        let bits = if self.is_packed() { 8 } else { self.element_type.bits().unwrap_or(0) };
        let (signed, unsigned) = (-(1i128 << (bits - 1))..1i128 << (bits - 1), 0..1i128 << bits);
        let fits = |value: &i128| match self.element_type.kind() {
            Kind::Int { signed: true } if !self.is_packed() => signed.contains(value),
            Kind::Int { signed: false } if !self.is_packed() => unsigned.contains(value),
            _ => signed.contains(value) || unsigned.contains(value),
        };
        match values.enumerate().find(|(_, value)| !fits(value)) {
            Some((index, value)) => Err(TensorFault::Value { field, index, value, element_type: self.element_type }),
            None => Ok(()),
        }
    }

    fn dims(&self) -> Vec<i64> {
        self.shape.iter().map(|&dim| dim as i64).collect()
    }
}

/// The error of making a tensor from data of the right length.
pub(super) fn fault(error: &Error, dims: Vec<i64>) -> TensorFault {
    match error {
        Error::OutOfMemory { bytes, .. } => TensorFault::OutOfMemory { bytes: *bytes },
        _ => TensorFault::TooLarge { dims },
    }
}
