//! A `TensorProto` without its data.

use std::ops::Range;

use bytes::Bytes;
use wgpu_cast::ElementType;

use super::super::error::OnnxModelError;
use super::super::reader::{Name, bytes, fields, number, wire};
use super::super::structure::{Data, Tensor, TensorId};
use super::Scanner;
use crate::onnx::{DataRange, TensorFault, data_range, plain_names};
use crate::tensor_fields::*;
use crate::wire::{Field, Value, read_bytes};

/// The longest entry of `external_data`.
const LONGEST_ENTRY: u64 = 16 << 10;

/// The fields of a tensor while they are read.
#[derive(Default)]
struct Partial {
    name: Option<Name>,
    dims: Dims,
    code: Option<i32>,
    is_external: bool,
    location: i32,
    entries: Vec<Bytes>,
    /// The fields with data, in the order of their first bytes; the range of the only one, and whether it occurs again.
    data: Vec<(u32, Option<Range<u64>>)>,
    has_raw: bool,
    segment: bool,
    kept: Kept,
    range: DataRange,
}

impl Scanner<'_> {
    /// Reads a tensor and keeps it in the list of tensors.
    pub(super) fn tensor(
        &mut self,
        range: Range<u64>,
        element: impl Fn() -> String,
    ) -> Result<TensorId, OnnxModelError> {
        self.spend(size_of::<Tensor>())?;
        let mut partial = Partial::default();
        for field in fields(self.input, &range, &element) {
            self.tensor_field(&field?, &mut partial, &element)?;
        }
        let (name, code) = (partial.name.unwrap_or(Name::EMPTY), partial.code());
        let (dims, elements, mut data) = match partial.checked() {
            Ok(checked) => checked,
            Err(fault) => {
                let name = self.structure.text(name).to_owned();
                return Err(OnnxModelError::Tensor { name, fault });
            }
        };
        self.spend(8 * dims.len())?;
        if let Data::External { file, .. } = &mut data {
            let location = partial.range.location.as_deref().unwrap_or_default();
            let (location, is_new) = self.structure.names.intern(location);
            *file = self.structure.file(location);
            self.spend(if is_new { self.structure.text(location).len() + 128 } else { 0 })?;
        }
        let id = self.structure.tensors.len() as TensorId;
        self.structure.tensors.push(Tensor { range, name, dims, code, elements, data });
        Ok(id)
    }

    fn tensor_field(
        &mut self,
        field: &Field,
        tensor: &mut Partial,
        element: &impl Fn() -> String,
    ) -> Result<(), OnnxModelError> {
        let repeated = || Err(OnnxModelError::Repeated { element: element(), field: field.number });
        match (field.number, &field.value) {
            (DIMS, value) => {
                if !tensor.dims.read(self.input, value).map_err(|error| wire(element, error))? {
                    return Err(OnnxModelError::FieldType { element: element(), field: DIMS });
                }
            }
            (DATA_TYPE, _) if tensor.code.is_some() => return repeated(),
            (NAME, _) if tensor.name.is_some() => return repeated(),
            (DATA_TYPE, _) => tensor.code = Some(number(field, element)? as i32),
            (NAME, _) => tensor.name = Some(self.name(field, element)?),
            (SEGMENT, _) => tensor.segment = true,
            (DATA_LOCATION, _) => tensor.location = number(field, element)? as i32,
            (EXTERNAL_DATA, _) => {
                tensor.is_external = true;
                let range = bytes(field, element)?;
                if tensor.entries.len() == MOST_ENTRIES {
                    return repeated();
                }
                let entry = read_bytes(self.input, &range, LONGEST_ENTRY).map_err(|error| wire(element, error))?;
                tensor.entries.push(entry.into());
            }
            (RAW_DATA, _) if std::mem::replace(&mut tensor.has_raw, true) => return repeated(),
            (RAW_DATA | FLOAT_DATA | DOUBLE_DATA, Value::Bytes(range)) => {
                tensor.holds(field.number, Some(range.clone()));
            }
            (RAW_DATA, _) => return Err(OnnxModelError::FieldType { element: element(), field: RAW_DATA }),
            (INT32_DATA | INT64_DATA | UINT64_DATA, Value::Bytes(range)) if range.is_empty() => {}
            (FLOAT_DATA | INT32_DATA | STRING_DATA | INT64_DATA | DOUBLE_DATA | UINT64_DATA, _) => {
                tensor.holds(field.number, None);
            }
            _ => tensor.kept.add(field.range.clone()),
        }
        Ok(())
    }
}

impl Partial {
    /// `TensorProto.DataType`.
    fn code(&self) -> i32 {
        self.code.unwrap_or(0)
    }

    /// The dims, the number of elements, and where the data is, but for the file's index.
    fn checked(&mut self) -> Result<(Vec<u64>, u64, Data), TensorFault> {
        let tensor = &*self;
        if tensor.segment {
            return Err(TensorFault::Segment);
        }
        let (dims, elements) = tensor.dims.checked()?;
        tensor.kept.checked()?;
        let element_type = ElementType::from_onnx_code(tensor.code());
        let size = match element_type.filter(|t| t.is_numeric()) {
            Some(element_type) => Some(element_type.packed_bytes(elements).ok_or_else(|| tensor.dims.too_large())?),
            None => None,
        };
        match (tensor.is_external, tensor.location) {
            (false, 0) | (true, 1) => {}
            (false, 1) => return Err(TensorFault::NoLocation),
            (_, code) => return Err(TensorFault::DataLocation { code }),
        }
        let data = match tensor.data.as_slice() {
            [(first, _), ..] if tensor.is_external => {
                return Err(TensorFault::TwoFields { first: field_name(*first), second: "external_data" });
            }
            [(first, _), (second, _), ..] => {
                return Err(TensorFault::TwoFields { first: field_name(*first), second: field_name(*second) });
            }
            [] if tensor.is_external => {
                return self.external(size).map(|data| (dims, elements, data));
            }
            [] => Data::None,
            [(field, range)] => {
                let wrong = |element_type| TensorFault::WrongField { field: field_name(*field), element_type };
                match (*field, element_type) {
                    (RAW_DATA, Some(ElementType::STRING)) => return Err(wrong(ElementType::STRING)),
                    (FLOAT_DATA, Some(t)) if t != ElementType::FLOAT => return Err(wrong(t)),
                    (DOUBLE_DATA, Some(t)) if t != ElementType::DOUBLE => return Err(wrong(t)),
                    _ => {}
                }
                match range {
                    Some(range) => Data::Raw(range.clone()),
                    None => Data::Field(*field),
                }
            }
        };
        if let (Data::Raw(range), Some(expected)) = (&data, size) {
            let found = range.end - range.start;
            if found != expected {
                let field = field_name(tensor.data[0].0);
                return Err(TensorFault::Length { field, unit: "bytes", expected, found });
            }
        }
        if let (Data::None, Some(expected @ 1..)) = (&data, size) {
            return Err(TensorFault::Length { field: "raw_data", unit: "bytes", expected, found: 0 });
        }
        Ok((dims, elements, data))
    }

    fn external(&mut self, size: Option<u64>) -> Result<Data, TensorFault> {
        if let Some(t) = ElementType::from_onnx_code(self.code()).filter(|t| !t.is_numeric()) {
            return Err(TensorFault::WrongField { field: "external_data", element_type: t });
        }
        self.range = data_range(&self.entries)?;
        plain_names(self.range.location.as_deref().ok_or(TensorFault::NoLocation)?)?;
        let (offset, length) = (self.range.offset.unwrap_or(0), self.range.length);
        match (size, length) {
            (Some(expected), Some(found)) if expected != found => {
                Err(TensorFault::Length { field: "external_data", unit: "bytes", expected, found })
            }
            _ => Ok(Data::External { file: 0, offset, length }),
        }
    }

    /// Notes a field with data. An empty one counts as none.
    fn holds(&mut self, field: u32, range: Option<Range<u64>>) {
        if range.as_ref().is_some_and(Range::is_empty) {
            return;
        }
        match self.data.iter_mut().find(|(known, _)| *known == field) {
            Some((_, known)) => *known = None,
            None => self.data.push((field, range)),
        }
    }
}

/// A field that holds data.
fn field_name(field: u32) -> &'static str {
    match field {
        FLOAT_DATA => "float_data",
        INT32_DATA => "int32_data",
        STRING_DATA => "string_data",
        INT64_DATA => "int64_data",
        DOUBLE_DATA => "double_data",
        UINT64_DATA => "uint64_data",
        _ => "raw_data",
    }
}
