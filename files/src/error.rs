//! The errors of files.

use std::io;

use wgpu_cast::{ElementType, Error};

use crate::text::of_tensor;

/// An error of reading, planning or writing a file. Paths are not in it, because the caller has them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// An input cannot be read, or is shorter than its header says.
    #[error("cannot read {bytes} bytes at offset {offset}: {error}")]
    #[non_exhaustive]
    Read {
        /// The index of the input.
        input: usize,
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        bytes: u64,
        /// The error of the system.
        error: io::Error,
    },
    /// The output cannot be written.
    #[error("cannot write at offset {offset}: {error}")]
    #[non_exhaustive]
    Write {
        /// The first byte of the piece that was written.
        offset: u64,
        /// The error of the system.
        error: io::Error,
    },
    /// The input is not a valid file of its format.
    #[error("not a valid {format} file: {reason}")]
    #[non_exhaustive]
    Invalid {
        /// The format.
        format: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The header of the output would be longer than the format allows.
    #[error("the header would have {bytes} bytes; a {format} file can have {limit}")]
    #[non_exhaustive]
    HeaderLength {
        /// The format.
        format: &'static str,
        /// The length of the header in bytes.
        bytes: u64,
        /// The longest that the format allows.
        limit: u64,
    },
    /// The format has no such element type.
    #[error("{}{format} has no element type {element_type} (it has {known})", of_tensor(.name))]
    #[non_exhaustive]
    NoSuchType {
        /// The name of the tensor.
        name: String,
        /// The format.
        format: &'static str,
        /// The element type that was asked for.
        element_type: ElementType,
        /// The element types of the format.
        known: String,
    },
    /// A tensor cannot be stored in this format with this element type.
    #[error("{}{reason}", of_tensor(.name))]
    #[non_exhaustive]
    Tensor {
        /// The name of the tensor.
        name: String,
        /// Why not.
        reason: String,
    },
    /// There is no memory for a header or for a piece.
    #[error("out of memory: {bytes} bytes are needed")]
    #[non_exhaustive]
    OutOfMemory {
        /// The size that was asked for.
        bytes: u64,
    },
    /// A size of the output, or of what is read for it, overflows.
    #[error("the output is too large: a size overflows")]
    TooLarge,
    /// The plan reads an input that does not exist.
    #[error("the plan reads input {input}, but there are {inputs} inputs")]
    #[non_exhaustive]
    NoInput {
        /// The index of the input.
        input: usize,
        /// The number of inputs.
        inputs: usize,
    },
    /// A cast failed.
    #[error("{}{error}", of_tensor(.name))]
    #[non_exhaustive]
    Cast {
        /// The name of the tensor.
        name: String,
        /// The error of the cast.
        error: Box<Error>,
    },
}
