//! The causes of errors.

use std::path::PathBuf;
use std::{fmt, io};

use wgpu_cast::{ElementType, Error};

use super::faults::Fault;
use crate::text::{counted, cut, quoted};

/// What is wrong. A program can act upon most variants by their fields. [`TooLarge`](Self::TooLarge),
/// [`Malformed`](Self::Malformed), [`Unsupported`](Self::Unsupported) and [`Request`](Self::Request) have only a text.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileCause {
    /// An input cannot be read, or is shorter than its header says.
    #[non_exhaustive]
    Read {
        /// The number of bytes that were to be read, if it is known.
        bytes: Option<u64>,
        /// The error of the system.
        error: io::Error,
    },
    /// The output cannot be written.
    Write(io::Error),
    /// Memory could not be allocated.
    #[non_exhaustive]
    OutOfMemory {
        /// The number of bytes that were requested.
        bytes: u64,
    },
    /// A size overflows, or is more than the format allows.
    TooLarge(FileFault),
    /// The caller must give the element type, or another one. The dtype is one of raw bytes, in which ml_dtypes writes its
    /// types, or the elements of the type that the caller gave have another size.
    #[non_exhaustive]
    ElementTypeNeeded {
        /// The dtype of the array.
        dtype: String,
        /// The size of an element in bytes.
        bytes: u64,
        /// The element type that the caller gave, if any. Its elements do not have the size `bytes`.
        given: Option<ElementType>,
    },
    /// The element type that the caller gave is not that of the elements.
    #[non_exhaustive]
    ElementTypeContradicted {
        /// The dtype, for arrays of numpy.
        dtype: Option<String>,
        /// The element type of the elements.
        found: ElementType,
        /// The element type that the caller gave.
        given: ElementType,
    },
    /// The dtype is unknown, is no element type of ONNX, or has several fields.
    #[non_exhaustive]
    DtypeNotSupported {
        /// The dtype of the array.
        dtype: String,
        /// What is not supported about the dtype, in words.
        what: &'static str,
    },
    /// The format has no such element type.
    #[non_exhaustive]
    NoSuchType {
        /// The format.
        format: &'static str,
        /// The element type that was asked for.
        element_type: ElementType,
        /// The element types of the format.
        known: Vec<ElementType>,
    },
    /// The data is shorter or longer than its elements need.
    #[non_exhaustive]
    DataLength {
        /// The element type.
        element_type: ElementType,
        /// The number of elements.
        elements: u64,
        /// The size that the elements need in bytes.
        expected: u64,
        /// The size of the data in bytes.
        found: u64,
    },
    /// The data is in an external file, but the caller gave no folder.
    FolderNeeded,
    /// The path that the caller gave for the folder of external data cannot be resolved.
    #[non_exhaustive]
    ModelPath {
        /// The path that the caller gave: of the model, or of its folder.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// A file of external data is not inside the folder of the model. If the model is a link, the file is not inside the
    /// folder of the link's target either.
    #[non_exhaustive]
    OutsideFolder {
        /// The name of the file, as the model or the caller gave it.
        location: String,
        /// Whether a link leads out of the folder. Otherwise the name itself is not a relative path inside it.
        is_link: bool,
    },
    /// A cast failed, or the rules of the operator do not allow it.
    Cast(Error),
    /// The input does not follow the rules of its format.
    Malformed(FileFault),
    /// The input is valid, but is not supported here. Or the output's format cannot contain what is to be written.
    Unsupported(FileFault),
    /// An argument of the caller does not fit the file, the plan or the model.
    Request(FileFault),
}

/// What is wrong in detail, as text.
#[derive(Debug)]
pub struct FileFault(pub(super) Fault);

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FileCause {
    pub(super) fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read { error, .. } | Self::Write(error) | Self::ModelPath { error, .. } => Some(error),
            Self::Cast(error) => Some(error),
            _ => None,
        }
    }

    /// Writes the text, with the offset where it is known.
    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, offset: Option<u64>) -> fmt::Result {
        let at = offset.map(|offset| format!(" at offset {offset}")).unwrap_or_default();
        match self {
            Self::Read { bytes: Some(bytes), error } => {
                write!(f, "cannot read {}{at}: {error}", counted(*bytes, "byte"))
            }
            Self::Read { bytes: None, error } => write!(f, "cannot read{at}: {error}"),
            Self::Write(error) => write!(f, "cannot write{at}: {error}"),
            _ => fmt::Display::fmt(self, f),
        }
    }
}

impl fmt::Display for FileCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { .. } | Self::Write(_) => self.write(f, None),
            Self::OutOfMemory { bytes } => write!(f, "out of memory (requested {})", counted(*bytes, "byte")),
            Self::ElementTypeNeeded { dtype, given: None, .. } => {
                write!(f, "dtype '{}' does not determine the element type", shown(dtype))
            }
            Self::ElementTypeNeeded { dtype, bytes, given: Some(given) } => {
                let (dtype, bytes) = (shown(dtype), counted(*bytes, "byte"));
                let needed = given.bits().unwrap_or(0).div_ceil(8);
                write!(f, "dtype '{dtype}' has {bytes} per element, {given} needs {needed}")
            }
            Self::ElementTypeContradicted { dtype: Some(dtype), found, given } => {
                write!(f, "dtype '{}' is {found}, which contradicts {given}", shown(dtype))
            }
            Self::ElementTypeContradicted { dtype: None, found, given } => {
                write!(f, "contains {found}, which cannot be read as {given}")
            }
            Self::DtypeNotSupported { dtype, what } => {
                write!(f, "dtype '{}' is not supported: {what}", shown(dtype))
            }
            Self::NoSuchType { format, element_type, known } => {
                let known: Vec<_> = known.iter().map(|known| known.name()).collect();
                write!(f, "{format} has no element type {element_type} (it has {})", known.join(", "))
            }
            Self::DataLength { element_type, elements, expected, found } => {
                let (elements, expected) = (counted(*elements, "element"), counted(*expected, "byte"));
                write!(f, "expected {expected} for {elements} of {element_type}, got {found}")
            }
            Self::FolderNeeded => f.write_str("the data is in an external file, but no folder was given"),
            Self::ModelPath { path, error } => {
                let path = quoted(&path.to_string_lossy());
                write!(f, "the data is in an external file, but the model's path {path} cannot be resolved: {error}")
            }
            Self::OutsideFolder { location, is_link } => {
                let what = match is_link {
                    true => "a link that leads out of the model's folder",
                    false => "not a relative path inside the model's folder",
                };
                write!(f, "external_data location {} is {what}", quoted(location))
            }
            Self::Cast(error) => fmt::Display::fmt(error, f),
            Self::TooLarge(fault) | Self::Malformed(fault) | Self::Unsupported(fault) | Self::Request(fault) => {
                fmt::Display::fmt(fault, f)
            }
        }
    }
}

/// A dtype for a message, cut if it is long: a structured dtype can have any number of fields.
fn shown(dtype: &str) -> String {
    cut(dtype, 200)
}
