//! Tensor data in a file beside the model.

use std::collections::HashMap;
#[cfg(any(unix, windows))]
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use wgpu_cast::{ElementType, Tensor};

#[cfg(any(unix, windows))]
use super::data_file::open;
use super::data_file::{DataFile, DataFolders, failed};
use super::memory::parse_message;
use super::proto::StringStringEntryProto;
use super::tensor::fault;
use crate::onnx::{MessageError, TensorFault};

/// What the entries of `external_data` say.
#[derive(Default)]
pub(crate) struct DataRange {
    /// The path of the file, which is not checked.
    pub location: Option<String>,
    /// The first byte.
    pub offset: Option<u64>,
    /// The number of bytes.
    pub length: Option<u64>,
}

/// Where the data of a tensor is.
pub(super) struct TensorRange {
    location: String,
    offset: u64,
    /// The bytes that the tensor takes.
    length: u64,
    /// Whether the data extends to the end of the file.
    to_end: bool,
}

/// The files beside a model, and what has been read of them. Initializers may name the same data any number of times;
/// they share the memory.
pub(super) struct ExternalFiles<'a> {
    path: Option<&'a Path>,
    /// The folders of that path, from the first data on.
    folders: Option<DataFolders>,
    read: HashMap<Part, Tensor>,
}

/// The path, the offset and length of the data, and how many bits of the last byte are used: the others are cleared.
type Part = (PathBuf, u64, u64, u64);

impl<'a> ExternalFiles<'a> {
    /// The path is that of the model's file, or of its folder alone.
    pub(super) fn new(path: Option<&'a Path>) -> Self {
        Self { path, folders: None, read: HashMap::new() }
    }

    /// The tensor of so many elements whose data is there.
    pub(super) fn tensor(
        &mut self,
        range: &TensorRange,
        element_type: ElementType,
        elements: u64,
        shape: Vec<usize>,
    ) -> Result<Tensor, TensorFault> {
        let folders = match &mut self.folders {
            Some(folders) => folders,
            none => {
                let path = self.path.ok_or(TensorFault::NoFolder)?;
                none.insert(DataFolders::of(path)?)
            }
        };
        let found = folders.find(&range.location)?;
        let used = elements % 8 * u64::from(element_type.bits().unwrap_or(0)) % 8;
        let part = (found.path.clone(), range.offset, range.length, used);
        let fits = !range.to_end || range.offset.saturating_add(range.length) == found.bytes;
        let dims = shape.iter().map(|&dim| dim as i64).collect();
        let read = self.read.get(&part).filter(|_| fits);
        let tensor = match read.and_then(|tensor| tensor.clone().into_shared()) {
            Some(bytes) => return Tensor::from_shared(element_type, shape, bytes).map_err(|error| fault(&error, dims)),
            None => Tensor::from_bytes(element_type, shape, range.read(folders, &found)?),
        };
        let tensor = tensor.map_err(|error| fault(&error, dims))?;
        self.read.insert(part, tensor.clone());
        Ok(tensor)
    }
}

/// Data that was found in an open file.
#[cfg(any(unix, windows))]
pub(crate) struct ExternalData {
    pub file: File,
    /// The first byte of the data, all of which the file has.
    pub offset: u64,
}

/// Opens the file that has the `expected` bytes that a tensor takes. `path` is the path of the tensor's file, or of its
/// folder.
#[cfg(any(unix, windows))]
pub(crate) fn open_data(entries: &[Bytes], path: &Path, expected: u64) -> Result<ExternalData, TensorFault> {
    let range = tensor_range(entries, expected)?;
    let (file, size) = open(&range.location, path)?;
    range.check(size)?;
    Ok(ExternalData { file, offset: range.offset })
}

impl TensorRange {
    /// Checks that a file of `size` bytes has the data.
    fn check(&self, size: u64) -> Result<(), TensorFault> {
        let Self { offset, length, to_end, .. } = self;
        let end = offset.checked_add(*length).filter(|&end| end <= size);
        let end = end.ok_or_else(|| self.beyond(size))?;
        if *to_end && end != size {
            let (field, found) = ("external_data", size - offset);
            return Err(TensorFault::Length { field, unit: "bytes", expected: *length, found });
        }
        Ok(())
    }

    fn beyond(&self, size: u64) -> TensorFault {
        TensorFault::BeyondFile { location: self.location.clone(), offset: self.offset, length: self.length, size }
    }

    fn read(&self, folders: &DataFolders, found: &DataFile) -> Result<Vec<u8>, TensorFault> {
        let (mut file, size) = folders.open(&self.location, found)?;
        self.check(size)?;
        let failed = |error: std::io::Error| failed(&self.location, &error);
        let memory = |_| TensorFault::OutOfMemory { bytes: self.length };
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(usize::try_from(self.length).unwrap_or(usize::MAX)).map_err(memory)?;
        file.seek(SeekFrom::Start(self.offset)).map_err(failed)?;
        file.take(self.length).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 == self.length { Ok(bytes) } else { Err(self.beyond(size)) }
    }
}

/// The range that the entries name, which must have the `expected` bytes. The file is not looked at.
pub(super) fn tensor_range(entries: &[Bytes], expected: u64) -> Result<TensorRange, TensorFault> {
    let DataRange { location, offset, length } = data_range(entries)?;
    let location = location.ok_or(TensorFault::NoLocation)?;
    if let Some(found) = length.filter(|&length| length != expected) {
        return Err(TensorFault::Length { field: "external_data", unit: "bytes", expected, found });
    }
    Ok(TensorRange { location, offset: offset.unwrap_or(0), length: expected, to_end: length.is_none() })
}

/// Reads the entries of `external_data`, each a `StringStringEntryProto`.
pub(crate) fn data_range(entries: &[Bytes]) -> Result<DataRange, TensorFault> {
    let mut range = DataRange::default();
    for entry in entries {
        let entry = parse_message(entry.clone(), "StringStringEntryProto");
        let StringStringEntryProto { key, value } = entry.map_err(|error| match error {
            MessageError::Tensor { fault, .. } => fault,
            _ => TensorFault::ExternalEntry { key: String::new(), value: "not a string".to_owned() },
        })?;
        let number = value.parse::<u64>().ok();
        let known = match key.as_str() {
            "location" => range.location.replace(value.clone()).is_none(),
            "offset" => number.is_some() && std::mem::replace(&mut range.offset, number).is_none(),
            "length" => number.is_some() && std::mem::replace(&mut range.length, number).is_none(),
            "checksum" => true,
            _ => false,
        };
        if !known {
            return Err(TensorFault::ExternalEntry { key, value });
        }
    }
    Ok(range)
}
