//! `TensorProto` to a host tensor and back.

use std::path::Path;

use bytes::Bytes;
use prost::Message;

use super::external;
use super::proto::{EXTERNAL, TensorProto};
use crate::element::{ElementType, Kind};
use crate::error::{Error, TensorFault};
use crate::tensor::{Tensor, count};

/// The maximum size of a protobuf message in bytes: it must be smaller than 2 GiB.
pub const LONGEST_MESSAGE: usize = (1 << 31) - 1;

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
    /// file inside `folder`, the folder of the message.
    ///
    /// In `int32_data`, 2- and 4-bit types are packed bytes, and 6-bit types have one code per entry. Negative entries
    /// are valid for signed integers and for floats, whose codes some writers sign-extend. The `checksum` of external
    /// data is not verified. Do not read from a folder that untrusted users can write to at the same time.
    ///
    /// # Errors
    /// [`Error::Message`] if the bytes are not a `TensorProto`; [`Error::Tensor`] if it is invalid. Memory is allocated
    /// only for data that exists.
    pub fn from_bytes(bytes: Vec<u8>, folder: Option<&Path>) -> Result<Self, Error> {
        Self::read(parse_message(bytes.into(), "TensorProto")?, folder)
    }

    /// Writes a `TensorProto`, with the data in `raw_data` or `string_data`.
    ///
    /// # Errors
    /// [`Error::Tensor`] if the message exceeds 2 GiB, the limit of protobuf messages, or if the size of an axis
    /// exceeds 63 bits.
    pub fn into_bytes(self) -> Result<Vec<u8>, Error> {
        let name = self.name.clone();
        let message = self.into_proto()?;
        let bytes = message.encoded_len();
        if bytes > LONGEST_MESSAGE {
            return Err(Error::Tensor { name, fault: TensorFault::BeyondMessage { bytes: bytes as u64 } });
        }
        Ok(message.encode_to_vec())
    }

    fn into_proto(self) -> Result<TensorProto, Error> {
        let tensor = self.tensor;
        let dims: Vec<i64> = tensor.shape().iter().map(|&dim| i64::try_from(dim).unwrap_or(i64::MAX)).collect();
        if tensor.shape().iter().any(|&dim| i64::try_from(dim).is_err()) {
            return Err(Error::Tensor { name: self.name, fault: TensorFault::TooLarge { dims } });
        }
        let data_type = tensor.element_type().onnx_code();
        let copied = |string: &str| Bytes::copy_from_slice(string.as_bytes());
        let string_data = tensor.strings().map(|strings| strings.map(copied).collect()).unwrap_or_default();
        let raw_data = match tensor.element_type() {
            ElementType::STRING => None,
            _ => Some(Bytes::from(tensor.into_packed()?)),
        };
        Ok(TensorProto { dims, data_type, name: self.name, raw_data, string_data, ..TensorProto::default() })
    }

    pub(super) fn read(message: TensorProto, folder: Option<&Path>) -> Result<Self, Error> {
        let name = message.name.clone();
        match read(message, folder) {
            Ok(tensor) => Ok(Self { name, tensor }),
            Err(fault) => Err(Error::Tensor { name, fault }),
        }
    }
}

/// A message from bytes.
pub(super) fn parse_message<M: Message + Default>(bytes: Bytes, message: &'static str) -> Result<M, Error> {
    M::decode(bytes).map_err(|error| Error::Message { message, reason: error.to_string() })
}

fn read(message: TensorProto, folder: Option<&Path>) -> Result<Tensor, TensorFault> {
    let code = message.data_type;
    let element_type = ElementType::from_onnx_code(code).ok_or(TensorFault::DataType { code })?;
    if message.segment.is_some() {
        return Err(TensorFault::Segment);
    }
    let shape = shape(&message.dims)?;
    let too_large = || TensorFault::TooLarge { dims: message.dims.clone() };
    let elements = count(element_type, &shape).map_err(|_| too_large())? as u64;
    let packed = match element_type.bits() {
        Some(_) => Some(element_type.packed_bytes(elements).ok_or_else(too_large)?),
        None => None,
    };
    let field = data_field(&message)?;
    let own = own_field(element_type);
    let data = Data { element_type, elements, shape };
    match (field, packed) {
        (None, _) if elements == 0 => data.codes(own, std::iter::empty()),
        (None, _) => Err(TensorFault::Length { field: own, unit: "entries", expected: data.entries(), found: 0 }),
        (Some("external_data"), Some(expected)) => {
            let bytes = external::read(&message.external_data, folder, expected)?;
            data.raw("external_data", bytes)
        }
        (Some("raw_data"), Some(expected)) => {
            let raw = message.raw_data.unwrap_or_default();
            length("raw_data", "bytes", expected, raw.len())?;
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(raw.len()).map_err(|_| TensorFault::OutOfMemory { bytes: raw.len() as u64 })?;
            bytes.extend_from_slice(&raw);
            data.raw("raw_data", bytes)
        }
        (Some(field), _) if field != own => Err(TensorFault::WrongField { field, element_type }),
        (Some("float_data"), _) => data.codes(own, message.float_data.iter().map(|value| value.to_bits().into())),
        (Some("double_data"), _) => data.codes(own, message.double_data.iter().map(|value| value.to_bits())),
        (Some("int64_data"), _) => data.codes(own, message.int64_data.iter().map(|&value| value as u64)),
        (Some("uint64_data"), _) => {
            data.check(own, message.uint64_data.iter().map(|&value| value.into()))?;
            data.codes(own, message.uint64_data.iter().copied())
        }
        (Some("string_data"), _) => data.strings(&message.string_data),
        (Some(_), _) => data.int32(&message.int32_data),
    }
}

fn shape(dims: &[i64]) -> Result<Vec<usize>, TensorFault> {
    if let Some((axis, &dim)) = dims.iter().enumerate().find(|(_, dim)| **dim < 0) {
        return Err(TensorFault::NegativeDim { axis, dim });
    }
    let shape = dims.iter().map(|&dim| usize::try_from(dim)).collect::<Result<_, _>>();
    shape.map_err(|_| TensorFault::TooLarge { dims: dims.to_vec() })
}

/// The one field that holds data, if any does.
fn data_field(message: &TensorProto) -> Result<Option<&'static str>, TensorFault> {
    if !(0..=EXTERNAL).contains(&message.data_location) {
        return Err(TensorFault::DataLocation { code: message.data_location });
    }
    let external = message.data_location == EXTERNAL || !message.external_data.is_empty();
    let holds = [
        (external, "external_data"),
        (message.raw_data.as_ref().is_some_and(|raw| !raw.is_empty()), "raw_data"),
        (!message.float_data.is_empty(), "float_data"),
        (!message.int32_data.is_empty(), "int32_data"),
        (!message.string_data.is_empty(), "string_data"),
        (!message.int64_data.is_empty(), "int64_data"),
        (!message.double_data.is_empty(), "double_data"),
        (!message.uint64_data.is_empty(), "uint64_data"),
    ];
    let mut fields = holds.into_iter().filter_map(|(holds, field)| holds.then_some(field));
    match (fields.next(), fields.next()) {
        (Some(first), Some(second)) => Err(TensorFault::TwoFields { first, second }),
        (Some("external_data"), None) if message.data_location != EXTERNAL => {
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
    let mut fault = None;
    let texts = strings.iter().enumerate().map_while(|(index, bytes)| {
        std::str::from_utf8(bytes).map_err(|_| fault = Some(TensorFault::Utf8 { index })).ok()
    });
    let tensor = Tensor::from_strings(shape, texts);
    match fault {
        Some(fault) => Err(fault),
        None => tensor.map_err(|_| TensorFault::TooLarge { dims }),
    }
}

/// What type and dims say.
struct Data {
    element_type: ElementType,
    elements: u64,
    shape: Vec<usize>,
}

impl Data {
    /// Packed bytes, of which there are as many as there must be.
    fn raw(self, field: &'static str, bytes: Vec<u8>) -> Result<Tensor, TensorFault> {
        let (found, dims) = (bytes.len() as u64, self.dims());
        Tensor::from_bytes(self.element_type, self.shape, bytes).map_err(|error| match error {
            Error::ByteLength { expected, .. } => TensorFault::Length { field, unit: "bytes", expected, found },
            _ => TensorFault::TooLarge { dims },
        })
    }

    /// One code an element.
    fn codes(self, field: &'static str, codes: impl ExactSizeIterator<Item = u64>) -> Result<Tensor, TensorFault> {
        length(field, "entries", self.entries(), codes.len())?;
        let dims = self.dims();
        let tensor = match self.element_type {
            ElementType::STRING => Tensor::from_strings(self.shape, std::iter::empty::<&str>()),
            element_type => Tensor::from_codes(element_type, self.shape, codes),
        };
        tensor.map_err(|_| TensorFault::TooLarge { dims })
    }

    fn int32(self, values: &[i32]) -> Result<Tensor, TensorFault> {
        length("int32_data", "entries", self.entries(), values.len())?;
        if self.element_type == ElementType::BOOL {
            return self.codes("int32_data", values.iter().map(|&value| (value != 0).into()));
        }
        self.check("int32_data", values.iter().map(|&value| value.into()))?;
        if self.is_packed() {
            return self.raw("int32_data", values.iter().map(|&value| value as u8).collect());
        }
        self.codes("int32_data", values.iter().map(|&value| value as u64))
    }

    fn strings(self, strings: &[Bytes]) -> Result<Tensor, TensorFault> {
        length("string_data", "entries", self.elements, strings.len())?;
        texts(self.shape, strings)
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
