//! The fields of a `TensorProto`.

use std::ops::Range;

use wgpu_cast::ElementType;

use super::{TensorData, TensorMessage, TensorProtoError};
use crate::input::ReadAt;
use crate::onnx::{MessageError, TensorFault};
use crate::tensor_fields::*;
use crate::wire::{Field, Fields, Value, read_bytes};

/// The longest text that is read, such as a name.
pub(super) const LONGEST_TEXT: u64 = 1 << 20;

/// What the fields of a message say, before anything is checked.
#[derive(Default)]
pub(super) struct Found {
    pub name: Option<String>,
    dims: Dims,
    data_type: Option<u64>,
    data_location: u64,
    raw: Option<Range<u64>>,
    /// The first packed numbers: the field's number, and their range.
    packed: Option<(u32, Range<u64>)>,
    has_other_data: bool,
    is_segment: bool,
    external: Vec<Range<u64>>,
    kept: Kept,
}

impl Found {
    pub(super) fn read(input: &dyn ReadAt, message: Range<u64>) -> Result<Self, TensorProtoError> {
        let mut found = Self::default();
        for field in Fields::new(input, message) {
            let Field { number, range, value } = field?;
            let repeated = || Err(TensorProtoError::Repeated { field: number });
            match (number, value) {
                (DIMS, value) => {
                    if !found.dims.read(input, &value)? {
                        return Err(TensorProtoError::FieldType { field: DIMS });
                    }
                }
                (DATA_TYPE, _) if found.data_type.is_some() => return repeated(),
                (NAME, _) if found.name.is_some() => return repeated(),
                (EXTERNAL_DATA, _) if found.external.len() == MOST_ENTRIES => return repeated(),
                (DATA_TYPE, Value::Varint(code)) => found.data_type = Some(code),
                (DATA_LOCATION, Value::Varint(code)) => found.data_location = code,
                (NAME, Value::Bytes(text)) => {
                    let text = read_bytes(input, &text, LONGEST_TEXT)?;
                    let reason = "the name is not valid UTF-8".to_owned();
                    let name = String::from_utf8(text)
                        .map_err(|_| MessageError::Message { message: "TensorProto", reason })?;
                    found.name = Some(name);
                }
                (RAW_DATA, Value::Bytes(raw)) => found.raw = Some(raw),
                (FLOAT_DATA | DOUBLE_DATA, Value::Bytes(packed)) => match &found.packed {
                    Some((_, first)) if !first.is_empty() => found.has_other_data |= !packed.is_empty(),
                    _ => found.packed = Some((number, packed)),
                },
                (EXTERNAL_DATA, Value::Bytes(entry)) => found.external.push(entry),
                // A packed field without numbers holds no data; an empty string is one.
                (INT32_DATA | INT64_DATA | UINT64_DATA, Value::Bytes(packed)) if packed.is_empty() => {}
                (SEGMENT, _) => found.is_segment = true,
                (FLOAT_DATA..=INT64_DATA | DOUBLE_DATA | UINT64_DATA, _) => {
                    found.has_other_data = true;
                }
                (DIMS..=UINT64_DATA | EXTERNAL_DATA | DATA_LOCATION, _) => {
                    return Err(TensorProtoError::FieldType { field: number });
                }
                _ => found.kept.add(range),
            }
        }
        Ok(found)
    }

    pub(super) fn message(self, message: Range<u64>) -> Result<TensorMessage, TensorFault> {
        // Enums are truncated to 32 bits, as protobuf does.
        let code = self.data_type.unwrap_or(0) as i32;
        let element_type = ElementType::from_onnx_code(code).ok_or(TensorFault::DataType { code })?;
        if self.is_segment {
            return Err(TensorFault::Segment);
        }
        let (shape, elements) = self.dims.checked()?;
        let bytes = element_type.packed_bytes(elements).or((!element_type.is_numeric()).then_some(elements));
        let data = self.data(element_type, bytes.ok_or_else(|| self.dims.too_large())?)?;
        let kept = self.kept.checked()?.to_vec();
        let (name, external) = (self.name.unwrap_or_default(), self.external);
        Ok(TensorMessage { name, element_type, shape, data, kept, message, external })
    }

    /// Where the data is. All that is not in one range is left to [`NamedTensor`], which says what is wrong with it.
    fn data(&self, element_type: ElementType, expected: u64) -> Result<TensorData, TensorFault> {
        let location = self.data_location as i32;
        let raw = self.raw.as_ref().filter(|raw| !raw.is_empty());
        let is_external = location == 1 || !self.external.is_empty();
        let has_fields = self.has_other_data || self.packed.as_ref().is_some_and(|(_, range)| !range.is_empty());
        if is_external && location == 1 && raw.is_none() && !has_fields && element_type.is_numeric() {
            return Ok(TensorData::External);
        }
        let own = match element_type {
            ElementType::FLOAT => FLOAT_DATA,
            ElementType::DOUBLE => DOUBLE_DATA,
            _ => 0,
        };
        let (name, range) = match (raw, &self.packed) {
            (Some(raw), _) if !has_fields => ("raw_data", raw),
            (None, Some((field, range))) if *field == own && !self.has_other_data => {
                (if own == FLOAT_DATA { "float_data" } else { "double_data" }, range)
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
