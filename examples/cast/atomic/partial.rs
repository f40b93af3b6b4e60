//! Partial files: they are opened by their own names, never through a link, and belong to one process.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::target::Existing;
use crate::output::note;

/// What the name of a partial file ends with.
const SUFFIX: &str = ".cast-partial";

/// Whether a name is that of a partial file.
pub fn is_partial(name: &str) -> bool {
    name.ends_with(SUFFIX)
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

/// The partial file of an output.
pub fn path_of(target: &Path) -> PathBuf {
    let mut path = target.as_os_str().to_owned();
    path.push(SUFFIX);
    PathBuf::from(path)
}

/// Opens the partial file of an earlier run, if there is one and it is to be continued, and locks it.
///
/// # Errors
/// Another process is writing it, or the file system refuses it.
pub fn open_earlier(
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
///
/// # Errors
/// It exists, or the file system refuses it.
pub fn create(path: &Path, target: Option<&fs::Metadata>) -> io::Result<File> {
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
