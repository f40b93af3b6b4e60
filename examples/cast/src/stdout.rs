//! What standard output is. The standard library opens /dev/null for one that is closed, and takes a write to one that is
//! not open for writing for success.

/// Whether standard output is open for reading only.
#[cfg(unix)]
pub fn is_for_reading() -> bool {
    mode() == Some(rustix::fs::OFlags::RDONLY)
}

/// Whether standard output is /dev/null, opened as the standard library does for one that is closed.
#[cfg(unix)]
pub fn is_nowhere() -> bool {
    use rustix::fs::{OFlags, fstat, stat};
    let same = || Some((fstat(rustix::stdio::stdout()).ok()?, stat("/dev/null").ok()?));
    let is_null = same().is_some_and(|(a, b)| (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino));
    is_null && mode() == Some(OFlags::RDWR)
}

#[cfg(unix)]
fn mode() -> Option<rustix::fs::OFlags> {
    use rustix::fs::{OFlags, fcntl_getfl};
    fcntl_getfl(rustix::stdio::stdout()).ok().map(|flags| flags & OFlags::RWMODE)
}

#[cfg(not(unix))]
pub fn is_for_reading() -> bool {
    false
}

#[cfg(not(unix))]
pub fn is_nowhere() -> bool {
    false
}
