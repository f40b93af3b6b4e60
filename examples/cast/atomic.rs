//! Outputs that appear whole or not at all.
//!
//! The bytes of an output go to a *partial* file beside it, `NAME.cast-partial`, which is renamed when it is complete.
//! Behind the bytes is a journal: a line for each piece with its checksum and its losses. An interrupted conversion can
//! therefore be continued, and what is there can be checked without casting it again.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use wgpu_cast::files::CastLoss;

use crate::failure::Failure;
use crate::output::note;
use crate::signals;

/// What the name of a partial file ends with.
const SUFFIX: &str = ".cast-partial";

/// The disk is asked to store what is written after as many bytes.
const SYNCED: u64 = 64 << 20;

/// The most links that are followed to an output.
const MOST_LINKS: usize = 40;

/// What to do with files that exist.
#[derive(Clone, Copy, Debug, Default)]
pub struct Existing {
    /// Continue an interrupted conversion, and keep its partial file if it is interrupted again.
    pub resume: bool,
    /// Refuse to replace a file.
    pub no_clobber: bool,
    /// Replace read-only files.
    pub force: bool,
}

/// A piece that the journal lists.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    output: Range<u64>,
    checksum: u32,
    losses: Vec<(usize, CastLoss)>,
}

/// The places of an output. The partial file is removed when this is dropped, unless it is kept.
struct Place {
    /// As the user gave it.
    name: PathBuf,
    /// Where links lead.
    target: PathBuf,
    partial: PathBuf,
    keep: bool,
}

impl Place {
    fn failure(&self, error: &io::Error) -> Failure {
        Failure::at(&self.name, format!("cannot write: {error}"))
    }
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
        emptied.map_err(|error| output.place.failure(&error))?;
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
        let fail = |error: io::Error| Failure::at(name, format!("cannot write: {error}"));
        let target = check(name, existing)?;
        let metadata = fs::metadata(&target).ok();
        let mut partial = target.clone().into_os_string();
        partial.push(SUFFIX);
        let partial = PathBuf::from(partial);
        let head = json!({"cast-partial": 1, "plan": plan.map(|plan| format!("{plan:016x}")), "bytes": bytes})
            .to_string()
            + "\n";
        let found = open_partial(&partial, metadata.as_ref(), existing, plan.is_some())
            .map_err(|what| Failure::at(name, what))?;
        let (file, entries) = match found {
            Some(mut file) => {
                let entries = read_journal(&mut file, bytes, &head).map_err(fail)?;
                (file, entries)
            }
            None => {
                // Before it exists, so that no signal comes between.
                signals::remove_on_signal(&partial, existing.resume);
                let file = create(&partial, metadata.as_ref()).inspect_err(|_| signals::forget(&partial));
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

    /// What the casts of the pieces that exist lost: by the index of the part.
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

    fn log(&mut self, entry: &Entry) -> io::Result<()> {
        let losses = losses_to_json(entry.losses.iter().copied());
        let Range { start, end } = entry.output;
        let line = json!({"start": start, "end": end, "crc32": entry.checksum, "losses": losses}).to_string() + "\n";
        self.append(line.as_bytes())
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
        self.file.sync_all().map_err(|error| self.place.failure(&error))?;
        Ok(Complete { place: self.place, bytes })
    }
}

/// An output that grows.
impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(bytes)?;
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
        renamed.map_err(|error| place.failure(&error))?;
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
    let fail = |error: io::Error| Failure::at(path, format!("cannot write: {error}"));
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
    let fail = |error: io::Error| Failure::at(path, format!("cannot write: {error}"));
    let bytes = parts.iter().map(|part| part.len() as u64).sum();
    let mut output = Output::open(path, bytes, None, existing)?;
    let mut start = 0;
    for part in parts {
        output.write(start..start + part.len() as u64, part, &[]).map_err(fail)?;
        start += part.len() as u64;
    }
    output.complete()
}

/// A folder that is created for outputs. What is new of it is removed when this is dropped, unless it is kept or
/// somebody has put something into it.
pub struct NewFolder(Vec<PathBuf>);

impl NewFolder {
    /// Creates the folder and those above it, as far as they do not exist.
    ///
    /// # Errors
    /// The file system refuses it.
    pub fn create(folder: &Path) -> Result<Self, Failure> {
        let is_new = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let new = Self(folder.ancestors().take_while(is_new).map(Path::to_owned).collect());
        fs::create_dir_all(folder).map_err(|error| Failure::at(folder, error))?;
        Ok(new)
    }

    /// Keeps the folder.
    pub fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        self.0.iter().for_each(|folder| drop(fs::remove_dir(folder)));
    }
}

/// Whether a path names a device, a pipe or a socket, which is written to directly.
pub fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Opens a device, a pipe or a socket.
pub fn open_special(path: &Path) -> Option<io::Result<File>> {
    is_special(path).then(|| OpenOptions::new().write(true).open(path))
}

/// Whether a name is that of a partial file.
pub fn is_partial(name: &str) -> bool {
    name.ends_with(SUFFIX)
}

/// Refuses a file that may not be replaced. Returns where links lead.
///
/// # Errors
/// It is a folder, read-only or not to be replaced, its links have no end, or its folder does not exist.
pub fn check(name: &Path, existing: Existing) -> Result<PathBuf, Failure> {
    let target = follow_links(name).map_err(|error| Failure::at(name, format!("cannot write: {error}")))?;
    match fs::metadata(&target) {
        Ok(metadata) => check_replaceable(&metadata, existing).map_err(|what| Failure::at(name, what))?,
        Err(_) => {
            let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            fs::metadata(folder).map_err(|error| Failure::at(name, format!("cannot write: {error}")))?;
        }
    }
    Ok(target)
}

/// The file at the end of a chain of links, which need not exist.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().map_or(next.clone(), |folder| folder.join(&next)),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

fn check_replaceable(metadata: &fs::Metadata, existing: Existing) -> Result<(), String> {
    if metadata.is_dir() {
        return Err("cannot write: it is a folder".to_owned());
    }
    if existing.no_clobber {
        return Err("it exists, and --no-clobber is given".to_owned());
    }
    if metadata.permissions().readonly() && !existing.force {
        return Err("cannot write: it is read-only (--force replaces it)".to_owned());
    }
    Ok(())
}

/// Opens the file itself, not what a link names. A pipe opens at once, also if nobody is at its other end.
///
/// # Errors
/// It is a link, or the file system refuses it.
#[cfg(unix)]
pub fn open_itself(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32).open(path)
}

/// Opens the file itself, not what a link names.
///
/// # Errors
/// It is a link, or the file system refuses it.
#[cfg(not(unix))]
pub fn open_itself(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    if path.is_symlink() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    options.open(path)
}

/// Opens the partial file of an earlier run, if there is one and it is to be continued, and locks it.
fn open_partial(
    path: &Path,
    target: Option<&fs::Metadata>,
    existing: Existing,
    has_plan: bool,
) -> Result<Option<File>, String> {
    let shown = path.display();
    let file = match open_itself(OpenOptions::new().read(true).write(true), path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot open the partial file {shown}: {error}")),
    };
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err(format!("{shown} is no regular file"));
    }
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(format!("another process is writing {shown}")),
        // Some file systems have no locks.
        Err(TryLockError::Error(_)) => {}
    }
    if existing.resume {
        set_permissions(&file, target).map_err(|error| format!("cannot write: {error}"))?;
        return Ok(Some(file));
    }
    let help = if has_plan { " (--resume continues it)" } else { "" };
    note(format_args!("removing {shown}, which an interrupted conversion left{help}"));
    fs::remove_file(path).map_err(|error| format!("cannot remove {shown}: {error}"))?;
    Ok(None)
}

/// Creates a partial file with the permissions of the file that it will replace.
fn create(path: &Path, target: Option<&fs::Metadata>) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    if target.is_some() {
        // Nobody else can read it before its permissions are set.
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let file = options.open(path)?;
    set_permissions(&file, target)?;
    // Where there are no locks, two processes are not noticed.
    let _ = file.try_lock();
    Ok(file)
}

/// Gives the file the permissions of the one that it will replace, but never that to run as its owner or group.
fn set_permissions(file: &File, target: Option<&fs::Metadata>) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(target) = target {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(fs::Permissions::from_mode(target.permissions().mode() & 0o777))?;
    }
    #[cfg(not(unix))]
    let _ = (file, target);
    Ok(())
}

/// The pieces that a partial file contains: those whose checksums are right, from the beginning without a gap. `None` if
/// it belongs to another plan.
fn read_journal(file: &mut File, bytes: u64, head: &str) -> io::Result<Option<Vec<Entry>>> {
    file.seek(SeekFrom::Start(bytes))?;
    let mut lines = BufReader::new(&mut *file).lines();
    if lines.next().transpose().ok().flatten().as_deref() != Some(head.trim_end()) {
        return Ok(None);
    }
    // A line that was cut off ends the journal.
    let listed: Vec<Entry> = lines.map_while(|line| entry(&line.ok()?)).collect();
    let mut entries: Vec<Entry> = Vec::new();
    let mut piece = Vec::new();
    for entry in listed {
        let start = entries.last().map_or(0, |last| last.output.end);
        let Range { start: from, end } = entry.output;
        if from != start || end <= from || end > bytes {
            break;
        }
        piece.clear();
        file.seek(SeekFrom::Start(from))?;
        (&mut *file).take(end - from).read_to_end(&mut piece)?;
        if piece.len() as u64 != end - from || crc32fast::hash(&piece) != entry.checksum {
            break;
        }
        entries.push(entry);
    }
    Ok(Some(entries))
}

fn entry(line: &str) -> Option<Entry> {
    let line: Value = serde_json::from_str(line).ok()?;
    Some(Entry {
        output: line["start"].as_u64()?..line["end"].as_u64()?,
        checksum: u32::try_from(line["crc32"].as_u64()?).ok()?,
        losses: losses_from_json(&line["losses"])?,
    })
}

/// What casts lost, by the index of the part.
pub fn losses_to_json(losses: impl Iterator<Item = (usize, CastLoss)>) -> Value {
    let counts = |lost: &CastLoss| lost.counts.iter().collect::<BTreeMap<_, _>>();
    // As bits, so that the error is read back exactly.
    losses.map(|(part, lost)| json!([part, counts(&lost), lost.relative_error.to_bits()])).collect()
}

/// What [`losses_to_json`] made; `None` if it is anything else.
pub fn losses_from_json(value: &Value) -> Option<Vec<(usize, CastLoss)>> {
    let losses = value.as_array()?.iter().map(|pair| {
        let part = usize::try_from(pair[0].as_u64()?).ok()?;
        let mut lost = CastLoss::default();
        lost.relative_error = f64::from_bits(pair[2].as_u64()?);
        for (name, count) in lost.counts.iter_mut() {
            *count = pair[1][name].as_u64()?;
        }
        Some((part, lost))
    });
    losses.collect()
}
