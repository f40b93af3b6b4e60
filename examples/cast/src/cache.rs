//! The file that keeps a driver's pipelines between runs. Anything may be at its path. So only a regular file of this
//! user is read, and the file is never written to, but replaced.

use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::hash::{DefaultHasher, Hasher};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use crate::atomic::partial::open_itself;
use crate::failure::reason;

/// Bytes of the checksum before the driver's data.
const CHECKSUM: usize = 8;

/// The largest file that is read or written.
const LARGEST: usize = 64 << 20;

/// The driver's data. `None` if there is no file, or if the file is damaged: a driver may trust the data without
/// checks.
///
/// # Errors
/// The path is not that of a file of this user alone, or the file cannot be read.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let folder = path.parent().unwrap_or(path);
    let missing = |error: &std::io::Error| error.kind() == ErrorKind::NotFound;
    match folder.symlink_metadata() {
        Err(error) if missing(&error) => return Ok(None),
        Err(error) => return Err(error.to_string()),
        Ok(metadata) => check_folder(&metadata)?,
    }
    let file = match open_itself(OpenOptions::new().read(true), path) {
        Err(error) if missing(&error) => return Ok(None),
        Err(_) if path.is_symlink() => return Err("it is a symbolic link".to_owned()),
        Err(error) => return Err(error.to_string()),
        Ok(file) => file,
    };
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    check_owner(&metadata)?;
    let mut bytes = Vec::new();
    file.take(LARGEST as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() > LARGEST {
        return Err(format!("it has more than {LARGEST} bytes"));
    }
    let whole = bytes.split_at_checked(CHECKSUM).is_some_and(|(sum, data)| *sum == checksum(data));
    Ok(whole.then(|| bytes.split_off(CHECKSUM)))
}

/// Replaces the file.
///
/// # Errors
/// The file system refuses it.
pub fn write(path: &Path, data: &[u8]) -> Result<(), String> {
    if CHECKSUM + data.len() > LARGEST {
        return Err(format!("it would have more than {LARGEST} bytes"));
    }
    let folder = path.parent().unwrap_or(path);
    create_folder(folder).map_err(|error| error.to_string())?;
    check_folder(&folder.symlink_metadata().map_err(|error| error.to_string())?)?;
    let mut builder = tempfile::Builder::new();
    let mut file = builder.prefix(".cast-").suffix(".tmp").tempfile_in(folder).map_err(|error| reason(&error))?;
    let written = file.write_all(&checksum(data)).and_then(|()| file.write_all(data));
    written.map_err(|error| reason(&error))?;
    file.persist(path).map(drop).map_err(|error| reason(&error.error))
}

fn checksum(data: &[u8]) -> [u8; CHECKSUM] {
    let mut hasher = DefaultHasher::new();
    hasher.write(data);
    hasher.finish().to_le_bytes()
}

fn check_folder(metadata: &Metadata) -> Result<(), String> {
    if !metadata.is_dir() {
        return Err("its folder is a symbolic link or not a folder".to_owned());
    }
    check_owner(metadata).map_err(|what| format!("in its folder: {what}"))
}

#[cfg(unix)]
fn check_owner(metadata: &Metadata) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;
    let others_write = metadata.mode() & 0o022 != 0;
    match metadata.uid() == rustix::process::geteuid().as_raw() {
        false => Err("it belongs to another user".to_owned()),
        true if others_write => Err("other users can write to it".to_owned()),
        true => Ok(()),
    }
}

/// The user's cache folder is the user's own on these systems.
#[cfg(not(unix))]
fn check_owner(_: &Metadata) -> Result<(), String> {
    Ok(())
}

#[cfg(unix)]
fn create_folder(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create_folder(folder: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).create(folder)
}
