//! Partial files. They are opened by their own names, never through a link, and belong to one process.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::target::{Existing, Permissions};
use crate::identity::FileId;
use crate::output::note;
use crate::signals;

/// The end of a partial file's name.
const SUFFIX: &str = ".cast-partial";

/// The longest name of a file, in bytes.
const LONGEST_NAME: usize = 255;

/// How many times a partial file is opened that other processes keep renaming or removing.
const MOST_TRIES: usize = 100;

/// Whether a name is that of a partial file.
pub fn is_partial(name: &str) -> bool {
    name.ends_with(SUFFIX)
}

/// The name of the output for a partial file's name, unless that name was cut.
pub fn output_of(name: &str) -> Option<&str> {
    name.strip_suffix(SUFFIX)
}

/// Opens the file itself, not the target of a link. A pipe is opened at once, even if nobody is at its other end.
///
/// # Errors
/// It is a link, or the file system refuses it.
#[cfg(unix)]
pub fn open_itself(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32).open(path)
}

/// Opens the file itself, not the target of a link.
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

/// The path of the partial file of an output. A name that would be too long is cut, and gets a checksum of the whole
/// name to tell it from others.
pub fn path_of(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default();
    if name.len() + SUFFIX.len() <= LONGEST_NAME {
        let mut path = target.as_os_str().to_owned();
        path.push(SUFFIX);
        return PathBuf::from(path);
    }
    let checksum = format!("~{:08x}", crc32fast::hash(name.as_encoded_bytes()));
    let mut name = name.to_string_lossy().into_owned();
    let longest = LONGEST_NAME - checksum.len() - SUFFIX.len();
    while name.len() > longest {
        name.pop();
    }
    target.with_file_name(name + &checksum + SUFFIX)
}

/// A partial file that this process has locked. The file's handle is elsewhere, and is dropped after this. Dropping
/// this removes the file, unless it is to be kept.
pub struct Partial {
    path: PathBuf,
    id: FileId,
    pub keep: bool,
}

/// A partial file that was opened.
pub struct Opened {
    pub partial: Partial,
    pub file: File,
    /// Whether it is the file of an earlier run, to be continued.
    pub is_earlier: bool,
}

/// What changes if another process writes to a file: its size and the time of its last change.
#[derive(Clone, Copy, PartialEq)]
pub struct Written(u64, Option<SystemTime>);

impl Written {
    /// The file now.
    ///
    /// # Errors
    /// The file system does not tell.
    pub fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self(metadata.len(), metadata.modified().ok()))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        signals::forget(&self.path);
        if !self.keep && self.is_in_place() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Partial {
    /// Opens the partial file of an output. If an earlier run is to be continued, this is its file, otherwise a new
    /// one. A new file has the permissions of the file that it will replace, or at most the given ones. Its owner can
    /// always write to it.
    ///
    /// # Errors
    /// Another process is writing it, or the file system refuses it.
    pub fn open(path: &Path, replaces: bool, existing: Existing, has_plan: bool) -> Result<Opened, String> {
        if let Some(file) = lock_earlier(path)? {
            if existing.resume {
                let known = signals::removed_on_signal(path, true, has_plan, || {
                    let id = FileId::of(&file)?;
                    Ok((file, id))
                });
                let (file, id) = known.map_err(|error| format!("cannot write: {error}"))?;
                return Ok(Opened { partial: Self { path: path.to_owned(), id, keep: true }, file, is_earlier: true });
            }
            let help = if has_plan { " (--resume continues it)" } else { "" };
            note(format_args!("removing {}, which an interrupted conversion left{help}", path.display()));
            fs::remove_file(path).map_err(|error| format!("cannot remove {}: {error}", path.display()))?;
        }
        let created = signals::removed_on_signal(path, existing.resume, has_plan, || {
            let file = create(path, replaces, existing.permissions)?;
            let id = FileId::of(&file)?;
            Ok((file, id))
        });
        let (file, id) = created.map_err(|error| match error.kind() {
            // Another process was faster.
            io::ErrorKind::AlreadyExists => busy(path),
            _ => format!("cannot write: {error}"),
        })?;
        let mut partial = Self { path: path.to_owned(), id, keep: existing.resume };
        // Before the lock, another process may take the file for one that an interrupted conversion left.
        if !lock(&file, path)? {
            partial.keep = true;
            return Err(busy(path));
        }
        partial.check_place()?;
        Ok(Opened { partial, file, is_earlier: false })
    }

    /// Opens and locks the file again. It must not have changed.
    ///
    /// # Errors
    /// Another process has written to it or is about to, or the file system refuses it.
    pub fn reopen(&self, written: Written) -> Result<File, String> {
        let file = lock_earlier(&self.path)?.ok_or_else(|| busy(&self.path))?;
        self.check_place()?;
        let found = Written::of(&file).map_err(|error| format!("cannot write: {error}"))?;
        if found == written { Ok(file) } else { Err(busy(&self.path)) }
    }

    /// Refuses to go on if another process has removed the file, or has put another one in its place.
    ///
    /// # Errors
    /// The file does not have its name any more.
    pub fn check_place(&self) -> Result<(), String> {
        if self.is_in_place() { Ok(()) } else { Err(busy(&self.path)) }
    }

    fn is_in_place(&self) -> bool {
        FileId::at_itself(&self.path).is_ok_and(|id| id == self.id)
    }

    /// The file's identity, which a new name does not change.
    pub fn id(&self) -> FileId {
        self.id
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The error for the process that comes second.
fn busy(path: &Path) -> String {
    format!("another process is writing {}", path.display())
}

/// Opens the partial file of an earlier run, if there is one, and locks it.
fn lock_earlier(path: &Path) -> Result<Option<File>, String> {
    // Between opening and locking, the process that held the lock may have renamed or removed the file.
    for _ in 0..MOST_TRIES {
        let file = match open_itself(OpenOptions::new().read(true).write(true), path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("cannot open the partial file {}: {error}", path.display())),
        };
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(format!("{} is no regular file", path.display()));
        }
        if !lock(&file, path)? {
            break;
        }
        let id = FileId::of(&file).map_err(|error| format!("cannot write: {error}"))?;
        if FileId::at_itself(path).is_ok_and(|found| found == id) {
            return Ok(Some(file));
        }
    }
    Err(busy(path))
}

/// Locks a partial file, if the file system has locks. False if another process has locked it.
fn lock(file: &File, path: &Path) -> Result<bool, String> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) if has_no_locks(&error) => Ok(true),
        Err(TryLockError::Error(error)) => Err(format!("cannot lock {}: {error}", path.display())),
    }
}

/// Whether the error says that the file system has no locks.
fn has_no_locks(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error()) {
        return true;
    }
    error.kind() == io::ErrorKind::Unsupported
}

/// Creates a partial file. If it replaces a file, only its owner can read it until it gets that file's permissions.
#[cfg(unix)]
fn create(path: &Path, replaces: bool, permissions: Permissions) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mode = if replaces { 0 } else { permissions.of_new() };
    OpenOptions::new().read(true).write(true).create_new(true).mode(mode | 0o600).open(path)
}

#[cfg(not(unix))]
fn create(path: &Path, _: bool, _: Permissions) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &Path, resume: bool) -> Result<Opened, String> {
        Partial::open(path, false, Existing { resume, ..Existing::default() }, true)
    }

    #[test]
    fn one_handle_at_a_time_has_a_partial_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.cast-partial");
        let busy = Err(format!("another process is writing {}", path.display()));
        for resume in [false, true] {
            let first = open(&path, resume).expect("a partial file");
            assert!(!first.is_earlier);
            assert_eq!(open(&path, resume).map(|second| second.is_earlier), busy);
            assert!(path.exists(), "the second leaves the file of the first");
            let written = Written::of(&first.file).expect("metadata");
            assert_eq!(first.partial.reopen(written).map(drop), busy.clone().map(drop));
            drop(first.file);
            assert!(first.partial.reopen(written).is_ok());
            fs::write(&path, "x").expect("a file");
            assert_eq!(first.partial.reopen(written).map(drop), busy.clone().map(drop), "it was changed meanwhile");
            drop(first.partial);
            assert_eq!(path.exists(), resume);
        }
        assert!(open(&path, true).expect("a partial file").is_earlier);
        assert!(!open(&path, false).expect("a partial file").is_earlier);
    }

    /// Another process replaces the file between creating and locking, or while this process writes.
    #[test]
    fn a_partial_file_that_was_replaced_is_not_ones_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.cast-partial");
        let Opened { partial, .. } = open(&path, false).expect("a partial file");
        assert_eq!(partial.check_place(), Ok(()));
        let busy = Err(format!("another process is writing {}", path.display()));
        fs::rename(&path, folder.path().join("b")).expect("a file");
        assert_eq!(partial.check_place(), busy);
        fs::write(&path, "of another process").expect("a file");
        assert_eq!(partial.check_place(), busy);
        drop(partial);
        assert_eq!(fs::read(&path).expect("a file"), b"of another process", "it is not removed");
    }

    #[test]
    fn names_of_partial_files_are_not_too_long() {
        let path = |name: &str| path_of(&Path::new("/folder").join(name));
        assert_eq!(path("a.npy"), Path::new("/folder/a.npy.cast-partial"));
        assert_eq!(path(&"a".repeat(242)), Path::new(&format!("/folder/{}.cast-partial", "a".repeat(242))));
        let cut = format!("/folder/{}~{:08x}.cast-partial", "a".repeat(233), crc32fast::hash(&[b'a'; 243]));
        assert_eq!(path(&"a".repeat(243)), Path::new(&cut));
        let names = ["a".repeat(255), "b".repeat(255), "é".repeat(127), "a".repeat(250), "a".repeat(254) + "b"];
        let partial = names.map(|name| path(&name).file_name().expect("a name").to_owned());
        assert!(partial.iter().all(|name| name.len() <= 255 && is_partial(&name.to_string_lossy())));
        assert_eq!(partial.iter().collect::<std::collections::HashSet<_>>().len(), partial.len());
    }
}
