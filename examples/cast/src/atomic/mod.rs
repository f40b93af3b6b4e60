//! Outputs that appear whole or not at all.
//!
//! The bytes of an output go to a *partial* file next to it, `NAME.cast-partial`. It is renamed when it is complete.
//! After the bytes it has a journal: a line for each piece with its checksum and its losses. So an interrupted
//! conversion can be continued, and the pieces that exist can be checked without casting them again.

mod complete;
pub mod journal;
pub mod partial;
mod syncing;
pub mod target;

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use wgpu_cast_files::CastLoss;

use self::complete::Place;
pub use self::complete::{Complete, start_run, sync_folder};
use self::journal::Entry;
use self::partial::{Opened, Partial};
use self::syncing::Syncing;
use self::target::{Existing, open_special};
use crate::failure::Failure;

/// The disk is asked to store the file each time this many bytes were written.
const SYNCED: u64 = 64 << 20;

/// An output that is being written.
pub struct Output {
    place: Place,
    file: File,
    /// The size of the output.
    bytes: u64,
    /// The end of the journal, or of an output that grows.
    end: u64,
    grows: bool,
    /// The end of the pieces that exist, and their losses.
    done: u64,
    losses: Vec<(usize, CastLoss)>,
    /// The checksum of the bytes that exist.
    checksum: crc32fast::Hasher,
    /// The bytes that were written since the disk was last asked to store them.
    unsynced: u64,
    syncing: Option<Syncing>,
}

impl Output {
    /// Opens the partial file of an output of any size, which is written from front to back. It cannot be continued.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_growing(name: &Path, existing: Existing) -> Result<Self, Failure> {
        let mut output = Self::open(name, 0, None, existing)?;
        let emptied = output.file.set_len(0);
        emptied.map_err(|error| Failure::write(name, error))?;
        (output.grows, output.end) = (true, 0);
        Ok(output)
    }

    /// Opens the partial file of an output of `bytes` bytes. `plan` identifies what is written. A partial file of
    /// another plan, or without a plan, is not continued.
    ///
    /// # Errors
    /// The output may not be replaced, another process is writing it, or the file system refuses it.
    pub fn open(name: &Path, bytes: u64, plan: Option<u64>, existing: Existing) -> Result<Self, Failure> {
        let existing = Existing { resume: existing.resume && plan.is_some(), ..existing };
        let fail = |error: io::Error| Failure::write(name, error);
        let at = |what: String| Failure::at(name, what);
        let target = target::check(name, existing)?;
        let replaces = fs::metadata(&target).is_ok();
        let opened = Partial::open(&partial::path_of(&target), replaces, existing, plan.is_some()).map_err(at)?;
        let Opened { mut partial, mut file, is_earlier } = opened;
        // Another process may have finished the output before this one locked the partial file.
        if let Err(failure) = target::check(name, existing) {
            partial.keep = is_earlier;
            return Err(failure);
        }
        let replaced = fs::metadata(&target).ok().map(|metadata| metadata.permissions());
        let place = Place { name: name.to_owned(), target, partial, replaced, widest: existing.permissions };
        let head = journal::head(plan, bytes);
        let entries = if is_earlier { journal::read(&mut file, bytes, &head).map_err(fail)? } else { None };
        let mut output = Self {
            place,
            file,
            bytes,
            end: bytes,
            grows: false,
            done: 0,
            losses: Vec::new(),
            checksum: crc32fast::Hasher::new(),
            unsynced: 0,
            syncing: None,
        };
        output.start(entries.unwrap_or_default(), &head).map_err(fail)?;
        Ok(output)
    }

    /// Writes the journal of the pieces that exist, and cuts off everything after it.
    fn start(&mut self, entries: Vec<Entry>, head: &str) -> io::Result<()> {
        self.file.set_len(self.bytes)?;
        self.append(head.as_bytes())?;
        for entry in entries {
            self.done = entry.output.end;
            self.log(&entry)?;
            self.losses.extend(entry.losses);
        }
        Ok(())
    }

    /// The name that the user gave.
    pub fn name(&self) -> &Path {
        &self.place.name
    }

    /// The end of the pieces that exist already.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// The losses of the pieces that exist already, each with the index of its part in the plan.
    pub fn losses(&self) -> &[(usize, CastLoss)] {
        &self.losses
    }

    /// Writes a piece.
    ///
    /// # Errors
    /// The file system refuses it.
    pub fn write(&mut self, output: Range<u64>, bytes: &[u8], losses: &[(usize, CastLoss)]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(output.start))?;
        self.file.write_all(bytes)?;
        self.unsynced += bytes.len() as u64;
        if self.unsynced >= SYNCED {
            self.unsynced = 0;
            self.start_storing()?;
        }
        let checksum = crc32fast::hash(bytes);
        self.log(&Entry { output, checksum, losses: losses.to_vec() })
    }

    /// The CRC-32 of the bytes that exist.
    pub fn checksum(&self) -> u32 {
        self.checksum.clone().finalize()
    }

    /// Makes the disk store what is written, in the background if there is a thread for it.
    fn start_storing(&mut self) -> io::Result<()> {
        if self.syncing.is_none() {
            self.syncing = self.file.try_clone().ok().and_then(Syncing::new);
        }
        let goes_on = match &self.syncing {
            Some(syncing) => syncing.request(),
            None => return self.place.store(&self.file),
        };
        if goes_on { Ok(()) } else { self.finish_storing() }
    }

    /// Waits for the disk. After an error the file is removed: lost bytes would look right to a run that continues it.
    fn finish_storing(&mut self) -> io::Result<()> {
        let finished = self.syncing.take().map_or(Ok(()), Syncing::finish);
        finished.inspect_err(|_| self.place.partial.keep = false)
    }

    fn log(&mut self, entry: &Entry) -> io::Result<()> {
        let bytes = entry.output.end - entry.output.start;
        self.checksum.combine(&crc32fast::Hasher::new_with_initial_len(entry.checksum, bytes));
        self.append(entry.line().as_bytes())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(bytes)?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Makes sure that the bytes are on the disk.
    ///
    /// # Errors
    /// The file system refuses it.
    pub fn complete(mut self) -> Result<Complete, Failure> {
        let stored = self.finish_storing().and_then(|()| self.place.store(&self.file));
        stored.map_err(|error| Failure::write(&self.place.name, error))?;
        let bytes = if self.grows { self.end } else { self.bytes };
        Complete::new(self.place, self.file, bytes)
    }
}

/// An output that grows.
impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(bytes)?;
        self.checksum.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a file from its parts, atomically. Links are followed. Devices and pipes are written to directly.
///
/// # Errors
/// The file system refuses it. Then nothing of the file remains.
pub fn write(path: &Path, parts: &[&[u8]], existing: Existing) -> Result<(), Failure> {
    let fail = |error: io::Error| Failure::write(path, error);
    if let Some(file) = open_special(path) {
        let mut file = file.map_err(|error| Failure::at(path, error))?;
        return parts.iter().try_for_each(|part| file.write_all(part)).map_err(fail);
    }
    stage(path, parts, existing)?.rename()
}

/// Writes a file from its parts, but does not give it its name yet. Links are followed.
///
/// # Errors
/// As [`write`].
pub fn stage(path: &Path, parts: &[&[u8]], existing: Existing) -> Result<Complete, Failure> {
    let fail = |error: io::Error| Failure::write(path, error);
    let bytes = parts.iter().map(|part| part.len() as u64).sum();
    let mut output = Output::open(path, bytes, None, existing)?;
    let mut start = 0;
    for part in parts {
        output.write(start..start + part.len() as u64, part, &[]).map_err(fail)?;
        start += part.len() as u64;
    }
    output.complete()
}
