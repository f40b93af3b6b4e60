//! The places of outputs, and whether they may be written.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::signals;

/// The most links that are followed to an output.
const MOST_LINKS: usize = 40;

/// How to treat files that exist.
#[derive(Clone, Copy, Debug, Default)]
pub struct Existing {
    /// Continue an interrupted conversion, and keep its partial file if it is interrupted again.
    pub resume: bool,
    /// Refuse to replace a file.
    pub no_clobber: bool,
    /// Replace read-only files.
    pub force: bool,
    /// The widest permissions of a file that does not exist yet.
    pub permissions: Permissions,
}

/// The widest permissions of a new file: those that all of its inputs have, as for a copy. Permissions that the process
/// may not give to new files are always left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions(Option<u32>);

impl Permissions {
    /// The permissions that all these modes have.
    pub fn of_all(modes: impl IntoIterator<Item = u32>) -> Self {
        Self(modes.into_iter().reduce(|a, b| a & b))
    }

    /// The permissions as bits. A file without inputs may be read and written, but not run.
    #[cfg(unix)]
    pub fn of_new(self) -> u32 {
        self.0.unwrap_or(0o666)
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

/// Refuses a file that may not be replaced. Returns the path to which links lead.
///
/// # Errors
/// The path is a folder, read-only or not to be replaced, it stands for an open file, its links have no end, or its folder
/// does not exist.
pub fn check(name: &Path, existing: Existing) -> Result<PathBuf, Failure> {
    if is_descriptor(name) {
        return Err(Failure::at(
            name,
            "cannot write: it stands for a file that is open already (- is standard output)",
        ));
    }
    let target = follow_links(name).map_err(|error| Failure::write(name, error))?;
    match fs::metadata(&target) {
        Ok(metadata) => check_replaceable(&metadata, existing).map_err(|what| Failure::at(name, what))?,
        Err(_) => {
            fs::metadata(folder_of(&target)).map_err(|error| Failure::write(name, error))?;
        }
    }
    Ok(target)
}

/// The folder of a file.
pub fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The file at the end of a chain of links. It need not exist.
///
/// # Errors
/// The links have no end.
pub fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().map_or(next.clone(), |folder| folder.join(&next)),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Whether a path stands for an open file of a process, as /dev/stdout and /proc/self/fd/1 do. The file behind it has been
/// opened by another program, which may have written to it, so that it cannot be replaced.
fn is_descriptor(path: &Path) -> bool {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let folder = fs::canonicalize(folder_of(&path)).unwrap_or_default();
        if folder == Path::new("/dev/fd") || folder.starts_with("/proc") && folder.ends_with("fd") {
            return true;
        }
        match fs::read_link(&path) {
            Ok(next) => path = folder.join(next),
            Err(_) => return false,
        }
    }
    false
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

/// A folder that is created for outputs. Dropping this removes the new folders, unless they are kept or contain
/// something.
pub struct NewFolder(Vec<PathBuf>);

impl NewFolder {
    /// Creates the folder, and those above it that do not exist.
    ///
    /// # Errors
    /// The file system refuses it.
    pub fn create(folder: &Path) -> Result<Self, Failure> {
        let mut new = Self(Vec::new());
        new.add(folder)?;
        Ok(new)
    }

    /// Creates another folder, which is kept or removed with the first.
    ///
    /// # Errors
    /// The file system refuses it.
    pub fn add(&mut self, folder: &Path) -> Result<(), Failure> {
        let is_new = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let new: Vec<_> = folder.ancestors().take_while(is_new).map(Path::to_owned).collect();
        signals::add_folders(&new);
        // The inner folders come first, since they must be removed before the outer ones.
        self.0.splice(0..0, new);
        fs::create_dir_all(folder).map_err(|error| Failure::at(folder, error))
    }

    /// Keeps the folder.
    pub fn keep(mut self) {
        signals::forget_folders(&self.0);
        self.0.clear();
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        signals::forget_folders(&self.0);
        self.0.iter().for_each(|folder| drop(fs::remove_dir(folder)));
    }
}
