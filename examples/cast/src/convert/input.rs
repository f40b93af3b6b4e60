//! Inputs. They are open only while they are read, because a system opens a limited number of files at once.

use std::collections::VecDeque;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use wgpu_cast_files::{InputFile, ReadAt};

use super::input_state::{InputState, Source};

/// The most files that are open at a time.
const MOST_OPEN: usize = 64;

/// The open files, the oldest first.
static OPEN: Mutex<VecDeque<Weak<Slot>>> = Mutex::new(VecDeque::new());

/// A file while it is open.
type Slot = Mutex<Option<Arc<InputFile>>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that is read at any offset.
pub enum Input {
    /// A file without a name, which stays open.
    Temporary(InputFile),
    /// A file that is opened again when it is needed. It must not have changed then.
    Named { path: PathBuf, state: InputState, slot: Arc<Slot> },
}

impl Input {
    /// A file with a name, which is open.
    pub fn named(path: &Path, file: File, metadata: &Metadata) -> Self {
        let slot = Arc::new(Mutex::new(Some(Arc::new(InputFile::new(file)))));
        enlist(&slot);
        Self::Named { path: path.to_owned(), state: InputState::from(metadata), slot }
    }

    /// A file that was checked, and is opened when it is needed. `None` if there was no such file.
    pub fn closed(source: &Source) -> Option<Self> {
        Some(Self::Named { path: source.path.clone(), state: source.state?, slot: Arc::default() })
    }

    fn file(path: &Path, state: &InputState, slot: &Arc<Slot>) -> io::Result<Arc<InputFile>> {
        let mut open = lock(slot);
        if let Some(file) = &*open {
            return Ok(file.clone());
        }
        let file = File::open(path)?;
        if InputState::from(&file.metadata()?) != *state {
            return Err(io::Error::other("the file changed while it was read"));
        }
        let file = open.insert(Arc::new(InputFile::new(file))).clone();
        drop(open);
        enlist(slot);
        Ok(file)
    }
}

/// Adds an open file to the list, and closes the oldest one if there are too many.
fn enlist(slot: &Arc<Slot>) {
    let mut open = lock(&OPEN);
    open.push_back(Arc::downgrade(slot));
    while open.len() > MOST_OPEN {
        if let Some(oldest) = open.pop_front().and_then(|oldest| oldest.upgrade()) {
            lock(&oldest).take();
        }
    }
}

impl ReadAt for Input {
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Temporary(file) => file.read_exact_at(offset, buffer),
            Self::Named { path, state, slot } => Self::file(path, state, slot)?.read_exact_at(offset, buffer),
        }
    }

    fn size(&self) -> io::Result<u64> {
        match self {
            Self::Temporary(file) => file.size(),
            Self::Named { state, .. } => Ok(state.bytes),
        }
    }
}
