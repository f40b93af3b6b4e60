//! The files that are converted, and their outputs.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use wgpu_cast_files::InputFile;

use super::input::Input;
use crate::failure::Failure;
use crate::files::FileFormat;
use crate::temporary;

/// Where an output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    File(PathBuf),
    Stdout,
}

impl Target {
    /// The folder of a file.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Target::File(path) => path.parent(),
            Target::Stdout => None,
        }
    }

    /// The path of the output. For standard output, it is the path of the file to which that leads.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Stdout => Path::new("/dev/stdout"),
        }
    }
}

/// Whether two paths name one folder that exists.
pub fn is_same_folder(one: &Path, other: &Path) -> bool {
    one.canonicalize().ok().zip(other.canonicalize().ok()).is_some_and(|(one, other)| one == other)
}

/// One file to convert.
#[derive(Debug)]
pub struct Pair {
    pub input: PathBuf,
    pub input_format: FileFormat,
    pub output: Target,
    pub output_format: FileFormat,
}

/// The path beside which an input's external data is. For standard input, the data is in the current folder.
pub fn beside(path: &Path) -> &Path {
    if path == Path::new("-") { Path::new("") } else { path }
}

/// Opens an input. `-` is standard input. It is first stored in a temporary file, because inputs are not read from
/// front to back.
///
/// # Errors
/// It cannot be read.
pub fn open(path: &Path) -> Result<Input, Failure> {
    let fail = |error: io::Error| Failure::at(path, error);
    let stored = |from: Box<dyn io::Read>| Ok(Input::Temporary(InputFile::new(temporary::store(path, from)?)));
    if path == Path::new("-") {
        return stored(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    match metadata.is_file() || metadata.is_dir() {
        true if metadata.is_dir() => Err(Failure::at(path, "it is a folder")),
        true if metadata.len() == 0 && has_bytes(&file) => stored(Box::new(File::open(path).map_err(fail)?)),
        true => Ok(Input::named(path, file, &metadata)),
        false => stored(Box::new(file)),
    }
}

/// Opens a file that the user has not named. It must be regular: a pipe or a device may have no end, or no writer.
///
/// # Errors
/// It is no regular file, or cannot be read.
pub fn open_regular(path: &Path) -> Result<Input, Failure> {
    check_regular(path)?;
    open(path)
}

/// Refuses a path that is no regular file.
///
/// # Errors
/// It is a folder, a pipe or a device, or does not exist.
pub fn check_regular(path: &Path) -> Result<Metadata, Failure> {
    let metadata = fs::metadata(path).map_err(|error| Failure::at(path, error))?;
    if metadata.is_file() { Ok(metadata) } else { Err(Failure::at(path, "it is not a regular file")) }
}

/// Whether a file can be read from. Some files tell no size, such as those in /proc.
fn has_bytes(mut file: &File) -> bool {
    file.read(&mut [0]).is_ok_and(|read| read > 0)
}

/// The text of a regular file. An error names the file as `what`.
///
/// # Errors
/// It is no regular file, has more bytes than `limit`, or cannot be read.
pub fn read_text(path: &Path, what: &str, limit: u64) -> Result<String, Failure> {
    let refuse_beyond = |bytes: u64| match bytes {
        _ if bytes <= limit => Ok(()),
        _ => Err(Failure::at(path, format!("{what} has {bytes} bytes, the limit is {limit}"))),
    };
    refuse_beyond(check_regular(path)?.len())?;
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(limit.saturating_add(1)).read_to_string(&mut text));
    read.map_err(|error| Failure::at(path, error))?;
    // The size may be wrong: some files tell none, and others grow.
    refuse_beyond(text.len() as u64)?;
    Ok(text)
}
