//! Tensor data in a file beside the model. A hostile model may name any other file, so the path is checked before the
//! file is read.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::memory::parse_message;
use super::proto::StringStringEntryProto;
use crate::error::{Error, TensorFault};
use crate::packing;

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
        range: &TensorRange,
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
#[cfg(all(feature = "files", any(unix, windows)))]
pub(crate) struct ExternalData {
    pub file: File,
    /// The first byte of the data, all of which the file has.
    pub offset: u64,
}

/// Opens the file that has the `expected` bytes that a tensor takes.
#[cfg(all(feature = "files", any(unix, windows)))]
pub(crate) fn open_data(entries: &[Bytes], folder: &Path, expected: u64) -> Result<ExternalData, TensorFault> {
    let range = tensor_range(entries, expected)?;
    let (file, size) = open(&range.location, folder)?;
    range.check(size)?;
    Ok(ExternalData { file, offset: range.offset })
}

/// Opens a file that a model names; the result's second part is its size in bytes.
#[cfg(all(feature = "files", any(unix, windows)))]
pub(crate) fn open(location: &str, folder: &Path) -> Result<(File, u64), TensorFault> {
    let (path, seen) = resolve(location, folder)?;
    open_resolved(location, &path, &seen)
}

fn open_resolved(location: &str, path: &Path, seen: &Metadata) -> Result<(File, u64), TensorFault> {
    let failed = |error: std::io::Error| failed(location, &error);
    let file = File::open(path).map_err(failed)?;
    // The opened file is checked again, because the path may name another file by now.
    let metadata = file.metadata().map_err(failed)?;
    plain(location, &metadata)?;
    let not_plain = |what| TensorFault::NotPlain { location: location.to_owned(), what };
    if !same(seen, &metadata) {
        return Err(not_plain("not the same file as when it was checked"));
    }
    if names(&file, &metadata).map_err(failed)? > 1 {
        // The file's other names may lie outside the model's folder.
        return Err(not_plain("a file with several hard links"));
    }
    Ok((file, metadata.len()))
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

    fn read(&self, path: &Path, seen: &Metadata) -> Result<Vec<u8>, TensorFault> {
        let (mut file, size) = open_resolved(&self.location, path, seen)?;
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

fn failed(location: &str, error: &std::io::Error) -> TensorFault {
    TensorFault::Read { location: location.to_owned(), reason: error.to_string() }
}

/// Reads the entries of `external_data`, each a `StringStringEntryProto`.
pub(crate) fn data_range(entries: &[Bytes]) -> Result<DataRange, TensorFault> {
    let mut range = DataRange::default();
    for entry in entries {
        let entry = parse_message(entry.clone(), "StringStringEntryProto");
        let StringStringEntryProto { key, value } = entry.map_err(|error| match error {
            Error::Tensor { fault, .. } => fault,
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

/// The file's path, which has only plain names below the folder, and the file's metadata.
fn resolve(location: &str, folder: &Path) -> Result<(PathBuf, Metadata), TensorFault> {
    let failed = |error: std::io::Error| failed(location, &error);
    let mut path = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_owned() };
    let mut metadata = None;
    for name in plain_names(location)? {
        path.push(name);
        let found = path.symlink_metadata().map_err(failed)?;
        if found.is_symlink() {
            return Err(TensorFault::NotPlain { location: location.to_owned(), what: "or contains a symbolic link" });
        }
        metadata = Some(found);
    }
    let metadata = metadata.ok_or_else(|| TensorFault::Escape { location: location.to_owned() })?;
    plain(location, &metadata)?;
    Ok((path, metadata))
}

/// The names of a path's folders and of its file, which must lie below the folder from which the path leads. There is
/// at least one.
pub(crate) fn plain_names(location: &str) -> Result<Vec<&OsStr>, TensorFault> {
    let escape = || TensorFault::Escape { location: location.to_owned() };
    let mut names = Vec::new();
    for component in Path::new(location).components() {
        match component {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => return Err(escape()),
        }
    }
    if names.is_empty() { Err(escape()) } else { Ok(names) }
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

#[cfg(all(test, unix))]
mod tests {
    #[test]
    fn two_files_are_not_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| {
            std::fs::write(folder.path().join(name), "").unwrap();
            folder.path().join(name).metadata().unwrap()
        });
        assert!(super::same(&a, &a) && !super::same(&a, &b));
    }
}
