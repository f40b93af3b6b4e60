//! Writes archives from front to back.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use zip::result::ZipError;
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipWriter};

use crate::error::{FileCause, FileError, NpzFault};
use crate::text::cut;

/// A member of at least this many bytes gets 64-bit sizes. The zip format's 32-bit sizes end at 4 GiB; this limit is lower,
/// because deflate can make data a little larger.
const LARGE: u64 = 0xf000_0000;

/// Writes an archive from front to back, so that it can go to a pipe. The members are written one after the other: each
/// begins with [`start`](Self::start), and its bytes follow by [`Write`].
///
/// Sizes and checksums follow the data of each member. The directory at the end repeats them, and numpy reads them there.
/// An archive that is dropped before [`finish`](Self::finish) has no directory, so that no reader takes it for a complete
/// one.
pub struct NpzWriter<W: Write> {
    // Fields are dropped in this order. `archive` writes its directory when it is dropped, and `abandon` prevents that.
    abandon: Abandon,
    archive: ZipWriter<StreamWriter<Output<W>>>,
    /// The number of bytes that the current member still lacks.
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

    /// Begins an array. `name` is its name, without `.npy`, and its `.npy` file has `bytes` bytes. The data is compressed by
    /// deflate if `compress` is set, and stored otherwise.
    ///
    /// # Errors
    /// [`FileCause::Request`] if the name exists already or is too long, or if the previous array is not complete;
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

    /// Writes the directory, and returns the output.
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
    /// Writes bytes of the array that [`start`](Self::start) began last.
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

/// The error for what the crate `zip` says of an archive that is written, or of one of its members.
fn failed(error: ZipError, name: &str) -> FileError {
    let said = match error {
        ZipError::Io(error) => return FileCause::Write(error).into(),
        ZipError::InvalidArchive(said) => said.into_owned(),
        error => error.to_string(),
    };
    FileError::from(NpzFault::Member { said: cut(&said, 200) }).of_tensor(name)
}

/// A flag that is set when this is dropped.
#[derive(Default)]
struct Abandon(Arc<AtomicBool>);

impl Drop for Abandon {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// An output that drops all further bytes once it has failed, or once the archive was abandoned.
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
