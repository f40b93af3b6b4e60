//! Inputs, which are read at any offset.

use std::io;
use std::ops::Range;

use super::error::{FileCause, FileError};

/// Bytes that several threads can read at any offset.
pub trait ReadAt: Sync {
    /// Fills `buffer` with the bytes from `offset` on.
    ///
    /// # Errors
    /// The input ends before the buffer is full, or reading fails.
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// The number of bytes.
    ///
    /// # Errors
    /// The system does not tell the size.
    fn size(&self) -> io::Result<u64>;

    /// All bytes, if they are in memory. They are then parsed where they are, without a copy.
    fn in_memory(&self) -> Option<&[u8]> {
        None
    }
}

/// Fills `buffer` with the bytes from `offset` on.
pub(crate) fn read_at(input: &dyn ReadAt, offset: u64, buffer: &mut [u8]) -> Result<(), FileError> {
    let bytes = Some(buffer.len() as u64);
    let read = input.read_exact_at(offset, buffer);
    read.map_err(|error| FileError::from(FileCause::Read { bytes, error }).at(offset))
}

/// The number of bytes of an input.
pub(crate) fn size_of(input: &dyn ReadAt) -> Result<u64, FileError> {
    input.size().map_err(|error| FileCause::Read { bytes: None, error }.into())
}

impl ReadAt for &[u8] {
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let found = start.checked_add(buffer.len()).and_then(|end| self.get(start..end));
        buffer.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn in_memory(&self) -> Option<&[u8]> {
        Some(self)
    }
}

impl ReadAt for Vec<u8> {
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.as_slice().read_exact_at(offset, buffer)
    }

    fn size(&self) -> io::Result<u64> {
        self.as_slice().size()
    }

    fn in_memory(&self) -> Option<&[u8]> {
        Some(self)
    }
}

/// A range of an input, as an input of its own.
pub struct InputRange<'a> {
    input: &'a dyn ReadAt,
    range: Range<u64>,
}

impl<'a> InputRange<'a> {
    /// The bytes `range` of `input`. The range may end beyond the input; reading there is an error.
    pub fn new(input: &'a dyn ReadAt, range: Range<u64>) -> Self {
        Self { input, range }
    }
}

impl std::fmt::Debug for InputRange<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("InputRange").field(&self.range).finish()
    }
}

impl ReadAt for InputRange<'_> {
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = self.range.start.checked_add(offset);
        let end = start.and_then(|start| start.checked_add(buffer.len() as u64));
        match (start, end) {
            (Some(start), Some(end)) if end <= self.range.end => self.input.read_exact_at(start, buffer),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.range.end.saturating_sub(self.range.start))
    }
}

/// A file of the file system.
#[cfg(any(unix, windows))]
#[derive(Debug)]
pub struct InputFile(std::fs::File);

#[cfg(any(unix, windows))]
impl InputFile {
    /// Reads from this file, at any offset. On Unix, the file's cursor does not move.
    pub fn new(file: std::fs::File) -> Self {
        Self(file)
    }
}

#[cfg(unix)]
impl ReadAt for InputFile {
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}

#[cfg(windows)]
impl ReadAt for InputFile {
    fn read_exact_at(&self, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(&self.0, buffer, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    offset += read as u64;
                    buffer = &mut buffer[read..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}
