//! Temporary files without names.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use crate::failure::{Failure, reason};

/// The variable that names the folder of temporary files.
const VARIABLE: &str = if cfg!(windows) { "TMP" } else { "TMPDIR" };

/// A new temporary file.
///
/// # Errors
/// As [`failed`].
pub fn file() -> Result<File, Failure> {
    tempfile::tempfile().map_err(|error| failed(&error))
}

/// A failure to write a temporary file, which names its folder.
pub fn failed(error: &std::io::Error) -> Failure {
    let what = format_args!("cannot write a temporary file: {} ({VARIABLE} chooses the folder)", reason(error));
    Failure::at(&std::env::temp_dir(), what)
}

/// Stores the rest of an input in a temporary file.
///
/// # Errors
/// The input with this name cannot be read, or as [`failed`].
pub fn store(name: &Path, mut input: impl Read) -> Result<File, Failure> {
    let mut file = file()?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(file),
            Ok(read) => file.write_all(&buffer[..read]).map_err(|error| failed(&error))?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::at(name, error)),
        }
    }
}
