//! Writing archives from front to back.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use zip::result::ZipError;
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipWriter};

use crate::error::{FileCause, FileError, NpzFault};
use crate::text::cut;

/// From this size on, members have sizes of 64 bits. Deflate can make data a little larger.
const LARGE: u64 = 0xf000_0000;

/// Writes an archive from front to back, so that it can go to a pipe. Each member is written as a whole: first
/// [`start`](Self::start), then its bytes by [`Write`].
///
/// Sizes and checksums follow the data of each member, and are repeated in the directory at the end, where numpy looks
/// for them. An archive that is dropped before [`finish`](Self::finish) has no directory, so that no reader takes it
/// for a whole one.
pub struct NpzWriter<W: Write> {
    // This is dropped before the archive, which writes its directory when it is dropped.
    abandon: Abandon,
    archive: ZipWriter<StreamWriter<Output<W>>>,
    /// What the current member still lacks.
    left: u64,
}

impl<W: Write> std::fmt::Debug for NpzWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NpzWriter").field("left", &self.left).finish_non_exhaustive()
    }
}

impl<W: Write> NpzWriter<W> {
    /// An archive without members.
    pub fn new(out: W) -> Self {
        let abandon = Abandon::default();
        let output = Output { out, abandoned: abandon.0.clone() };
        Self { abandon, archive: ZipWriter::new_stream(output), left: 0 }
    }

    /// Begins an array, whose `.npy` file has `bytes` bytes. `name` is the array's name, without `.npy`. The data is
    /// stored, or compressed by deflate.
    ///
    /// # Errors
    /// [`FileCause::Request`] if the name exists already or is too long, or if the array before is not complete;
    /// [`FileCause::Write`].
    pub fn start(&mut self, name: &str, bytes: u64, compress: bool) -> Result<(), FileError> {
        self.check_complete()?;
        let method = if compress { CompressionMethod::DEFLATE } else { CompressionMethod::Stored };
        let options = SimpleFileOptions::default().compression_method(method).large_file(bytes >= LARGE);
        let started = self.archive.start_file(format!("{name}.npy"), options);
        started.map_err(|error| failed(error, name))?;
        self.left = bytes;
        Ok(())
    }

    /// Writes the directory.
    ///
    /// # Errors
    /// [`FileCause::Request`] if the last array is not complete; [`FileCause::Write`].
    pub fn finish(self) -> Result<W, FileError> {
        self.check_complete()?;
        let Self { abandon, archive, .. } = self;
        let output = archive.finish().map_err(|error| failed(error, ""))?.into_inner().out;
        drop(abandon);
        Ok(output)
    }

    fn check_complete(&self) -> Result<(), FileError> {
        match self.left {
            0 => Ok(()),
            left => Err(NpzFault::Incomplete { left }.into()),
        }
    }
}

impl<W: Write> Write for NpzWriter<W> {
    /// Writes bytes of the array that was begun last.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the array is longer than it was begun"));
        }
        let written = self.archive.write(bytes)?;
        self.left -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.archive.flush()
    }
}

/// What the library says of an archive that is written, or of a member of it.
fn failed(error: ZipError, name: &str) -> FileError {
    let said = match error {
        ZipError::Io(error) => return FileCause::Write(error).into(),
        ZipError::InvalidArchive(said) => said.into_owned(),
        error => error.to_string(),
    };
    FileError::from(NpzFault::Member { said: cut(&said, 200) }).of_tensor(name)
}

/// Sets a flag when it is dropped.
#[derive(Default)]
struct Abandon(Arc<AtomicBool>);

impl Drop for Abandon {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// An output that takes nothing any more once it has failed, or once the archive was abandoned.
struct Output<W> {
    out: W,
    abandoned: Arc<AtomicBool>,
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.abandoned.load(Ordering::Relaxed) {
            return Ok(bytes.len());
        }
        let written = self.out.write(bytes);
        if written.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted) {
            self.abandoned.store(true, Ordering::Relaxed);
        }
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.abandoned.load(Ordering::Relaxed) { Ok(()) } else { self.out.flush() }
    }
}
