//! Protobuf's wire format (<https://protobuf.dev/programming-guides/encoding>), read at any offset of an input. The bytes of
//! strings and messages are skipped, so that a message may be larger than the memory. A field that a message can have once
//! is an error if it is given twice.

mod bytes;
mod fields;
mod kind;
mod numbers;
#[cfg(test)]
mod tests;
mod write;

use std::io;

pub(crate) use bytes::{read_bytes, view_bytes};
pub(crate) use fields::{Field, Fields, Value};
pub(crate) use kind::{Form, Kind};
pub(crate) use numbers::{Numbers, Packed};
pub(crate) use write::{put_bytes, put_length, put_number, put_varint, varint_bytes};

/// Why bytes are not a message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    /// The input cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// A field ends beyond the end of its message.
    #[error("the field at byte {offset} ends beyond its message")]
    Truncated {
        /// The first byte of the field.
        offset: u64,
    },
    /// A varint has more than 64 bits, or ends beyond its packed field.
    #[error("the field at byte {offset} has an invalid varint")]
    Varint {
        /// The first byte of the field.
        offset: u64,
    },
    /// The key of a field has a number or a wire type that protobuf does not allow, or the wire type of a group. ONNX has
    /// no groups.
    #[error("the field at byte {offset} has the invalid key {key}")]
    Key {
        /// The first byte of the field.
        offset: u64,
        /// The key: the field's number times 8, plus the wire type.
        key: u64,
    },
    /// A field has another wire type than ONNX gives it.
    #[error("the field {field} has an unexpected wire type")]
    FieldType {
        /// The number of the field.
        field: u32,
    },
    /// A field that a message can have once is given twice. Parsers of protobuf take the last one.
    #[error("the field {field} is given twice")]
    Repeated {
        /// The number of the field.
        field: u32,
    },
    /// A string, such as a name, is not valid UTF-8.
    #[error("the field {field} is not valid UTF-8")]
    Utf8 {
        /// The number of the field.
        field: u32,
    },
    /// A field that is kept in memory is too long.
    #[error("the field at byte {offset} has {bytes} bytes, the limit is {limit}")]
    TooLong {
        /// The first byte of the value.
        offset: u64,
        /// The length of the value in bytes.
        bytes: u64,
        /// The longest value that is supported, in bytes.
        limit: u64,
    },
    /// There is no memory for a field.
    #[error("out of memory (requested {bytes} bytes)")]
    OutOfMemory {
        /// The number of bytes that were requested.
        bytes: u64,
    },
}
