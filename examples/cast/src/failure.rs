//! The failure of a command.

use std::path::Path;

use wgpu_cast::Error;
use wgpu_cast_files::{FileCause, FileError};

use crate::text::printable;

/// Why a command failed, by exit status.
#[derive(Debug)]
pub enum Failure {
    /// The command line is invalid: exit status 2.
    Usage(String),
    /// Any other error, such as one of files or adapters: exit status 1.
    Work(String),
}

impl Failure {
    /// The exit status.
    pub fn status(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::Work(_) => 1,
        }
    }

    /// A failure about one file.
    pub fn at(path: &Path, what: impl std::fmt::Display) -> Self {
        Failure::Work(format!("{}: {what}", printable(&path.to_string_lossy())))
    }

    /// A failure to write a file.
    pub fn write(path: &Path, error: impl std::fmt::Display) -> Self {
        Self::at(path, format_args!("cannot write: {error}"))
    }
}

/// The system's reason for an error of a temporary file, without the file's name, which means nothing to the user.
pub fn reason(error: &std::io::Error) -> String {
    let inner = error.get_ref().and_then(std::error::Error::source);
    inner.map_or_else(|| error.to_string(), ToString::to_string)
}

impl std::fmt::Display for Failure {
    /// Prints one line, even if the message of a driver or a library has several.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Failure::Usage(message) | Failure::Work(message)) = self;
        for (index, line) in message.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate() {
            write!(f, "{}{line}", if index == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        match error.cause() {
            FileCause::Cast(cause) if error.element().is_none() => cause.clone().into(),
            _ => Failure::Work(error.to_string()),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let usage =
            matches!(error, Error::UnknownOpset { .. } | Error::TypeNotInOpset { .. } | Error::UnknownAttribute { .. });
        if usage { Failure::Usage(error.to_string()) } else { Failure::Work(error.to_string()) }
    }
}
