//! The fields of a `TensorProto`.

use std::ops::Range;

use super::{TensorData, TensorMessage, TensorProtoError};
use crate::element::ElementType;
use crate::error::{Error, TensorFault};
use crate::files::input::ReadAt;
use crate::files::stored::count;
use crate::files::wire::{Field, Fields, Value, WireError, read_bytes};

/// The maximum number of axes, as in `.npy` files.
const MOST_AXES: usize = 64;

/// The longest text that is read, such as a name.
pub(super) const LONGEST_TEXT: u64 = 1 << 20;

/// Numbers of `TensorProto`'s fields.
pub(super) mod field {
    pub(in crate::files::tensor_proto) const DIMS: u32 = 1;
    pub(in crate::files::tensor_proto) const DATA_TYPE: u32 = 2;
    pub(in crate::files::tensor_proto) const SEGMENT: u32 = 3;
    pub(in crate::files::tensor_proto) const FLOAT_DATA: u32 = 4;
    pub(in crate::files::tensor_proto) const INT32_DATA: u32 = 5;
    pub(in crate::files::tensor_proto) const INT64_DATA: u32 = 7;
    pub(in crate::files::tensor_proto) const NAME: u32 = 8;
    pub(in crate::files::tensor_proto) const RAW_DATA: u32 = 9;
    pub(in crate::files::tensor_proto) const DOUBLE_DATA: u32 = 10;
    pub(in crate::files::tensor_proto) const UINT64_DATA: u32 = 11;
    pub(in crate::files::tensor_proto) const EXTERNAL_DATA: u32 = 13;
    pub(in crate::files::tensor_proto) const DATA_LOCATION: u32 = 14;
}

/// What the fields of a message say, before anything is checked.
#[derive(Default)]
pub(super) struct Found {
    pub name: String,
    dims: Vec<u64>,
    data_type: u64,
    data_location: u64,
    raw: Option<Range<u64>>,
    /// Packed numbers in one range: the field's number, and the range.
    packed: Vec<(u32, Range<u64>)>,
    has_other_data: bool,
    is_segment: bool,
    external: Vec<Range<u64>>,
    kept: Vec<Range<u64>>,
}

impl Found {
    pub(super) fn read(input: &dyn ReadAt, message: Range<u64>) -> Result<Self, TensorProtoError> {
        let mut found = Self::default();
        for field in Fields::new(input, message) {
            let Field { number, range, value } = field?;
            match (number, value) {
                (field::DIMS, Value::Varint(dim)) => found.add_dim(dim)?,
                (field::DIMS, Value::Bytes(packed)) => {
                    let bytes = read_bytes(input, &packed, 10 * MOST_AXES as u64);
                    let bytes = bytes.map_err(|error| match error {
                        WireError::TooLong { .. } => TensorProtoError::Axes { limit: MOST_AXES },
                        error => error.into(),
                    })?;
                    varints(&bytes, packed.start).try_for_each(|dim| found.add_dim(dim?))?;
                }
                (field::DATA_TYPE, Value::Varint(code)) => found.data_type = code,
                (field::DATA_LOCATION, Value::Varint(code)) => found.data_location = code,
                (field::NAME, Value::Bytes(text)) => {
                    let text = read_bytes(input, &text, LONGEST_TEXT)?;
                    let reason = "the name is not valid UTF-8".to_owned();
                    found.name =
                        String::from_utf8(text).map_err(|_| Error::Message { message: "TensorProto", reason })?;
                }
                (field::RAW_DATA, Value::Bytes(raw)) => found.raw = Some(raw),
                (field::FLOAT_DATA | field::DOUBLE_DATA, Value::Bytes(packed)) => found.packed.push((number, packed)),
                (field::EXTERNAL_DATA, Value::Bytes(entry)) => found.external.push(entry),
                // A packed field without numbers holds no data; an empty string is one.
                (field::INT32_DATA | field::INT64_DATA | field::UINT64_DATA, Value::Bytes(packed))
                    if packed.is_empty() => {}
                (field::SEGMENT, _) => found.is_segment = true,
                (field::FLOAT_DATA..=field::INT64_DATA | field::DOUBLE_DATA | field::UINT64_DATA, _) => {
                    found.has_other_data = true;
                }
                (field::DIMS..=field::UINT64_DATA | field::EXTERNAL_DATA | field::DATA_LOCATION, _) => {
                    let (offset, key) = (range.start, u64::from(number) << 3);
                    return Err(WireError::Key { offset, key }.into());
                }
                _ => found.kept.push(range),
            }
        }
        Ok(found)
    }

    fn add_dim(&mut self, dim: u64) -> Result<(), TensorProtoError> {
        if self.dims.len() == MOST_AXES {
            return Err(TensorProtoError::Axes { limit: MOST_AXES });
        }
        self.dims.push(dim);
        Ok(())
    }

    pub(super) fn message(self, message: Range<u64>) -> Result<TensorMessage, TensorFault> {
        // Enums are truncated to 32 bits, as protobuf does.
        let code = self.data_type as i32;
        let element_type = ElementType::from_onnx_code(code).ok_or(TensorFault::DataType { code })?;
        if self.is_segment {
            return Err(TensorFault::Segment);
        }
        let dims: Vec<i64> = self.dims.iter().map(|&dim| dim as i64).collect();
        if let Some((axis, &dim)) = dims.iter().enumerate().find(|(_, dim)| **dim < 0) {
            return Err(TensorFault::NegativeDim { axis, dim });
        }
        let elements = count(&self.dims);
        let bytes = elements.and_then(|elements| element_type.packed_bytes(elements));
        let bytes = bytes.or(elements.filter(|_| !element_type.is_numeric()));
        let expected = bytes.ok_or(TensorFault::TooLarge { dims })?;
        let data = self.data(element_type, expected)?;
        let Self { name, dims: shape, external, kept, .. } = self;
        Ok(TensorMessage { name, element_type, shape, data, kept, message, external })
    }

    /// Where the data is. All that is not in one range is left to [`NamedTensor`], which says what is wrong with it.
    fn data(&self, element_type: ElementType, expected: u64) -> Result<TensorData, TensorFault> {
        let location = self.data_location as i32;
        let raw = self.raw.as_ref().filter(|raw| !raw.is_empty());
        let is_external = location == 1 || !self.external.is_empty();
        let has_fields = self.has_other_data || self.packed.iter().any(|(_, range)| !range.is_empty());
        if is_external && location == 1 && raw.is_none() && !has_fields && element_type.is_numeric() {
            return Ok(TensorData::External);
        }
        let own = match element_type {
            ElementType::FLOAT => field::FLOAT_DATA,
            ElementType::DOUBLE => field::DOUBLE_DATA,
            _ => 0,
        };
        let (name, range) = match (raw, &self.packed[..]) {
            (Some(raw), _) if !has_fields => ("raw_data", raw),
            (None, [(field, range)]) if *field == own && !self.has_other_data => {
                (if own == field::FLOAT_DATA { "float_data" } else { "double_data" }, range)
            }
            _ => return Ok(TensorData::Fields),
        };
        if is_external || location != 0 || !element_type.is_numeric() {
            return Ok(TensorData::Fields);
        }
        let found = range.end - range.start;
        if found != expected {
            return Err(TensorFault::Length { field: name, unit: "bytes", expected, found });
        }
        Ok(TensorData::Inline(range.start))
    }
}

/// The numbers of a packed field.
fn varints(bytes: &[u8], offset: u64) -> impl Iterator<Item = Result<u64, WireError>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let mut value = 0u64;
        for index in 0..rest.len().min(10) {
            value |= u64::from(rest[index] & 0x7f) << (7 * index);
            if rest[index] < 0x80 {
                rest = &rest[index + 1..];
                return Some(Ok(value));
            }
        }
        (!std::mem::take(&mut rest).is_empty()).then_some(Err(WireError::Varint { offset }))
    })
}
