//! `.npz` files: archives of `.npy` files.

mod writer;

use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Range;

use wgpu_cast::ElementType;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::error::{FileCause, FileError, NpzFault};
use super::input::{InputRange, ReadAt, size_of};
use super::npy::{NpyArray, NpyHeader};
use crate::text::cut;

pub use writer::NpzWriter;

/// The number of bytes that are decompressed at a time.
const PIECE: usize = 1 << 16;

const FORMAT: &str = ".npz archive";

/// The number of bytes that are decompressed for a header. It is more than any header that is accepted has.
const HEAD: u64 = 1 << 14;

/// A `.npz` file: an archive of `.npy` files, stored or compressed by deflate. A member's name is the name of a tensor and
/// never used as a path: nothing is extracted to the file system.
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
    /// Where the `.npy` file lies in the archive. `None` if it is compressed: [`NpzArchive::copy`] decompresses it.
    pub stored: Option<Range<u64>>,
    index: usize,
}

impl<'a> NpzArchive<'a> {
    /// Reads the directory of an archive.
    ///
    /// # Errors
    /// [`FileCause::Malformed`] if it is not an archive, if two members have the same name or overlap, and if a member is
    /// not named `*.npy`; [`FileCause::Unsupported`] for a member that is encrypted, for compression by another method than
    /// deflate, and for archives that the crate `zip` does not support; [`FileCause::Read`].
    pub fn open(input: &'a dyn ReadAt) -> Result<Self, FileError> {
        Self::directory(input).map_err(|error| error.in_format(FORMAT))
    }

    fn directory(input: &'a dyn ReadAt) -> Result<Self, FileError> {
        let size = size_of(input)?;
        let cursor = Cursor { input, position: 0, size };
        let mut archive = ZipArchive::new(BufReader::new(cursor)).map_err(failed)?;
        if archive.has_duplicate_names() {
            return Err(NpzFault::SameName.into());
        }
        if archive.has_overlapping_entries().map_err(failed)? {
            return Err(NpzFault::Overlap.into());
        }
        let members = (0..archive.len()).map(|index| member(&mut archive, index, size)).collect::<Result<_, _>>()?;
        Ok(Self { input, archive, members })
    }

    /// The members, in the order of the directory.
    pub fn members(&self) -> &[NpzMember] {
        &self.members
    }

    /// Reads the header of a member. The result's `data_offset` counts from the member's first byte. `from` is as in
    /// [`NpyArray::read`].
    ///
    /// # Errors
    /// Those of [`NpyArray::read`], with the name of the array. For a compressed member also [`FileCause::Malformed`]: it is
    /// not where the directory says, or cannot be decompressed.
    pub fn array(&mut self, member: &NpzMember, from: Option<ElementType>) -> Result<NpyArray, FileError> {
        self.read(member, |file| NpyArray::read(file, from))
    }

    /// Reads the header of a member of any dtype. The result's `data_offset` counts from the member's first byte.
    ///
    /// # Errors
    /// Those of [`NpyHeader::read`], with the name of the array. For a compressed member also [`FileCause::Malformed`], as in
    /// [`array`](Self::array).
    pub fn header(&mut self, member: &NpzMember) -> Result<NpyHeader, FileError> {
        self.read(member, NpyHeader::read)
    }

    /// Calls `read` with a member as an input. At least the header of the member can be read from it.
    fn read<T>(
        &mut self,
        member: &NpzMember,
        read: impl FnOnce(&dyn ReadAt) -> Result<T, FileError>,
    ) -> Result<T, FileError> {
        let read = match &member.stored {
            Some(range) => read(&InputRange::new(self.input, range.clone())),
            None => self.head(member).and_then(|head| read(&head)),
        };
        read.map_err(|error| error.of_tensor(&member.name))
    }

    /// Decompresses the beginning of a member.
    fn head(&mut self, member: &NpzMember) -> Result<Head, FileError> {
        let mut bytes = Vec::new();
        let mut file = self.archive.by_index(member.index).map_err(failed)?.take(HEAD);
        file.read_to_end(&mut bytes).map_err(|error| corrupt(&error))?;
        Ok(Head { bytes, size: member.bytes })
    }

    /// Writes a member to `out` as a `.npy` file, decompressed, and verifies its checksum. At most
    /// [`bytes`](NpzMember::bytes) bytes are written. [`array`](Self::array) checks that the array has this size.
    ///
    /// With [`std::io::sink`] as `out`, this only verifies the member.
    ///
    /// # Errors
    /// [`FileCause::Malformed`] if the member cannot be decompressed, or if its size or checksum is not that of the
    /// directory; [`FileCause::Write`].
    pub fn copy(&mut self, member: &NpzMember, out: &mut dyn Write) -> Result<(), FileError> {
        self.decompress(member, out).map_err(|error| error.of_tensor(&member.name))
    }

    fn decompress(&mut self, member: &NpzMember, out: &mut dyn Write) -> Result<(), FileError> {
        let mut file = self.archive.by_index(member.index).map_err(failed)?;
        let mut buffer = vec![0; PIECE];
        let mut left = member.bytes;
        loop {
            let read = match file.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(|error| corrupt(&error))?,
            };
            if read == 0 && left == 0 {
                return Ok(());
            }
            let rest = if read == 0 { None } else { left.checked_sub(read as u64) };
            left = rest.ok_or(NpzFault::Size)?;
            out.write_all(&buffer[..read]).map_err(FileCause::Write)?;
        }
    }
}

/// Describes a member of an archive of `size` bytes.
fn member(archive: &mut ZipArchive<BufReader<Cursor<'_>>>, index: usize, size: u64) -> Result<NpzMember, FileError> {
    // The raw reader does not decrypt or decompress, so that it can describe every member.
    let file = archive.by_index_raw(index).map_err(failed)?;
    let full = file.name().map_err(failed)?.into_owned();
    if file.encrypted() {
        return Err(NpzFault::Encrypted { member: full }.into());
    }
    let Some(name) = full.strip_suffix(".npy") else { return Err(NpzFault::NotArray { member: full }.into()) };
    let wrong = |fault: NpzFault| FileError::from(fault).of_tensor(name);
    let bytes = file.size();
    let stored = match file.compression() {
        CompressionMethod::Stored => {
            let start = file.data_start().ok_or_else(|| wrong(NpzFault::NoData))?;
            let end = start.checked_add(bytes).filter(|end| *end <= size && file.compressed_size() == bytes);
            Some(start..end.ok_or_else(|| wrong(NpzFault::DirectorySize))?)
        }
        CompressionMethod::DEFLATE => None,
        method => return Err(NpzFault::Compression { member: full, method }.into()),
    };
    Ok(NpzMember { name: name.to_owned(), bytes, stored, index })
}

/// The error for what the crate `zip` says of an archive that is read.
fn failed(error: ZipError) -> FileError {
    match error {
        ZipError::Io(error) => FileCause::Read { bytes: None, error }.into(),
        // The crate's text is left out: it names types of the crate.
        ZipError::InvalidArchive(_) => NpzFault::Damaged.into(),
        error => NpzFault::Library { said: cut(&error.to_string(), 200) }.into(),
    }
}

/// The error for what the crate `zip` says of a member's data.
fn corrupt(error: &io::Error) -> FileError {
    NpzFault::Corrupt { said: error.to_string() }.into()
}

/// The decompressed beginning of a member, with the size of the whole.
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

/// An input with a position, which the crate `zip` needs.
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
