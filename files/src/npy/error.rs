//! The errors of `.npy` files.

use std::io;

use wgpu_cast::{ElementType, Error};

use crate::text::counted;
use crate::transpose::ReadError;

/// Why a `.npy` file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The input cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// The input does not start as a `.npy` file, or ends in its header.
    #[error("not a .npy file, or its header is truncated")]
    NotNpy,
    /// The version of the format is unknown.
    #[error("unsupported .npy format version {major}.{minor}")]
    #[non_exhaustive]
    Version {
        /// The major version.
        major: u8,
        /// The minor version.
        minor: u8,
    },
    /// The header is too long. numpy has the same limit.
    #[error("the header has {bytes} bytes, the limit is {limit}")]
    #[non_exhaustive]
    HeaderLength {
        /// The length of the header in bytes.
        bytes: u64,
        /// The longest that is supported.
        limit: u64,
    },
    /// The header is not that of an array.
    #[error("bad header: {reason}")]
    #[non_exhaustive]
    Header {
        /// What is wrong.
        reason: &'static str,
    },
    /// There are too many axes. numpy has the same limit.
    #[error("the array has more than {limit} axes")]
    #[non_exhaustive]
    Axes {
        /// The most that are supported.
        limit: usize,
    },
    /// The number of elements, or their size in bytes, overflows.
    #[error("the array is too large: its size in bytes overflows")]
    TooLarge,
    /// The data has another length than the header says.
    #[error("{}: expected {} of data, got {found}", if found < expected { "truncated" } else { "extra bytes after the array" }, counted(*.expected, "byte"))]
    #[non_exhaustive]
    Length {
        /// The length that follows from the header, in bytes.
        expected: u64,
        /// The length of the data in bytes.
        found: u64,
    },
    /// The array has several fields.
    #[error("structured dtypes are not supported")]
    Structured,
    /// The dtype has no element type.
    #[error("dtype '{dtype}' is not supported: {what}")]
    #[non_exhaustive]
    Dtype {
        /// The dtype.
        dtype: String,
        /// What numpy calls it.
        what: &'static str,
    },
    /// The dtype is one of raw bytes, so that the caller must tell the element type. ml_dtypes writes its types so.
    #[error("dtype '{dtype}' does not determine the element type")]
    #[non_exhaustive]
    NoElementType {
        /// The dtype.
        dtype: String,
        /// The size of an element in bytes.
        bytes: u64,
    },
    /// The element type that the caller gives has another size than the elements.
    #[error("dtype '{dtype}' has {} per element, {from} needs {needed}", counted(*.bytes, "byte"))]
    #[non_exhaustive]
    FromSize {
        /// The dtype.
        dtype: String,
        /// The size of an element in bytes.
        bytes: u64,
        /// The element type that the caller gives.
        from: ElementType,
        /// The size of an element of this type in bytes.
        needed: u64,
    },
    /// The element type that the caller gives is not the array's.
    #[error("dtype '{dtype}' is {element_type}, which contradicts {from}")]
    #[non_exhaustive]
    FromContradicts {
        /// The dtype.
        dtype: String,
        /// The element type of the dtype.
        element_type: ElementType,
        /// The element type that the caller gives.
        from: ElementType,
    },
    /// A string is not UTF-8.
    #[error("string {index} is not valid UTF-8")]
    #[non_exhaustive]
    Utf8 {
        /// The index of the element in row-major order.
        index: usize,
    },
    /// A string contains a number that is no code point of Unicode.
    #[error("string {index} contains {code:#x}, which is not a Unicode character")]
    #[non_exhaustive]
    Character {
        /// The index of the element in row-major order.
        index: usize,
        /// The number.
        code: u32,
    },
    /// A string ends with U+0000, which numpy does not keep.
    #[error("string {index} ends with U+0000, which a .npy file cannot contain")]
    #[non_exhaustive]
    TrailingNul {
        /// The index of the element in row-major order.
        index: usize,
    },
    /// The tensor does not contain strings, or contains strings where numbers are needed.
    #[error("expected {wanted}, got {found}")]
    #[non_exhaustive]
    Kind {
        /// What is needed.
        wanted: &'static str,
        /// The element type.
        found: ElementType,
    },
    /// There is no memory for strings.
    #[error("out of memory (requested {})", counted(*.bytes, "byte"))]
    #[non_exhaustive]
    OutOfMemory {
        /// Bytes that were requested.
        bytes: u64,
    },
    /// The tensor cannot be made.
    #[error("{0}")]
    Tensor(#[from] Error),
}

impl From<ReadError> for NpyError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => Self::Read(error),
            ReadError::OutOfMemory { bytes } => Self::OutOfMemory { bytes },
        }
    }
}
