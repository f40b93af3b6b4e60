//! Tensor data in a file beside the model.

use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use wgpu_cast::{ElementType, Tensor};

use super::data_file::{DataFile, DataFolders, failed, plain_names};
use super::fields::entry;
use super::tensor::fault;
use crate::error::{FileCause, FileError, TensorFault};
use crate::input::ReadAt;
use crate::memory::reserve;
use crate::wire::{Fields, WireError};

/// The entries of `external_data` while they are read.
#[derive(Default)]
pub(super) struct Entries {
    location: Option<String>,
    offset: Option<u64>,
    length: Option<u64>,
    has_checksum: bool,
    /// The fault of the first wrong entry.
    fault: Option<TensorFault>,
}

/// The data of a tensor, as a range of a file below the folder of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExternalRange {
    /// The path of the file, relative to the folder. It has only plain names, no `..`.
    pub location: String,
    /// The first byte.
    pub offset: u64,
    /// The number of bytes; without it the data extends to the end of the file.
    pub length: Option<u64>,
}

impl Entries {
    /// Reads an entry, which is a `StringStringEntryProto`.
    pub(super) fn add(&mut self, input: &dyn ReadAt, range: Range<u64>) -> Result<(), WireError> {
        let (key, value) = match key_and_value(input, range) {
            Ok(entry) => entry,
            Err(error @ (WireError::Read { .. } | WireError::TooLong { .. } | WireError::OutOfMemory { .. })) => {
                return Err(error);
            }
            Err(_) => (String::new(), "not a string".to_owned()),
        };
        let number = value.parse::<u64>().ok();
        let is_right = match key.as_str() {
            "location" => self.location.replace(value.clone()).is_none(),
            "offset" => number.is_some() && std::mem::replace(&mut self.offset, number).is_none(),
            "length" => number.is_some() && std::mem::replace(&mut self.length, number).is_none(),
            "checksum" => !std::mem::replace(&mut self.has_checksum, true),
            _ => false,
        };
        if !is_right {
            self.fault.get_or_insert(TensorFault::ExternalEntry { key, value });
        }
        Ok(())
    }

    /// The range that the entries name. Their length, if given, must be `expected`, if known. The file is not looked at.
    pub(super) fn range(self, expected: Option<u64>) -> Result<ExternalRange, FileError> {
        let Self { location, offset, length, fault, .. } = self;
        fault.map_or(Ok(()), Err)?;
        let location = location.ok_or(TensorFault::NoLocation)?;
        plain_names(&location)?;
        match (expected, length) {
            (Some(expected), Some(found)) if expected != found => {
                Err(TensorFault::Length { field: "external_data", unit: "bytes", expected, found }.into())
            }
            _ => Ok(ExternalRange { location, offset: offset.unwrap_or(0), length }),
        }
    }
}

fn key_and_value(input: &dyn ReadAt, range: Range<u64>) -> Result<(String, String), WireError> {
    let (mut key, mut value) = (String::new(), String::new());
    for field in Fields::new(input, &entry::KIND, range) {
        let field = field?;
        match field.number {
            entry::KEY => key = field.text(input)?.into_owned(),
            entry::VALUE => value = field.text(input)?.into_owned(),
            _ => {}
        }
    }
    Ok((key, value))
}

impl ExternalRange {
    /// The number of bytes of the data, all of which must be in the file of `size` bytes. Without a length in the entries,
    /// the data must end at the end of the file; it has `expected` bytes then, if that is known.
    pub(crate) fn bytes_in(&self, size: u64, expected: Option<u64>) -> Result<u64, FileError> {
        let Self { offset, length, .. } = self;
        let bytes = length.or(expected).unwrap_or(size.saturating_sub(*offset));
        let end = offset.checked_add(bytes).filter(|&end| end <= size);
        let end = end.ok_or_else(|| self.beyond(bytes, size))?;
        if length.is_none() && end != size {
            let (field, found) = ("external_data", size - offset);
            return Err(TensorFault::Length { field, unit: "bytes", expected: bytes, found }.into());
        }
        Ok(bytes)
    }

    fn beyond(&self, length: u64, size: u64) -> FileError {
        FileError::from(TensorFault::BeyondFile { offset: self.offset, length, size }).in_file(&self.location)
    }

    fn read(&self, folders: &DataFolders, found: &DataFile, expected: u64) -> Result<Vec<u8>, FileError> {
        let (mut file, size) = folders.open(&self.location, found)?;
        self.bytes_in(size, Some(expected))?;
        let failed = |error: std::io::Error| failed(&self.location, error);
        let mut bytes = reserve(expected)?;
        file.seek(SeekFrom::Start(self.offset)).map_err(failed)?;
        file.take(expected).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 == expected { Ok(bytes) } else { Err(self.beyond(expected, size)) }
    }
}

/// The files beside a model, and the data that was read from them. Tensors that name the same data share its memory:
/// otherwise a small model could name a large range many times.
pub(super) struct ExternalFiles<'a> {
    path: Option<&'a Path>,
    /// The folders of `path`, once the first data was needed.
    folders: Option<DataFolders>,
    read: HashMap<Part, Tensor>,
}

/// What tensors that share memory have in common: the file, the offset and the length of the data, and the number of bits
/// that are used in the last byte. That number matters because the other bits are cleared.
type Part = (PathBuf, u64, u64, u64);

impl<'a> ExternalFiles<'a> {
    /// `path` is the path of the model's file, or of its folder.
    pub(super) fn new(path: Option<&'a Path>) -> Self {
        Self { path, folders: None, read: HashMap::new() }
    }

    /// The tensor whose data is in `range`. It has `elements` elements, which take `expected` bytes.
    pub(super) fn tensor(
        &mut self,
        range: &ExternalRange,
        element_type: ElementType,
        (elements, expected): (u64, u64),
        shape: Vec<usize>,
    ) -> Result<Tensor, FileError> {
        let folders = match &mut self.folders {
            Some(folders) => folders,
            none => {
                let path = self.path.ok_or(FileCause::FolderNeeded)?;
                none.insert(DataFolders::of(path)?)
            }
        };
        let found = folders.find(&range.location)?;
        let used = elements % 8 * u64::from(element_type.bits().unwrap_or(0)) % 8;
        let part = (found.path.clone(), range.offset, expected, used);
        let fits = range.bytes_in(found.bytes, Some(expected)).is_ok();
        let dims = shape.iter().map(|&dim| dim as i64).collect();
        let read = self.read.get(&part).filter(|_| fits);
        let tensor = match read.and_then(|tensor| tensor.clone().into_shared()) {
            Some(bytes) => return Tensor::from_shared(element_type, shape, bytes).map_err(|error| fault(&error, dims)),
            None => Tensor::from_bytes(element_type, shape, range.read(folders, &found, expected)?),
        };
        let tensor = tensor.map_err(|error| fault(&error, dims))?;
        self.read.insert(part, tensor.clone());
        Ok(tensor)
    }
}
