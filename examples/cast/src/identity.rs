//! The identity of a file, independent of its name.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// A file system, and the number of a file in it. All names of a file give the same identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    device: u64,
    number: u64,
}

#[cfg(unix)]
impl From<&fs::Metadata> for FileId {
    fn from(metadata: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device: metadata.dev(), number: metadata.ino() }
    }
}

#[cfg(unix)]
impl FileId {
    /// An open file.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(Self::from(&file.metadata()?))
    }

    /// The file at a path. Links are followed.
    ///
    /// # Errors
    /// There is none, or the system does not tell.
    pub fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::from(&fs::metadata(path)?))
    }

    /// The file, folder or link that has this path itself; a link is not followed.
    ///
    /// # Errors
    /// There is nothing, or the system does not tell.
    pub fn at_itself(path: &Path) -> io::Result<Self> {
        Ok(Self::from(&fs::symlink_metadata(path)?))
    }
}

#[cfg(windows)]
impl FileId {
    /// An open file.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn of(file: &File) -> io::Result<Self> {
        let information = winapi_util::file::information(file)?;
        Ok(Self { device: information.volume_serial_number(), number: information.file_index() })
    }

    /// The file at a path. Links are followed.
    ///
    /// # Errors
    /// There is none, or the system does not tell.
    pub fn at(path: &Path) -> io::Result<Self> {
        Self::of(&File::open(path)?)
    }

    /// The file or folder that has this path itself. A link is an error.
    ///
    /// # Errors
    /// There is nothing, it is a link, or the system does not tell.
    pub fn at_itself(path: &Path) -> io::Result<Self> {
        if fs::symlink_metadata(path)?.is_symlink() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Self::at(path)
    }
}
