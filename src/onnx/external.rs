//! Tensor data in a file beside the model. A hostile model may name any other file, so the path is checked before the
//! file is read.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use prost::Message;

use super::proto::StringStringEntryProto;
use crate::error::TensorFault;
use crate::packing;

/// Where the data is.
pub(super) struct DataRange {
    location: String,
    offset: u64,
    /// The bytes that the tensor takes.
    length: u64,
    /// Whether the data extends to the end of the file.
    to_end: bool,
}

/// The files of a folder, and what has been read of them. Initializers may name the same data any number of times; they
/// share the memory.
pub(super) struct ExternalFiles<'a> {
    folder: Option<&'a Path>,
    read: HashMap<Part, Arc<Vec<u8>>>,
}

/// The path, the offset and length of the data, and which bits of the last byte are used: the others are cleared.
type Part = (PathBuf, u64, u64, u8);

impl<'a> ExternalFiles<'a> {
    pub(super) fn new(folder: Option<&'a Path>) -> Self {
        Self { folder, read: HashMap::new() }
    }

    /// The data of so many codes. Unused bits of the last byte are zero.
    pub(super) fn data(
        &mut self,
        range: &DataRange,
        code_bits: u32,
        elements: u64,
    ) -> Result<Arc<Vec<u8>>, TensorFault> {
        let (path, seen) = resolve(&range.location, self.folder.ok_or(TensorFault::NoFolder)?)?;
        let part = (path, range.offset, range.length, packing::used_bits(code_bits, elements));
        let fits = !range.to_end || range.offset.saturating_add(range.length) == seen.len();
        if let Some(bytes) = self.read.get(&part).filter(|_| fits) {
            return Ok(bytes.clone());
        }
        let mut bytes = range.read(&part.0, &seen)?;
        packing::clear_pad(&mut bytes, code_bits, elements);
        let bytes = Arc::new(bytes);
        self.read.insert(part, bytes.clone());
        Ok(bytes)
    }
}

/// Data that was found in an open file.
#[cfg(feature = "files")]
pub(crate) struct ExternalData {
    pub file: File,
    /// The first byte of the data, all of which the file has.
    pub offset: u64,
}

/// Opens the file that has the `expected` bytes that a tensor takes.
#[cfg(feature = "files")]
pub(crate) fn open(entries: &[Bytes], folder: Option<&Path>, expected: u64) -> Result<ExternalData, TensorFault> {
    let range = data_range(entries, expected)?;
    let (path, seen) = resolve(&range.location, folder.ok_or(TensorFault::NoFolder)?)?;
    let (file, _) = range.open(&path, &seen)?;
    Ok(ExternalData { file, offset: range.offset })
}

impl DataRange {
    /// Opens the file, which has the data, and returns its size.
    fn open(&self, path: &Path, seen: &Metadata) -> Result<(File, u64), TensorFault> {
        let (location, offset, length) = (self.location.clone(), self.offset, self.length);
        let failed = |error: std::io::Error| failed(&self.location, &error);
        let file = File::open(path).map_err(failed)?;
        // The opened file is checked again, because the path may name another file by now.
        let metadata = file.metadata().map_err(failed)?;
        plain(&location, &metadata)?;
        if !same(seen, &metadata) {
            return Err(TensorFault::NotPlain { location, what: "not the same file as when it was checked" });
        }
        if names(&file, &metadata).map_err(failed)? > 1 {
            // The file's other names may lie outside the model's folder.
            return Err(TensorFault::NotPlain { location, what: "a file with several hard links" });
        }
        let size = metadata.len();
        let beyond = || TensorFault::BeyondFile { location: location.clone(), offset, length, size };
        let end = offset.checked_add(length).filter(|&end| end <= size).ok_or_else(beyond)?;
        if self.to_end && end != size {
            let found = size - offset;
            return Err(TensorFault::Length { field: "external_data", unit: "bytes", expected: length, found });
        }
        Ok((file, size))
    }

    fn read(&self, path: &Path, seen: &Metadata) -> Result<Vec<u8>, TensorFault> {
        let (mut file, size) = self.open(path, seen)?;
        let failed = |error: std::io::Error| failed(&self.location, &error);
        let (location, offset, length) = (self.location.clone(), self.offset, self.length);
        let memory = |_| TensorFault::OutOfMemory { bytes: length };
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX)).map_err(memory)?;
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        file.take(length).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 == length {
            return Ok(bytes);
        }
        Err(TensorFault::BeyondFile { location, offset, length, size })
    }
}

/// The range that the entries name, which must have the `expected` bytes. The file is not looked at.
pub(super) fn data_range(entries: &[Bytes], expected: u64) -> Result<DataRange, TensorFault> {
    let (mut location, mut offset, mut length) = (None, None, None);
    for entry in entries {
        let StringStringEntryProto { key, value } = StringStringEntryProto::decode(entry.clone())
            .map_err(|_| TensorFault::ExternalEntry { key: String::new(), value: "not a string".to_owned() })?;
        let number = value.parse::<u64>().ok();
        let known = match key.as_str() {
            "location" => location.replace(value.clone()).is_none(),
            "offset" => number.is_some() && std::mem::replace(&mut offset, number).is_none(),
            "length" => number.is_some() && std::mem::replace(&mut length, number).is_none(),
            "checksum" => true,
            _ => false,
        };
        if !known {
            return Err(TensorFault::ExternalEntry { key, value });
        }
    }
    let location = location.ok_or(TensorFault::NoLocation)?;
    if let Some(found) = length.filter(|&length| length != expected) {
        return Err(TensorFault::Length { field: "external_data", unit: "bytes", expected, found });
    }
    Ok(DataRange { location, offset: offset.unwrap_or(0), length: expected, to_end: length.is_none() })
}

fn failed(location: &str, error: &std::io::Error) -> TensorFault {
    TensorFault::Read { location: location.to_owned(), reason: error.to_string() }
}

/// The file's path, which has only plain names below the folder, and the file's metadata.
fn resolve(location: &str, folder: &Path) -> Result<(PathBuf, Metadata), TensorFault> {
    let escape = || TensorFault::Escape { location: location.to_owned() };
    let failed = |error: std::io::Error| failed(location, &error);
    let mut path = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_owned() };
    let mut metadata = None;
    for component in Path::new(location).components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::CurDir => continue,
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => return Err(escape()),
        }
        let found = path.symlink_metadata().map_err(failed)?;
        if found.is_symlink() {
            return Err(TensorFault::NotPlain { location: location.to_owned(), what: "or contains a symbolic link" });
        }
        metadata = Some(found);
    }
    let metadata = metadata.ok_or_else(escape)?;
    plain(location, &metadata)?;
    Ok((path, metadata))
}

/// Checks that this is a regular file: pipes and devices could block or never end.
fn plain(location: &str, metadata: &Metadata) -> Result<(), TensorFault> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(TensorFault::NotPlain { location: location.to_owned(), what: "not a regular file" })
}

/// Whether both are the metadata of the same file.
#[cfg(unix)]
fn same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// The standard library cannot tell on these systems.
#[cfg(not(unix))]
fn same(_: &Metadata, _: &Metadata) -> bool {
    true
}

/// How many names (hard links) an open file has.
#[cfg(unix)]
fn names(_: &File, metadata: &Metadata) -> std::io::Result<u64> {
    Ok(std::os::unix::fs::MetadataExt::nlink(metadata))
}

#[cfg(windows)]
fn names(file: &File, _: &Metadata) -> std::io::Result<u64> {
    winapi_util::file::information(file).map(|information| information.number_of_links())
}

/// Other systems have no hard links, or no files.
#[cfg(not(any(unix, windows)))]
fn names(_: &File, _: &Metadata) -> std::io::Result<u64> {
    Ok(1)
}
