//! Outputs that are complete but do not have their names yet.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::partial::{Partial, Written};
use super::target::{Permissions, folder_of};
use crate::failure::Failure;
use crate::identity::FileId;
#[cfg(unix)]
use crate::output::warning;
use crate::signals;

thread_local! {
    /// The outputs that this run has named. A run names all its outputs on one thread.
    static NAMED: RefCell<HashSet<FileId>> = RefCell::default();
}

/// Forgets the outputs that an earlier run on this thread has named.
pub fn start_run() {
    NAMED.take();
}

/// The place of an output, and its partial file.
pub struct Place {
    /// The path as the user gave it.
    pub name: PathBuf,
    /// The path to which links lead.
    pub target: PathBuf,
    pub partial: Partial,
    /// The permissions of the file that is replaced.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has permissions that are set"))]
    pub replaced: Option<fs::Permissions>,
    /// The widest permissions of a new file.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has permissions that are set"))]
    pub widest: Permissions,
}

/// How many partial files of complete outputs stay open. A system opens a limited number of files at once.
const MOST_OPEN: usize = 64;

/// How many outputs are complete.
static COMPLETE: AtomicUsize = AtomicUsize::new(0);

/// An output that is complete but does not have its name yet. Until [`Complete::finish`], its journal is still there, so
/// a later run can continue it and has nothing left to make. The partial file stays locked until it has its name, unless
/// too many are open.
pub struct Complete {
    place: Place,
    file: Option<File>,
    written: Written,
    bytes: u64,
    /// Whether the partial file has no journal any more.
    is_finished: bool,
}

impl Drop for Complete {
    fn drop(&mut self) {
        COMPLETE.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Complete {
    /// An output of `bytes` bytes that the disk has stored.
    ///
    /// # Errors
    /// The file system does not tell the state of the file.
    pub fn new(place: Place, file: File, bytes: u64) -> Result<Self, Failure> {
        let written = Written::of(&file).map_err(|error| Failure::write(&place.name, error))?;
        let stays_open = COMPLETE.fetch_add(1, Ordering::Relaxed) < MOST_OPEN;
        Ok(Self { place, file: stays_open.then_some(file), written, bytes, is_finished: false })
    }

    /// The file that will have the output.
    pub fn path(&self) -> &Path {
        &self.place.target
    }

    /// Removes the file.
    pub fn discard(mut self) {
        self.place.partial.keep = false;
    }

    /// Keeps the partial file even if it does not get its name.
    pub fn keep(&mut self) {
        self.place.partial.keep = true;
        match self.is_finished {
            true => signals::only_needs_its_name(self.place.partial.path()),
            false => signals::forget(self.place.partial.path()),
        }
    }

    /// Cuts off the journal, so that the partial file is the output, and only its name is missing.
    ///
    /// # Errors
    /// The file system refuses it, or another process has replaced the partial file.
    pub fn finish(&mut self) -> Result<(), Failure> {
        let stays_open = self.file.is_some();
        let file = self.cut()?;
        self.file = stays_open.then_some(file);
        self.is_finished = true;
        Ok(())
    }

    /// The path of the partial file.
    pub fn partial(&self) -> &Path {
        self.place.partial.path()
    }

    /// Cuts off the journal and gives the complete file its name.
    ///
    /// # Errors
    /// As [`finish`](Self::finish), or the name is that of another output of this run.
    pub fn rename(mut self) -> Result<(), Failure> {
        let _locked = if self.is_finished { self.file.take() } else { Some(self.cut()?) };
        let place = &mut self.place;
        signals::name(|| place.rename())?;
        // The partial file is the output now.
        place.partial.keep = true;
        // After this, the new name survives a crash.
        let stored = sync_folder(&place.target);
        stored.map_err(|error| Failure::write(&place.name, format_args!("the folder cannot be stored: {error}")))
    }

    /// The partial file, stored without its journal.
    fn cut(&mut self) -> Result<File, Failure> {
        let place = &mut self.place;
        let file = match self.file.take() {
            Some(file) => file,
            None => place.partial.reopen(self.written).map_err(|what| Failure::at(&place.name, what))?,
        };
        let cut = file.set_len(self.bytes).and_then(|()| place.set_permissions(&file));
        cut.and_then(|()| place.store(&file)).map_err(|error| Failure::write(&place.name, error))?;
        Ok(file)
    }
}

impl Place {
    /// Makes the disk store the file. After an error the file is removed: lost bytes would look right to a run that
    /// continues it.
    ///
    /// # Errors
    /// The disk fails.
    pub fn store(&mut self, file: &File) -> io::Result<()> {
        file.sync_all().inspect_err(|_| self.partial.keep = false)
    }

    fn rename(&self) -> Result<(), Failure> {
        self.partial.check_place().map_err(|what| Failure::at(&self.name, what))?;
        // Some file systems do not distinguish names that differ in case, for instance.
        if FileId::at_itself(&self.target).is_ok_and(|id| NAMED.with_borrow(|named| named.contains(&id))) {
            return Err(Failure::at(&self.name, "another output of this run has this name in other letters"));
        }
        fs::rename(self.partial.path(), &self.target).map_err(|error| Failure::write(&self.name, error))?;
        NAMED.with_borrow_mut(|named| named.insert(self.partial.id()));
        Ok(())
    }

    /// Gives the partial file the permissions of the file that it will replace, but never the permission to run as its
    /// owner or group. A new file has at most the permissions of its inputs.
    #[cfg(unix)]
    fn set_permissions(&self, file: &File) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let mode = file.metadata()?.permissions().mode() & 0o7777;
        let wanted = match &self.replaced {
            Some(replaced) => replaced.mode() & 0o777,
            None => mode & self.widest.of_new(),
        };
        if mode == wanted {
            return Ok(());
        }
        match file.set_permissions(fs::Permissions::from_mode(wanted)) {
            // The file system has no permissions.
            Err(error) if self.replaced.is_none() => {
                let name = self.name.display();
                warning(format_args!("{name}: others may read it who may not read its inputs: {error}"));
                Ok(())
            }
            set => set,
        }
    }

    #[cfg(not(unix))]
    fn set_permissions(&self, _: &File) -> io::Result<()> {
        Ok(())
    }
}

/// Makes the disk store the names in the folder of a file, if the file system supports it.
///
/// # Errors
/// The disk fails.
pub fn sync_folder(file: &Path) -> io::Result<()> {
    // A folder that may be written to but not be read cannot be opened. Some systems open no folders at all.
    let Ok(folder) = File::open(folder_of(file)) else { return Ok(()) };
    match folder.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput) => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Existing, stage};
    use super::*;

    /// What is kept needs only its name, whether its file stays open or not.
    #[test]
    fn a_finished_output_has_no_journal_and_can_get_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        for stays_open in [true, false] {
            let path = folder.path().join(format!("a{stays_open}"));
            let mut output = stage(&path, &[b"ab", b"c"], Existing::default()).expect("a file");
            let partial = output.partial().to_owned();
            if !stays_open {
                output.file = None;
            }
            let bytes = |path: &Path| fs::metadata(path).map(|metadata| metadata.len()).ok();
            assert!(bytes(&partial) > Some(3), "there is a journal");
            output.finish().expect("a file that can be changed");
            output.keep();
            assert_eq!((bytes(&partial), bytes(&path)), (Some(3), None));
            output.rename().expect("a file that can be renamed");
            assert_eq!((fs::read(&path).expect("a file"), partial.exists()), (b"abc".to_vec(), false));
        }
    }
}
