//! Tensor data in a file beside the model. A hostile model may name any other file, so the path is checked before the
//! file is read.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use prost::Message;

use super::proto::StringStringEntryProto;
use crate::error::TensorFault;

/// Where the data is.
#[derive(Default)]
pub(crate) struct DataRange {
    /// The path of the file, which is not checked.
    pub location: Option<String>,
    /// The first byte.
    pub offset: Option<u64>,
    /// The number of bytes.
    pub length: Option<u64>,
}

/// Reads the `expected` bytes that a tensor takes.
pub(super) fn read(entries: &[Bytes], folder: Option<&Path>, expected: u64) -> Result<Vec<u8>, TensorFault> {
    let range = data_range(entries)?;
    let location = range.location.ok_or(TensorFault::NoLocation)?;
    let length = range.length.unwrap_or(expected);
    if length != expected {
        return Err(TensorFault::Length { field: "external_data", unit: "bytes", expected, found: length });
    }
    let (mut file, size) = open(&location, folder.ok_or(TensorFault::NoFolder)?)?;
    let failed = |error: std::io::Error| TensorFault::Read { location: location.clone(), reason: error.to_string() };
    let offset = range.offset.unwrap_or(0);
    let beyond = || TensorFault::BeyondFile { location: location.clone(), offset, length, size };
    // Without a length, the data extends to the end of the file.
    let end = offset.checked_add(length).filter(|&end| end <= size).ok_or_else(beyond)?;
    if range.length.is_none() && end != size {
        let found = size - offset;
        return Err(TensorFault::Length { field: "external_data", unit: "bytes", expected, found });
    }
    let memory = |_| TensorFault::OutOfMemory { bytes: length };
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX)).map_err(memory)?;
    file.seek(SeekFrom::Start(offset)).map_err(failed)?;
    file.take(length).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(beyond()) }
}

/// Opens a file that a model names; the result's second part is its size in bytes.
pub(crate) fn open(location: &str, folder: &Path) -> Result<(File, u64), TensorFault> {
    let (path, seen) = resolve(location, folder)?;
    let failed = |error: std::io::Error| TensorFault::Read { location: location.to_owned(), reason: error.to_string() };
    let file = File::open(&path).map_err(failed)?;
    // The opened file is checked again, because the path may name another file by now.
    let metadata = file.metadata().map_err(failed)?;
    plain(location, &metadata)?;
    let not_plain = |what| TensorFault::NotPlain { location: location.to_owned(), what };
    if !same(&seen, &metadata) {
        return Err(not_plain("not the same file as when it was checked"));
    }
    if names(&file, &metadata).map_err(failed)? > 1 {
        // The file's other names may lie outside the model's folder.
        return Err(not_plain("a file with several hard links"));
    }
    Ok((file, metadata.len()))
}

/// Reads the entries of `external_data`, each a `StringStringEntryProto`.
pub(crate) fn data_range(entries: &[Bytes]) -> Result<DataRange, TensorFault> {
    let mut range = DataRange::default();
    for entry in entries {
        let StringStringEntryProto { key, value } = StringStringEntryProto::decode(entry.clone())
            .map_err(|_| TensorFault::ExternalEntry { key: String::new(), value: "not a string".to_owned() })?;
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
    let failed = |error: std::io::Error| TensorFault::Read { location: location.to_owned(), reason: error.to_string() };
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
