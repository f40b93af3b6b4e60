//! The errors of `.npz` files.

use std::io;

use crate::npy::NpyError;
use crate::text::{cut, quoted};

/// Why a `.npz` file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpzError {
    /// The input cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// The output cannot be written.
    #[error("cannot write: {0}")]
    Write(#[source] io::Error),
    /// The archive is not valid, or a member cannot be added to it.
    #[error("bad archive: {reason}")]
    #[non_exhaustive]
    Archive {
        /// What is wrong.
        reason: String,
    },
    /// A member is not an array.
    #[error("member {} is not a .npy file", quoted(.name))]
    #[non_exhaustive]
    NotArray {
        /// The member's name.
        name: String,
    },
    /// A member is encrypted.
    #[error("member {} is encrypted", quoted(.name))]
    #[non_exhaustive]
    Encrypted {
        /// The member's name.
        name: String,
    },
    /// A member is compressed by a method that numpy does not use.
    #[error("member {} is compressed by {method}; only deflate is supported", quoted(.name))]
    #[non_exhaustive]
    Compression {
        /// The member's name.
        name: String,
        /// The method.
        method: String,
    },
    /// A member's data is not what the directory says.
    #[error("array {} is corrupt: {reason}", quoted(.name))]
    #[non_exhaustive]
    Corrupt {
        /// The array's name.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A member is not a valid or supported `.npy` file.
    #[error("array {}: {error}", quoted(.name))]
    #[non_exhaustive]
    Npy {
        /// The array's name.
        name: String,
        /// What is wrong.
        #[source]
        error: NpyError,
    },
}

impl NpzError {
    pub(super) fn archive(error: zip::result::ZipError) -> Self {
        match error {
            zip::result::ZipError::Io(error) => Self::Read(error),
            // What the library says of it are the names of its own types.
            zip::result::ZipError::InvalidArchive(_) => {
                Self::Archive { reason: "it is damaged or truncated".to_owned() }
            }
            error => Self::Archive { reason: cut(&error.to_string(), 200) },
        }
    }
}
