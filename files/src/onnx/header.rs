//! Reads a `TensorProto` without its data. Messages, models and files that are converted all use this reader.

use std::ops::Range;

use wgpu_cast::{ElementType, Kind};

use super::external::{Entries, ExternalRange};
use super::fields::{DATA, EXTERNAL, tensor};
use crate::error::{FileError, TensorFault};
use crate::input::ReadAt;
use crate::stored::count;
use crate::wire::{Field, Fields, Form, Packed, Value, WireError, put_bytes, put_number, put_varint};
use tensor::*;

/// The largest number of dimensions that is read; numpy has the same limit. Each result of a cast has its own copy of the
/// shape. Without a limit, a small model with a long shape could take much memory.
pub(crate) const MOST_DIMS: usize = 64;

/// The largest number of ranges in which fields that are copied may lie.
const MOST_PLACES: usize = 64;

/// What a `TensorProto` says, without its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TensorHeader {
    /// The bytes of the message in the input.
    pub range: Range<u64>,
    /// The name, which may be empty.
    pub name: String,
    /// The sizes of the axes.
    pub dims: Vec<u64>,
    /// The element type, as a number of `TensorProto.DataType`.
    pub code: i32,
    /// The number of elements.
    pub elements: u64,
    pub data: TensorPlace,
    /// The bytes of the fields that do not describe the data.
    pub kept: Vec<Range<u64>>,
}

/// Where the data of a tensor is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TensorPlace {
    /// There is none.
    Nowhere,
    /// Packed codes in these bytes of the input.
    Packed(Range<u64>),
    /// Values that must be decoded: in several ranges, as varints, or as strings. `number` is the number of their field.
    /// The field's bytes can hold at most `most` entries.
    Field {
        number: u32,
        most: u64,
    },
    External(ExternalRange),
}

impl TensorHeader {
    /// Reads the message in the bytes `range` of the input. The length of the data is checked, but not if the element type
    /// is one that casts do not know.
    pub(crate) fn read(input: &dyn ReadAt, range: Range<u64>) -> Result<Self, FileError> {
        let mut found = Found::read(input, range.clone()).map_err(invalid)?;
        let name = std::mem::take(&mut found.name);
        match found.checked() {
            Ok((dims, elements, data)) => {
                Ok(Self { range, name, dims, code: found.code, elements, data, kept: found.kept.ranges })
            }
            Err(error) => Err(error.of_tensor(&name).in_format(tensor::KIND.name)),
        }
    }

    /// The element type, if casts know it.
    pub(crate) fn known_type(&self) -> Option<ElementType> {
        ElementType::from_onnx_code(self.code)
    }

    /// The element type, which must be one that casts know.
    pub(crate) fn element_type(&self) -> Result<ElementType, FileError> {
        self.known_type().ok_or_else(|| self.failed(TensorFault::DataType { code: self.code }))
    }

    pub(crate) fn failed(&self, error: impl Into<FileError>) -> FileError {
        error.into().of_tensor(&self.name).in_format(tensor::KIND.name)
    }
}

/// The error for bytes that are not a `TensorProto`.
pub(super) fn invalid(error: WireError) -> FileError {
    FileError::from(error).in_format(tensor::KIND.name)
}

/// The contents of the fields, before they are compared with each other.
#[derive(Default)]
struct Found {
    name: String,
    dims: Dims,
    code: i32,
    location: i32,
    external: Option<Entries>,
    /// The fields with data: the number; the range, if there is a single one and it has packed codes; the most entries
    /// that the field can have.
    data: Vec<(u32, Option<Range<u64>>, u64)>,
    is_segment: bool,
    kept: Kept,
}

impl Found {
    fn read(input: &dyn ReadAt, message: Range<u64>) -> Result<Self, WireError> {
        let mut found = Self::default();
        let mut fields = Fields::new(input, &tensor::KIND, message);
        while let Some(field) = fields.next() {
            found.add(input, &field?, &mut fields)?;
        }
        Ok(found)
    }

    /// Adds a field, and those of `fields` that hold further numbers of it.
    fn add(&mut self, input: &dyn ReadAt, field: &Field, fields: &mut Fields<'_>) -> Result<(), WireError> {
        match (field.number, &field.value) {
            (DIMS, Value::Bytes(packed)) => {
                for dim in Packed::new(input, Form::Numbers, packed.clone()) {
                    self.dims.add(dim?);
                }
            }
            (DIMS, _) => self.dims.add(field.number()),
            // Enums are truncated to 32 bits, as parsers of protobuf do.
            (DATA_TYPE, _) => self.code = field.number() as i32,
            (DATA_LOCATION, _) => self.location = field.number() as i32,
            (NAME, _) => self.name = field.text(input)?.into_owned(),
            (SEGMENT, _) => self.is_segment = true,
            (EXTERNAL_DATA, _) => self.external.get_or_insert_default().add(input, field.bytes())?,
            (STRING_DATA, _) => self.holds(field, 1),
            (RAW_DATA | FLOAT_DATA..=INT64_DATA | DOUBLE_DATA | UINT64_DATA, Value::Bytes(range)) => {
                if !(range.end - range.start).is_multiple_of(width(field.number)) {
                    return Err(WireError::Truncated { offset: range.start });
                }
                // Each entry of a packed field takes at least a byte.
                self.holds(field, range.end - range.start);
            }
            (FLOAT_DATA..=INT64_DATA | DOUBLE_DATA | UINT64_DATA, _) => {
                self.holds(field, 1 + fields.alike(field, usize::MAX, |_, _| ()) as u64);
            }
            _ => self.kept.add(field.range.clone()),
        }
        Ok(())
    }

    /// Notes a field with at most `most` entries. A packed field without numbers holds no data; an empty string is data.
    fn holds(&mut self, field: &Field, most: u64) {
        let range = match &field.value {
            Value::Bytes(range) if matches!(field.number, RAW_DATA | FLOAT_DATA | DOUBLE_DATA) => Some(range.clone()),
            _ => None,
        };
        match self.data.iter_mut().find(|(known, ..)| *known == field.number) {
            _ if most == 0 => {}
            Some((_, known, all)) => (*known, *all) = (None, all.saturating_add(most)),
            None => self.data.push((field.number, range, most)),
        }
    }

    /// The number and name of the field that holds the data, if one does. Two such fields are an error.
    fn data(&self) -> Result<Option<(u32, &'static str)>, TensorFault> {
        let wrong_location = TensorFault::DataLocation { code: self.location };
        if !(0..=EXTERNAL).contains(&self.location) {
            return Err(wrong_location);
        }
        // The location EXTERNAL counts as a field with data, even if `external_data` has no entries.
        let is_external = self.location == EXTERNAL || self.external.is_some();
        let holds = |number| match number {
            EXTERNAL_DATA => is_external,
            _ => self.data.iter().any(|(known, ..)| *known == number),
        };
        let mut fields = DATA.into_iter().filter(|(number, _)| holds(*number));
        match (fields.next(), fields.next()) {
            (Some((_, first)), Some((_, second))) => Err(TensorFault::TwoFields { first, second }),
            (Some((EXTERNAL_DATA, _)), None) if self.location != EXTERNAL => Err(wrong_location),
            (field, _) => Ok(field),
        }
    }

    /// The sizes of the axes, the number of elements, and where the data is.
    fn checked(&mut self) -> Result<(Vec<u64>, u64, TensorPlace), FileError> {
        if self.is_segment {
            return Err(TensorFault::Segment.into());
        }
        let (dims, elements) = self.dims.checked()?;
        self.kept.checked()?;
        let element_type = ElementType::from_onnx_code(self.code);
        let expected = element_type.filter(|t| t.is_numeric()).map(|t| t.packed_bytes(elements));
        let expected = expected.map(|bytes| bytes.ok_or_else(|| self.dims.too_large())).transpose()?;
        let length = |field, unit, expected: Option<u64>, found| match expected {
            Some(expected) if expected != found => Err(TensorFault::Length { field, unit, expected, found }),
            _ => Ok(()),
        };
        let entries = element_type.map(|t| entries(t, elements));
        let data = match (self.data()?, element_type) {
            (None, element_type) => {
                let own = element_type.map_or("", |t| field_name(own_field(t)));
                length(own, "entries", entries, 0)?;
                TensorPlace::Nowhere
            }
            (Some((EXTERNAL_DATA | RAW_DATA, field)), Some(t)) if !t.is_numeric() => {
                return Err(TensorFault::WrongField { field, element_type: t }.into());
            }
            (Some((EXTERNAL_DATA, _)), _) => {
                TensorPlace::External(self.external.take().unwrap_or_default().range(expected)?)
            }
            (Some((number, field)), Some(t)) if number != RAW_DATA && number != own_field(t) => {
                return Err(TensorFault::WrongField { field, element_type: t }.into());
            }
            (Some((number, field)), _) => match self.only_range(number) {
                Some(range) if number == RAW_DATA => {
                    length(field, "bytes", expected, range.end - range.start)?;
                    TensorPlace::Packed(range)
                }
                Some(range) => {
                    length(field, "entries", entries, (range.end - range.start) / width(number))?;
                    TensorPlace::Packed(range)
                }
                None => {
                    let most = self.data.iter().find(|(known, ..)| *known == number).map_or(0, |(.., most)| *most);
                    TensorPlace::Field { number, most }
                }
            },
        };
        Ok((dims, elements, data))
    }

    /// The range of a field with packed codes, if there is a single one.
    fn only_range(&self, field: u32) -> Option<Range<u64>> {
        self.data.iter().find(|(number, ..)| *number == field).and_then(|(_, range, _)| range.clone())
    }
}

/// The size in bytes of each code in a packed field; 1 for other fields.
fn width(field: u32) -> u64 {
    match field {
        FLOAT_DATA => 4,
        DOUBLE_DATA => 8,
        _ => 1,
    }
}

/// The field for the values of a type, other than `raw_data`. `onnx.proto` assigns one to each type.
pub(super) fn own_field(element_type: ElementType) -> u32 {
    match (element_type.kind(), element_type.bits()) {
        (Kind::String, _) => STRING_DATA,
        (Kind::Float(_), Some(32)) => FLOAT_DATA,
        (Kind::Float(_), Some(64)) => DOUBLE_DATA,
        (Kind::Int { signed: true }, Some(64)) => INT64_DATA,
        (Kind::Int { signed: false }, Some(32 | 64)) => UINT64_DATA,
        _ => INT32_DATA,
    }
}

/// The name of a field that holds data.
pub(super) fn field_name(field: u32) -> &'static str {
    DATA.iter().find(|(number, _)| *number == field).map_or("", |(_, name)| name)
}

/// Whether each entry of the type's own field is a byte of packed codes. Otherwise each entry is one code.
pub(super) fn is_packed(element_type: ElementType) -> bool {
    matches!(element_type.bits(), Some(2 | 4))
}

/// The number of entries that `elements` elements take in the type's own field.
pub(super) fn entries(element_type: ElementType, elements: u64) -> u64 {
    let packed = if is_packed(element_type) { element_type.packed_bytes(elements) } else { None };
    packed.unwrap_or(elements)
}

/// The dims while they are read. Dims beyond [`MOST_DIMS`] are only counted.
#[derive(Default)]
struct Dims {
    dims: Vec<i64>,
    found: usize,
}

impl Dims {
    fn add(&mut self, dim: u64) {
        self.found += 1;
        if self.found <= MOST_DIMS {
            self.dims.push(dim as i64);
        }
    }

    /// The sizes of the axes, and the number of elements.
    fn checked(&self) -> Result<(Vec<u64>, u64), TensorFault> {
        if self.found > MOST_DIMS {
            return Err(TensorFault::Rank { found: self.found, limit: MOST_DIMS });
        }
        if let Some((axis, &dim)) = self.dims.iter().enumerate().find(|(_, dim)| **dim < 0) {
            return Err(TensorFault::NegativeDim { axis, dim });
        }
        let dims: Vec<u64> = self.dims.iter().map(|&dim| dim as u64).collect();
        let elements = count(&dims).ok_or_else(|| self.too_large())?;
        Ok((dims, elements))
    }

    fn too_large(&self) -> TensorFault {
        TensorFault::TooLarge { dims: self.dims.clone() }
    }
}

/// The ranges of the fields that are copied, while they are read. Fields that follow one another are one range.
#[derive(Default)]
struct Kept {
    ranges: Vec<Range<u64>>,
    is_scattered: bool,
}

impl Kept {
    fn add(&mut self, field: Range<u64>) {
        let count = self.ranges.len();
        match self.ranges.last_mut() {
            Some(last) if last.end == field.start => last.end = field.end,
            _ if count < MOST_PLACES => self.ranges.push(field),
            _ => self.is_scattered = true,
        }
    }

    fn checked(&self) -> Result<(), TensorFault> {
        if self.is_scattered { Err(TensorFault::Scattered { limit: MOST_PLACES }) } else { Ok(()) }
    }
}

/// The first fields of a `TensorProto`, in front of its data. A size of an axis that needs more than 63 bits is an error.
pub(crate) fn header_bytes(
    dims: impl IntoIterator<Item = u64>,
    element_type: ElementType,
    name: &str,
) -> Result<Vec<u8>, TensorFault> {
    let (mut header, mut packed, mut all, mut is_long) = (Vec::new(), Vec::new(), Vec::new(), false);
    for dim in dims {
        is_long |= i64::try_from(dim).is_err();
        all.push(i64::try_from(dim).unwrap_or(i64::MAX));
        put_varint(&mut packed, dim);
    }
    if is_long {
        return Err(TensorFault::TooLarge { dims: all });
    }
    if !packed.is_empty() {
        put_bytes(&mut header, DIMS, &packed);
    }
    put_number(&mut header, DATA_TYPE, element_type.onnx_code() as u64);
    if !name.is_empty() {
        put_bytes(&mut header, NAME, name.as_bytes());
    }
    Ok(header)
}
