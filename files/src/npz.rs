//! `.npz` files: archives of `.npy` files.

mod error;
mod writer;

use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Range;

use wgpu_cast::ElementType;
use zip::{CompressionMethod, ZipArchive};

use super::input::{InputRange, ReadAt};
use super::npy::{NpyArray, NpyError, NpyHeader};

pub use error::NpzError;
pub use writer::NpzWriter;

/// Bytes that are decompressed at a time.
const PIECE: usize = 1 << 16;

/// Longer than any header of a `.npy` file.
const HEAD: u64 = 1 << 14;

/// A `.npz` file: an archive of `.npy` files, stored or compressed by deflate. The names of members are names of
/// tensors, never paths: nothing is extracted to the file system.
pub struct NpzArchive<'a> {
    input: &'a dyn ReadAt,
    archive: ZipArchive<BufReader<Cursor<'a>>>,
    members: Vec<NpzMember>,
}

impl std::fmt::Debug for NpzArchive<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NpzArchive").field("members", &self.members).finish_non_exhaustive()
    }
}

/// An array of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NpzMember {
    /// The name, without `.npy`.
    pub name: String,
    /// The size of the `.npy` file in bytes.
    pub bytes: u64,
    /// Where the `.npy` file lies in the archive; `None` if it is compressed, so that [`NpzArchive::copy`] must
    /// decompress it first.
    pub stored: Option<Range<u64>>,
    index: usize,
}

impl<'a> NpzArchive<'a> {
    /// Reads the directory of an archive.
    ///
    /// # Errors
    /// [`NpzError`] if it is no archive, if two members have the same name or overlap, and for a member that is not a
    /// `.npy` file, is encrypted, or is compressed by another method than deflate.
    pub fn open(input: &'a dyn ReadAt) -> Result<Self, NpzError> {
        let size = input.size()?;
        let cursor = Cursor { input, position: 0, size };
        let mut archive = ZipArchive::new(BufReader::new(cursor)).map_err(NpzError::archive)?;
        if archive.has_duplicate_names() {
            return Err(NpzError::Archive { reason: "two members have the same name".to_owned() });
        }
        if archive.has_overlapping_entries().map_err(NpzError::archive)? {
            return Err(NpzError::Archive { reason: "members overlap".to_owned() });
        }
        let members = (0..archive.len()).map(|index| member(&mut archive, index, size)).collect::<Result<_, _>>()?;
        Ok(Self { input, archive, members })
    }

    /// The members, in the order of the directory.
    pub fn members(&self) -> &[NpzMember] {
        &self.members
    }

    /// Reads the header of a member. Its `data_offset` counts from the member's first byte. `from` is as in
    /// [`NpyArray::read`].
    ///
    /// # Errors
    /// [`NpzError::Npy`] with an error of [`NpyArray::read`]. For a member that is compressed, also
    /// [`NpzError::Corrupt`] if it cannot be decompressed, and [`NpzError::Read`] or [`NpzError::Archive`] if it is not
    /// found where the directory says.
    pub fn array(&mut self, member: &NpzMember, from: Option<ElementType>) -> Result<NpyArray, NpzError> {
        self.read(member, |file| NpyArray::read(file, from))
    }

    /// Reads the header of a member of any dtype. Its `data_offset` counts from the member's first byte.
    ///
    /// # Errors
    /// [`NpzError::Npy`] with an error of [`NpyHeader::read`]; the others of [`array`](Self::array).
    pub fn header(&mut self, member: &NpzMember) -> Result<NpyHeader, NpzError> {
        self.read(member, NpyHeader::read)
    }

    /// Calls a function with a member as a file, of which the beginning can be read.
    fn read<T>(
        &mut self,
        member: &NpzMember,
        read: impl FnOnce(&dyn ReadAt) -> Result<T, NpyError>,
    ) -> Result<T, NpzError> {
        let read = match &member.stored {
            Some(range) => read(&InputRange::new(self.input, range.clone())),
            None => {
                let mut head = Vec::new();
                let mut file = self.archive.by_index(member.index).map_err(NpzError::archive)?.take(HEAD);
                file.read_to_end(&mut head).map_err(|error| corrupt(member, &error))?;
                read(&Head { bytes: head, size: member.bytes })
            }
        };
        read.map_err(|error| NpzError::Npy { name: member.name.clone(), error })
    }

    /// Copies a member as a `.npy` file, decompressed, and compares its checksum. No more than
    /// [`bytes`](NpzMember::bytes) bytes are written; [`array`](Self::array) compares this size with the array's.
    ///
    /// With [`std::io::sink`] as `out`, this only verifies the member.
    ///
    /// # Errors
    /// [`NpzError::Corrupt`] if the member cannot be decompressed, or has another size or checksum than the directory
    /// says; [`NpzError::Write`].
    pub fn copy(&mut self, member: &NpzMember, out: &mut dyn Write) -> Result<(), NpzError> {
        let mut file = self.archive.by_index(member.index).map_err(NpzError::archive)?;
        let mut buffer = vec![0; PIECE];
        let mut left = member.bytes;
        loop {
            let read = match file.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(|error| corrupt(member, &error))?,
            };
            if read == 0 && left == 0 {
                return Ok(());
            }
            let rest = if read == 0 { None } else { left.checked_sub(read as u64) };
            left = rest.ok_or_else(|| corrupt(member, &"its size is not that of the directory"))?;
            out.write_all(&buffer[..read]).map_err(NpzError::Write)?;
        }
    }
}

/// Describes a member of an archive of `size` bytes.
fn member(archive: &mut ZipArchive<BufReader<Cursor<'_>>>, index: usize, size: u64) -> Result<NpzMember, NpzError> {
    // The raw reader neither decrypts nor decompresses, so that it can describe every member.
    let file = archive.by_index_raw(index).map_err(NpzError::archive)?;
    let full = file.name().map_err(NpzError::archive)?.into_owned();
    if file.encrypted() {
        return Err(NpzError::Encrypted { name: full });
    }
    let Some(name) = full.strip_suffix(".npy") else { return Err(NpzError::NotArray { name: full }) };
    let bytes = file.size();
    let stored = match file.compression() {
        CompressionMethod::Stored => {
            let start = file.data_start().ok_or_else(|| corrupt_name(name, "its data cannot be found"))?;
            let end = start.checked_add(bytes).filter(|end| *end <= size && file.compressed_size() == bytes);
            Some(start..end.ok_or_else(|| corrupt_name(name, "its size in the directory is wrong"))?)
        }
        CompressionMethod::DEFLATE => None,
        method => return Err(NpzError::Compression { name: full, method: method.to_string() }),
    };
    Ok(NpzMember { name: name.to_owned(), bytes, stored, index })
}

fn corrupt(member: &NpzMember, reason: &dyn std::fmt::Display) -> NpzError {
    corrupt_name(&member.name, reason)
}

fn corrupt_name(name: &str, reason: impl std::fmt::Display) -> NpzError {
    NpzError::Corrupt { name: name.to_owned(), reason: reason.to_string() }
}

/// The beginning of a member that is compressed.
struct Head {
    bytes: Vec<u8>,
    size: u64,
}

impl ReadAt for Head {
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.bytes.read_exact_at(offset, buffer)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.size)
    }
}

/// An input with a position, for the reader of archives.
struct Cursor<'a> {
    input: &'a dyn ReadAt,
    position: u64,
    size: u64,
}

impl Read for Cursor<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.size.saturating_sub(self.position).min(buffer.len() as u64) as usize;
        self.input.read_exact_at(self.position, &mut buffer[..read])?;
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for Cursor<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => self.size.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
