//! The error of this package: a place and a cause.

mod cause;
mod faults;
mod onnx;

use std::fmt;

use wgpu_cast::Error;

use crate::text::{of_tensor, quoted};

pub use cause::{FileCause, FileFault};
pub(crate) use faults::{BlockFault, NpyFault, NpzFault, PlanFault, SafetensorsFault, ScaleFault};
pub(crate) use onnx::{ModelFault, TensorFault};

/// An error of reading, planning, writing or running files. It has a [`cause`](Self::cause), and a place as far as that is
/// known. The place has no path, because the caller has it.
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
    element: Option<String>,
    tensor: Option<String>,
    location: Option<String>,
    offset: Option<u64>,
}

impl FileError {
    /// What is wrong, without the place.
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

    /// A node or another part of a model, such as `node "a"` or `initializer 3 of the graph`.
    pub fn element(&self) -> Option<&str> {
        self.0.place.element.as_deref()
    }

    /// The name of the tensor, or of the array in an archive.
    pub fn tensor(&self) -> Option<&str> {
        self.0.place.tensor.as_deref()
    }

    /// The name of the file of external data, as the model gives it.
    pub fn location(&self) -> Option<&str> {
        self.0.place.location.as_deref()
    }

    /// The offset of the first byte that cannot be read, written or understood. It counts from the beginning of the input,
    /// or of the output for [`FileCause::Write`].
    pub fn offset(&self) -> Option<u64> {
        self.0.place.offset
    }

    /// The error with this format, if it has none yet. Callers on the way out add to the place: what was known first is
    /// the most exact.
    pub(crate) fn in_format(mut self, format: &'static str) -> Self {
        self.0.place.format.get_or_insert(format);
        self
    }

    /// The error with the index of the input, if it has none yet.
    pub(crate) fn of_input(mut self, input: usize) -> Self {
        self.0.place.input.get_or_insert(input);
        self
    }

    /// The error with the name of the tensor, if it has none yet. An empty name is not added: some files have one tensor
    /// without a name.
    pub(crate) fn of_tensor(mut self, name: &str) -> Self {
        if !name.is_empty() {
            self.0.place.tensor.get_or_insert_with(|| name.to_owned());
        }
        self
    }

    /// The error with a node or another part of a model, if it has none yet.
    pub(crate) fn in_element(mut self, element: impl FnOnce() -> String) -> Self {
        self.0.place.element.get_or_insert_with(element);
        self
    }

    /// The error with a node, if it has no part of a model yet. `node` is the node's name, or what stands for it.
    pub(crate) fn in_node(self, node: &str) -> Self {
        self.in_element(|| format!("node {}", quoted(node)))
    }

    /// The error with the name of the file of external data, if it has none yet.
    pub(crate) fn in_file(mut self, location: &str) -> Self {
        self.0.place.location.get_or_insert_with(|| location.to_owned());
        self
    }

    /// The error with this offset, if it has none yet.
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
        let Place { format, element, tensor, location, offset, .. } = place;
        if let Some(element) = element {
            write!(f, "{element}: ")?;
        }
        f.write_str(&of_tensor(tensor.as_deref().unwrap_or_default()))?;
        if let Some(location) = location {
            write!(f, "external_data location {}: ", quoted(location))?;
        }
        match (format, cause) {
            (Some(format), FileCause::Malformed(_)) if tensor.is_none() => write!(f, "invalid {format}: ")?,
            _ => {}
        }
        cause.write(f, *offset)
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.source()
    }
}
