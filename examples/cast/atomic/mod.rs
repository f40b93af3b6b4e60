//! Outputs that appear whole or not at all.
//!
//! The bytes of an output go to a *partial* file beside it, `NAME.cast-partial`, which is renamed when it is complete.
//! Behind the bytes is a journal: a line for each piece with its checksum and its losses. An interrupted conversion can
//! therefore be continued, and what is there can be checked without casting it again.

pub mod journal;
pub mod partial;
pub mod target;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use wgpu_cast::files::CastLoss;

use self::journal::Entry;
use self::partial::open_itself;
use self::target::{Existing, open_special};
use crate::failure::Failure;
use crate::signals;

/// The disk is asked to store what is written after as many bytes.
const SYNCED: u64 = 64 << 20;

/// The places of an output. The partial file is removed when this is dropped, unless it is kept.
struct Place {
    /// As the user gave it.
    name: PathBuf,
    /// Where links lead.
    target: PathBuf,
    partial: PathBuf,
    keep: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        signals::forget(&self.partial);
        if !self.keep {
            let _ = fs::remove_file(&self.partial);
        }
    }
}

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
    /// Of the bytes that exist.
    checksum: crc32fast::Hasher,
    /// Bytes that were written after the disk was last asked to store them.
    unsynced: u64,
    syncing: Option<Syncing>,
}

/// An output that is complete but does not have its name yet. Its journal is still there, so that it can be continued,
/// which then makes nothing.
pub struct Complete {
    place: Place,
    bytes: u64,
}

/// A thread that has the disk store what is written while more is written, so that less is left at the end.
struct Syncing {
    more: SyncSender<()>,
    thread: JoinHandle<()>,
}

impl Syncing {
    fn new(file: File) -> Self {
        let (more, wait) = sync_channel::<()>(1);
        // An error shows again when the complete file is stored.
        let thread = std::thread::spawn(move || wait.iter().for_each(|()| drop(file.sync_data())));
        Self { more, thread }
    }
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

    /// Opens the partial file of an output of `bytes` bytes. `plan` identifies what is written: a partial file of another
    /// plan is not continued, and one without a plan never.
    ///
    /// # Errors
    /// The output may not be replaced, another process is writing it, or the file system refuses it.
    pub fn open(name: &Path, bytes: u64, plan: Option<u64>, existing: Existing) -> Result<Self, Failure> {
        let existing = Existing { resume: existing.resume && plan.is_some(), ..existing };
        let fail = |error: io::Error| Failure::write(name, error);
        let target = target::check(name, existing)?;
        let metadata = fs::metadata(&target).ok();
        let partial = partial::path_of(&target);
        let head = journal::head(plan, bytes);
        let found = partial::open_earlier(&partial, metadata.as_ref(), existing, plan.is_some())
            .map_err(|what| Failure::at(name, what))?;
        let (file, entries) = match found {
            Some(mut file) => {
                let entries = journal::read(&mut file, bytes, &head).map_err(fail)?;
                (file, entries)
            }
            None => {
                // Before it exists, so that no signal comes between.
                signals::remove_on_signal(&partial, existing.resume);
                let file = partial::create(&partial, metadata.as_ref()).inspect_err(|_| signals::forget(&partial));
                (file.map_err(fail)?, None)
            }
        };
        let mut output = Self {
            place: Place { name: name.to_owned(), target, partial, keep: existing.resume },
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

    /// Writes the journal of the pieces that exist. Whatever follows them is cut off.
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

    /// What the casts of the pieces that exist already lost, each with the index of its part in the plan.
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
            if self.syncing.is_none() {
                self.syncing = self.file.try_clone().ok().map(Syncing::new);
            }
            // If the disk is still busy with an earlier request, the next one covers these bytes too.
            let _ = self.syncing.as_ref().map(|syncing| syncing.more.try_send(()));
        }
        let checksum = crc32fast::hash(bytes);
        self.log(&Entry { output, checksum, losses: losses.to_vec() })
    }

    /// The CRC-32 of the bytes that exist.
    pub fn checksum(&self) -> u32 {
        self.checksum.clone().finalize()
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
    pub fn complete(self) -> Result<Complete, Failure> {
        if let Some(Syncing { more, thread }) = self.syncing {
            drop(more);
            let _ = thread.join();
        }
        let bytes = if self.grows { self.end } else { self.bytes };
        self.file.sync_all().map_err(|error| Failure::write(&self.place.name, error))?;
        Ok(Complete { place: self.place, bytes })
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

impl Complete {
    /// The file that will have the output.
    pub fn path(&self) -> &Path {
        &self.place.target
    }

    /// Removes the file.
    pub fn discard(mut self) {
        self.place.keep = false;
    }

    /// Cuts off the journal and gives the complete file its name.
    ///
    /// # Errors
    /// The file system refuses it.
    pub fn rename(mut self) -> Result<(), Failure> {
        let place = &mut self.place;
        let cut = open_itself(OpenOptions::new().write(true), &place.partial)
            .and_then(|file| file.set_len(self.bytes).and_then(|()| file.sync_all()));
        let renamed = cut.and_then(|()| signals::without_signals(|| fs::rename(&place.partial, &place.target)));
        renamed.map_err(|error| Failure::write(&place.name, error))?;
        place.keep = true;
        // The new name is durable after this; not every file system can do it.
        if let Some(folder) = place.target.parent().and_then(|folder| File::open(folder).ok()) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

/// Writes a file from its parts, atomically. Links are followed. Devices and pipes are written to directly.
///
/// # Errors
/// The file system refuses it. Nothing is left of the file then.
pub fn write(path: &Path, parts: &[&[u8]], existing: Existing) -> Result<(), Failure> {
    let fail = |error: io::Error| Failure::write(path, error);
    if let Some(file) = open_special(path) {
        let mut file = file.map_err(|error| Failure::at(path, error))?;
        return parts.iter().try_for_each(|part| file.write_all(part)).map_err(fail);
    }
    stage(path, parts, existing)?.rename()
}

/// Writes a file from its parts, all but its name. Links are followed.
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
