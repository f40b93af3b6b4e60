//! The disk stores what is written while more is written, so that less is left to store at the end.

use std::fs::File;
use std::io;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::{Builder, JoinHandle};

/// A file, or in tests one whose disk fails.
pub trait Store: Send + 'static {
    /// As [`File::sync_data`].
    ///
    /// # Errors
    /// The disk fails.
    fn store(&self) -> io::Result<()>;
}

impl Store for File {
    fn store(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// A thread that asks the disk to store a file. The system reports an error of the disk once, to the handle that asks
/// next. Later requests succeed although bytes are lost. So the first error is kept, and nothing is requested after it.
pub struct Syncing {
    more: SyncSender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl Syncing {
    /// Stores this file from now on. `None` if the system starts no thread for that.
    pub fn new(file: impl Store) -> Option<Self> {
        let (more, wait) = sync_channel::<()>(1);
        let thread = Builder::new().spawn(move || wait.iter().try_for_each(|()| file.store())).ok()?;
        Some(Self { more, thread })
    }

    /// Asks the disk to store what is written, without waiting. False after an error; [`finish`](Self::finish) then
    /// returns the error.
    pub fn request(&self) -> bool {
        // If the disk is still busy with an earlier request, the next request covers these bytes too.
        !matches!(self.more.try_send(()), Err(TrySendError::Disconnected(())))
    }

    /// Waits for the disk.
    ///
    /// # Errors
    /// The first error of the disk.
    pub fn finish(self) -> io::Result<()> {
        drop(self.more);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that stores the file ended")))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Barrier};

    use super::*;

    /// A file whose disk fails at one request, and reports it once, as Linux does.
    struct Failing {
        asked: Arc<AtomicUsize>,
        fails_at: usize,
        answered: Arc<Barrier>,
    }

    impl Store for Failing {
        fn store(&self) -> io::Result<()> {
            let number = self.asked.fetch_add(1, Ordering::SeqCst);
            self.answered.wait();
            if number == self.fails_at { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        }
    }

    #[test]
    fn the_first_error_of_the_disk_is_kept() {
        for fails_at in 0..3 {
            let (asked, answered) = (Arc::new(AtomicUsize::new(0)), Arc::new(Barrier::new(2)));
            let file = Failing { asked: asked.clone(), fails_at, answered: answered.clone() };
            let syncing = Syncing::new(file).expect("a thread");
            for _ in 0..=fails_at {
                assert!(syncing.request());
                answered.wait();
            }
            // Requests after the error are refused as soon as the thread has ended.
            while syncing.request() {
                std::thread::yield_now();
            }
            assert_eq!(syncing.finish().map_err(|error| error.kind()), Err(io::ErrorKind::StorageFull));
            assert_eq!(asked.load(Ordering::SeqCst), fails_at + 1, "nothing is asked after an error");
        }
    }

    #[test]
    fn a_disk_that_stores_everything_is_no_error() {
        let file = tempfile::tempfile().expect("a temporary file");
        let syncing = Syncing::new(file).expect("a thread");
        assert!(syncing.request());
        assert!(syncing.finish().is_ok());
    }
}
