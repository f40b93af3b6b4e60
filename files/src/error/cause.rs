//! What can be wrong.

use std::path::PathBuf;
use std::{fmt, io};

use wgpu_cast::{ElementType, Error};

use super::faults::Fault;
use crate::text::{counted, cut, quoted};

/// What is wrong. Callers may act upon most variants; [`TooLarge`](Self::TooLarge), [`Malformed`](Self::Malformed),
/// [`Unsupported`](Self::Unsupported) and [`Request`](Self::Request) are for people, who read the text.
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
    /// There is no memory.
    #[non_exhaustive]
    OutOfMemory {
        /// Bytes that were requested.
        bytes: u64,
    },
    /// A size overflows, or is more than the format allows.
    TooLarge(FileFault),
    /// The caller must tell the element type: the array has codes of raw bytes. ml_dtypes writes its types so.
    #[non_exhaustive]
    ElementTypeNeeded {
        /// The dtype of the array.
        dtype: String,
        /// The size of an element in bytes.
        bytes: u64,
        /// The element type that the caller gave, whose elements have another size.
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
    /// The elements have a type that is no element type of ONNX.
    #[non_exhaustive]
    DtypeNotSupported {
        /// The dtype of the array.
        dtype: String,
        /// What numpy calls it.
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
    /// The data is shorter or longer than the elements are.
    #[non_exhaustive]
    DataLength {
        /// The element type.
        element_type: ElementType,
        /// The number of elements.
        elements: u64,
        /// The size that they need in bytes.
        expected: u64,
        /// The size of the data in bytes.
        found: u64,
    },
    /// The data is in an external file, but the caller gave no folder.
    FolderNeeded,
    /// The path that the caller gave for the folder of external data cannot be resolved.
    #[non_exhaustive]
    ModelPath {
        /// The path of the model or of its folder.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// A file of external data is not inside the folder of the model, nor of the file to which the model is a link.
    #[non_exhaustive]
    OutsideFolder {
        /// The name of the file, as the model or the caller gives it.
        location: String,
        /// Whether the name itself is one of a file inside, but a link leads out.
        is_link: bool,
    },
    /// A cast failed, or the rules of its operator do not allow it.
    Cast(Error),
    /// The input is not valid by its format.
    Malformed(FileFault),
    /// The input is valid, but not supported here, or the format cannot contain what is to be written.
    Unsupported(FileFault),
    /// What the caller asks for does not fit.
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

    /// Writes the text, with the first byte where it is known.
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

/// A dtype, of which structured ones may be long.
fn shown(dtype: &str) -> String {
    cut(dtype, 200)
}
