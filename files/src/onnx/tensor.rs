//! Reads a `TensorProto` as a host tensor, and writes it.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use wgpu_cast::{Bytes, ElementType, Error, Kind, Tensor};

use super::external::ExternalFiles;
use super::fields::tensor;
use super::header::{TensorHeader, TensorPlace, entries, field_name, header_bytes, invalid, is_packed, own_field};
use crate::error::{FileCause, FileError, PlanFault, TensorFault};
use crate::input::ReadAt;
use crate::memory::reserve;
use crate::wire::{Field, Fields, Numbers, WireError, put_bytes, read_bytes, varint_bytes, view_bytes};

/// The largest size of a protobuf message in bytes. Messages must be smaller than 2 GiB.
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
    /// file. `path` is the path of the message's file, or of its folder. Links are followed. The external file must be a
    /// regular file inside the folder of the message's file. If that file is a link, the folder of the link's target is
    /// allowed too. Do not read from a folder that untrusted users can write to at the same time.
    ///
    /// In `int32_data`, types of 2 and 4 bits are packed bytes, and types of 6 bits have one code per entry. Negative
    /// entries are valid for signed integers, for packed bytes and for floats: some writers sign-extend these. The
    /// `checksum` of external data is not verified. Protobuf lets writers give a field twice that a message can have once,
    /// and its parsers take the last one; here that is an error.
    ///
    /// # Errors
    /// [`FileCause::Malformed`] if the bytes are not a valid `TensorProto`; [`FileCause::Unsupported`] for an element type
    /// that casts do not have, for segments, for more than 64 dimensions, and for a name of more than 1 MiB;
    /// [`FileCause::TooLarge`]; for external data [`FileCause::FolderNeeded`], [`FileCause::ModelPath`],
    /// [`FileCause::OutsideFolder`] and [`FileCause::Read`]; [`FileCause::OutOfMemory`]. Memory is allocated only for data
    /// that exists.
    pub fn from_bytes(bytes: Vec<u8>, path: Option<&Path>) -> Result<Self, FileError> {
        let header = TensorHeader::read(&bytes, 0..bytes.len() as u64)?;
        let tensor = match header.packed_part(bytes.len()) {
            Some(part) => header.packed_tensor(Bytes::from(bytes).slice(part))?,
            None => header.tensor(&bytes, &mut ExternalFiles::new(path))?,
        };
        Ok(Self { name: header.name, tensor })
    }

    /// Reads the message in the bytes `range` of the input like [`from_bytes`](Self::from_bytes).
    pub(crate) fn read(input: &dyn ReadAt, range: Range<u64>, path: Option<&Path>) -> Result<Self, FileError> {
        let header = TensorHeader::read(input, range)?;
        let tensor = header.tensor(input, &mut ExternalFiles::new(path))?;
        Ok(Self { name: header.name, tensor })
    }

    /// Writes a `TensorProto`, with the data in `raw_data` or `string_data`.
    ///
    /// # Errors
    /// [`FileCause::TooLarge`] if the message exceeds 2 GiB, the limit of protobuf messages, or if the size of an axis
    /// exceeds 63 bits; [`FileCause::OutOfMemory`].
    pub fn into_bytes(self) -> Result<Vec<u8>, FileError> {
        let Self { name, tensor } = self;
        let failed = |error: FileError| error.of_tensor(&name);
        let dims = tensor.shape().iter().map(|&dim| dim as u64);
        let mut bytes = header_bytes(dims, tensor.element_type(), &name).map_err(|fault| failed(fault.into()))?;
        let strings = || tensor.strings().into_iter().flatten().map(str::as_bytes);
        let data = || {
            let raw = tensor.bytes().map(|raw| (tensor::RAW_DATA, raw));
            strings().map(|string| (tensor::STRING_DATA, string)).chain(raw)
        };
        let field = |(_, data): (u32, &[u8])| 1 + varint_bytes(data.len() as u64) + data.len() as u64;
        let more = data().map(field).fold(0, u64::saturating_add);
        let whole = more.saturating_add(bytes.len() as u64);
        if whole > LONGEST_MESSAGE as u64 {
            return Err(failed(PlanFault::BeyondMessage { bytes: whole }.into()));
        }
        bytes.try_reserve_exact(more as usize).map_err(|_| failed(FileCause::OutOfMemory { bytes: whole }.into()))?;
        data().for_each(|(field, data)| put_bytes(&mut bytes, field, data));
        Ok(bytes)
    }
}

/// The tensor with its bytes as codes of another type of the same width. The bytes are not copied. Strings stay strings.
pub(crate) fn retyped(tensor: Tensor, element_type: ElementType) -> Result<Tensor, Error> {
    let shape = tensor.shape().to_vec();
    match tensor.clone().into_shared() {
        Some(bytes) => Tensor::from_shared(element_type, shape, bytes),
        None => Ok(tensor),
    }
}

impl TensorHeader {
    /// The element type of a tensor whose data may not be needed. It must be one that casts know. Everything is checked
    /// except the values and external files.
    pub(super) fn checked_type(&self, input: &dyn ReadAt) -> Result<ElementType, FileError> {
        let element_type = self.element_type()?;
        self.check_entries(input)?;
        Ok(element_type)
    }

    /// Checks that a field of values that must be decoded has as many entries as the tensor needs. Reading the header does
    /// not check this, because it counts no varints.
    fn check_entries(&self, input: &dyn ReadAt) -> Result<(), FileError> {
        let (&TensorPlace::Field { number, .. }, Some(t)) = (&self.data, self.known_type()) else { return Ok(()) };
        let found = match number {
            tensor::STRING_DATA => {
                count(Fields::new(input, &tensor::KIND, self.range.clone()).filter(is(tensor::STRING_DATA)))
            }
            _ => count(self.numbers(input, number)),
        };
        let found = found.map_err(invalid)?;
        let (expected, field) = (entries(t, self.elements), field_name(number));
        if found == expected {
            return Ok(());
        }
        Err(self.failed(TensorFault::Length { field, unit: "entries", expected, found }))
    }

    fn numbers<'a>(&self, input: &'a dyn ReadAt, field: u32) -> Numbers<'a> {
        Numbers::new(input, &tensor::KIND, self.range.clone(), field)
    }

    /// The tensor with its data.
    pub(super) fn tensor(&self, input: &dyn ReadAt, files: &mut ExternalFiles<'_>) -> Result<Tensor, FileError> {
        let (t, shape) = (self.element_type()?, self.shape()?);
        let made = |tensor: Result<Tensor, Error>| self.made(tensor);
        match &self.data {
            TensorPlace::Nowhere if t == ElementType::STRING => made(Tensor::from_strings(shape, [""; 0])),
            TensorPlace::Nowhere => made(Tensor::from_bytes(t, shape, Vec::new())),
            TensorPlace::Packed(range) => {
                let bytes = read_bytes(input, range, u64::MAX).map_err(|error| self.failed(error))?;
                made(Tensor::from_bytes(t, shape, bytes))
            }
            TensorPlace::External(range) => {
                let sizes = (self.elements, t.packed_bytes(self.elements).unwrap_or(0));
                files.tensor(range, t, sizes, shape).map_err(|error| self.failed(error))
            }
            TensorPlace::Field { most, .. } if entries(t, self.elements) > *most => {
                self.check_entries(input)?;
                Err(invalid(WireError::Truncated { offset: self.range.start }))
            }
            TensorPlace::Field { number: tensor::STRING_DATA, .. } => {
                self.check_entries(input)?;
                let fields = Fields::new(input, &tensor::KIND, self.range.clone());
                of_strings(input, fields, tensor::STRING_DATA, (&self.name, shape))
            }
            TensorPlace::Field { number, .. } => {
                let (rule, count) = (EntryRule::of(t), entries(t, self.elements));
                let code = |index, number| rule.code(index, number).map_err(|fault| self.failed(fault));
                let (mut numbers, mut failed) = (self.numbers(input, *number), None);
                let codes = codes(&mut numbers, count, code, &mut failed);
                let tensor = if is_packed(t) {
                    let mut bytes = reserve(count).map_err(|error| self.failed(error))?;
                    bytes.extend(codes.map(|byte| byte as u8));
                    Tensor::from_bytes(t, shape, bytes)
                } else {
                    Tensor::from_codes(t, shape, codes)
                };
                // If the number of entries is wrong, the error is about that, and not about a wrong entry.
                if failed.is_some() || tensor.is_ok() && numbers.next().is_some() {
                    self.check_entries(input)?;
                }
                failed.map_or_else(|| made(tensor), Err)
            }
        }
    }

    /// Where the packed bytes are in a message of `length` bytes, if they are at least half of it. The tensor then keeps
    /// the whole message in memory instead of a copy of the packed bytes.
    fn packed_part(&self, length: usize) -> Option<Range<usize>> {
        let TensorPlace::Packed(range) = &self.data else { return None };
        // The range lies in the message, which is in memory, so that it fits `usize`.
        let part = range.start as usize..range.end as usize;
        (part.len() >= length / 2).then_some(part)
    }

    /// The tensor of these packed bytes, which are not copied.
    fn packed_tensor(&self, bytes: Bytes) -> Result<Tensor, FileError> {
        self.made(Tensor::from_shared(self.element_type()?, self.shape()?, bytes))
    }

    fn shape(&self) -> Result<Vec<usize>, FileError> {
        let too_large = |_| self.failed(TensorFault::TooLarge { dims: self.signed_dims() });
        self.dims.iter().map(|&dim| usize::try_from(dim)).collect::<Result<Vec<_>, _>>().map_err(too_large)
    }

    fn made(&self, tensor: Result<Tensor, Error>) -> Result<Tensor, FileError> {
        tensor.map_err(|error| self.failed(fault(&error, self.signed_dims())))
    }

    fn signed_dims(&self) -> Vec<i64> {
        self.dims.iter().map(|&dim| dim as i64).collect()
    }
}

/// The number of items, or the first error.
pub(super) fn count<T>(mut items: impl Iterator<Item = Result<T, WireError>>) -> Result<u64, WireError> {
    items.try_fold(0, |count, item| item.map(|_| count + 1))
}

/// Makes the test whether an item is the field `number`, or an error.
pub(super) fn is(number: u32) -> impl Fn(&Result<Field, WireError>) -> bool {
    move |found| found.as_ref().map_or(true, |found| found.number == number)
}

/// The codes of `count` numbers. `count` is at most the number of entries that the message can hold, so that a caller may
/// allocate memory for all of them at once. The first error is left in `failed`, and zeros follow it.
pub(super) fn codes<E: From<WireError>>(
    numbers: &mut Numbers<'_>,
    count: u64,
    code: impl Fn(usize, u64) -> Result<u64, E>,
    failed: &mut Option<E>,
) -> impl Iterator<Item = u64> {
    (0..count as usize).map(move |index| {
        let number = numbers.next().unwrap_or(Err(WireError::Truncated { offset: 0 }));
        number.map_err(E::from).and_then(|number| code(index, number)).unwrap_or_else(|error| {
            failed.get_or_insert(error);
            0
        })
    })
}

/// A STRING tensor of the strings of a field, which must all be UTF-8.
pub(super) fn of_strings(
    input: &dyn ReadAt,
    fields: Fields<'_>,
    field: u32,
    (name, shape): (&str, Vec<usize>),
) -> Result<Tensor, FileError> {
    let failed = |error: FileError| error.of_tensor(name);
    let text = |(index, found): (usize, Result<Field, WireError>)| {
        let utf8 = |_| failed(TensorFault::Utf8 { index }.into());
        match view_bytes(input, &found?.bytes(), u64::MAX)? {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(utf8),
            Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).map_err(|e| utf8(e.utf8_error())),
        }
    };
    let dims = shape.iter().map(|&dim| dim as i64).collect();
    let mut invalid = None;
    let strings =
        fields.filter(is(field)).enumerate().map_while(|found| text(found).map_err(|error| invalid = Some(error)).ok());
    let tensor = Tensor::from_strings(shape, strings);
    invalid.map_or_else(|| tensor.map_err(|error| failed(fault(&error, dims))), Err)
}

/// The entries of a type's own field that are valid codes or packed bytes. An integer must be in the range of its type. A
/// float's code or a packed byte may be given as a signed or as an unsigned number.
struct EntryRule {
    t: ElementType,
    field: u32,
    /// The smallest and the largest valid entry.
    limits: (i64, i64),
}

impl EntryRule {
    fn of(t: ElementType) -> Self {
        let bits = if is_packed(t) { 8 } else { t.bits().unwrap_or(0).min(32) };
        let (signed, unsigned) = ((-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1), (0, (1i64 << bits) - 1));
        let limits = match t.kind() {
            Kind::Int { signed: true } if !is_packed(t) => signed,
            Kind::Int { signed: false } if !is_packed(t) => unsigned,
            _ => (signed.0, unsigned.1),
        };
        Self { t, field: own_field(t), limits }
    }

    #[inline]
    fn code(&self, index: usize, number: u64) -> Result<u64, TensorFault> {
        let Self { t, field, limits } = self;
        let (value, is_code) = match *field {
            tensor::INT32_DATA if *t == ElementType::BOOL => return Ok((number as i32 != 0).into()),
            tensor::INT32_DATA => {
                // An `int32` is truncated to 32 bits, as parsers of protobuf do.
                let value = i64::from(number as i32);
                (value.into(), limits.0 <= value && value <= limits.1)
            }
            tensor::UINT64_DATA => (number.into(), *t == ElementType::UINT64 || number <= limits.1 as u64),
            _ => return Ok(number),
        };
        if is_code {
            return Ok(value as u64);
        }
        Err(TensorFault::Value { field: field_name(*field), index, value, element_type: *t })
    }
}

/// The error if a tensor cannot be made from data of the right length.
pub(super) fn fault(error: &Error, dims: Vec<i64>) -> FileError {
    match error {
        Error::OutOfMemory { bytes, .. } => FileCause::OutOfMemory { bytes: *bytes }.into(),
        _ => TensorFault::TooLarge { dims }.into(),
    }
}
