//! The error of this package: a place and a cause.

mod cause;
mod faults;

use std::fmt;

use wgpu_cast::Error;

use crate::text::of_tensor;

pub use cause::{FileCause, FileFault};
pub(crate) use faults::{NpyFault, NpzFault, PlanFault, SafetensorsFault};

/// An error of reading, planning, writing or running files: its [`cause`](Self::cause), and what is known of the place.
/// Paths are not in it, because the caller has them.
pub struct FileError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    place: Place,
    cause: FileCause,
}

/// Where something is wrong.
#[derive(Debug, Default)]
struct Place {
    format: Option<&'static str>,
    input: Option<usize>,
    tensor: Option<String>,
    offset: Option<u64>,
}

impl FileError {
    /// What is wrong.
    pub fn cause(&self) -> &FileCause {
        &self.0.cause
    }

    /// What is wrong, without the place.
    pub fn into_cause(self) -> FileCause {
        self.0.cause
    }

    /// What was read or planned, such as `safetensors file`, `.npy file` or `TensorProto`.
    pub fn format(&self) -> Option<&'static str> {
        self.0.place.format
    }

    /// The index of the input among those of a plan.
    pub fn input(&self) -> Option<usize> {
        self.0.place.input
    }

    /// The name of the tensor, or of the array of an archive.
    pub fn tensor(&self) -> Option<&str> {
        self.0.place.tensor.as_deref()
    }

    /// The first byte of what cannot be read, written or understood, in the input or in the output.
    pub fn offset(&self) -> Option<u64> {
        self.0.place.offset
    }

    /// The error with this format, if it has none yet: the innermost place is the most exact one.
    pub(crate) fn in_format(mut self, format: &'static str) -> Self {
        self.0.place.format.get_or_insert(format);
        self
    }

    /// The error with the index of the input, if it has none yet.
    pub(crate) fn of_input(mut self, input: usize) -> Self {
        self.0.place.input.get_or_insert(input);
        self
    }

    /// The error with the name of the tensor, if it has none yet. Some files have one tensor without a name.
    pub(crate) fn of_tensor(mut self, name: &str) -> Self {
        if !name.is_empty() {
            self.0.place.tensor.get_or_insert_with(|| name.to_owned());
        }
        self
    }

    /// The error with the first byte, if it has none yet.
    pub(crate) fn at(mut self, offset: u64) -> Self {
        self.0.place.offset.get_or_insert(offset);
        self
    }
}

impl From<FileCause> for FileError {
    fn from(cause: FileCause) -> Self {
        Self(Box::new(Inner { place: Place::default(), cause }))
    }
}

impl From<Error> for FileError {
    fn from(error: Error) -> Self {
        FileCause::Cast(error).into()
    }
}

impl fmt::Debug for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { place, cause } = &*self.0;
        f.debug_struct("FileError").field("place", place).field("cause", cause).finish()
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { place, cause } = &*self.0;
        match (&place.tensor, place.format, cause) {
            (Some(name), ..) => f.write_str(&of_tensor(name))?,
            (None, Some(format), FileCause::Malformed(_)) => write!(f, "not a valid {format}: ")?,
            _ => {}
        }
        cause.write(f, place.offset)
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.source()
    }
}
