//! Tells an input from other files, and from itself after a change.

use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use wgpu_cast_files::ReadAt;

/// The bytes at each end of an input that belong to its checksum: headers, the directory of an archive, and some data.
const END: u64 = 256 << 10;

/// The state of a file as the system reports it. Two states of a path are equal if nobody wrote to the file or replaced
/// it in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputState {
    pub bytes: u64,
    /// Since 1970, in nanoseconds; 0 if the system does not tell.
    pub modified: u128,
    /// When the file was last written, renamed or given other permissions, in the same unit. Programs cannot set this
    /// time.
    pub changed: i128,
    /// The file system. This and the next field are 0 if the system does not tell.
    pub device: u64,
    pub inode: u64,
    /// The permissions of its owner, its group and others; all of them if the system has none.
    pub mode: u32,
}

/// A file that is read.
#[derive(Debug)]
pub struct Source {
    pub path: PathBuf,
    /// The state before the file was opened, so that every later change shows. `None` if there is no such file, and for
    /// pipes and devices.
    pub state: Option<InputState>,
}

impl Source {
    /// The file at a path; links are followed.
    pub fn of(path: &Path) -> Self {
        let is_standard_input = path == Path::new("-");
        let metadata = fs::metadata(path).ok().filter(|metadata| metadata.is_file() && !is_standard_input);
        Self { path: path.to_owned(), state: metadata.as_ref().map(InputState::from) }
    }

    /// Whether the file has changed since.
    pub fn has_changed(&self) -> bool {
        self.state.is_some() && self.state != Self::of(&self.path).state
    }
}

impl From<&Metadata> for InputState {
    fn from(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let (changed, device, inode, mode) = {
            use std::os::unix::fs::MetadataExt;
            let changed = i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
            (changed, metadata.dev(), metadata.ino(), metadata.mode() & 0o777)
        };
        #[cfg(not(unix))]
        let (changed, device, inode, mode) = (nanoseconds(metadata.created()) as i128, 0, 0, 0o777);
        Self { bytes: metadata.len(), modified: nanoseconds(metadata.modified()), changed, device, inode, mode }
    }
}

fn nanoseconds(time: io::Result<SystemTime>) -> u128 {
    time.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map_or(0, |time| time.as_nanos())
}

/// Identifies the inputs of a task by the paths and states of the files that are read, and by the ends of all inputs.
/// So outputs that were made of other inputs are not continued. The device does not count: several machines that share
/// a file system may give it different numbers.
///
/// # Errors
/// An input cannot be read.
pub fn identify(sources: &[Source], inputs: &[Box<dyn ReadAt>]) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    for Source { path, state } in sources {
        path.canonicalize().unwrap_or(path.clone()).hash(&mut hasher);
        state.map(|state| (state.bytes, state.modified, state.changed, state.inode)).hash(&mut hasher);
    }
    for input in inputs {
        checksum_ends(&**input)?.hash(&mut hasher);
    }
    Ok(hasher.finish())
}

/// A checksum of both ends of an input.
///
/// # Errors
/// It cannot be read.
pub fn checksum_ends(input: &dyn ReadAt) -> io::Result<u64> {
    let size = input.size()?;
    let mut hasher = DefaultHasher::new();
    let mut end = vec![0; size.min(END) as usize];
    for offset in [0, size - end.len() as u64] {
        input.read_exact_at(offset, &mut end)?;
        end.hash(&mut hasher);
    }
    size.hash(&mut hasher);
    Ok(hasher.finish())
}
