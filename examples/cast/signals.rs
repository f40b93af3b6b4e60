//! Partial files are removed when the user or the system ends the program.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// The partial files that exist.
static PARTIAL: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn partial() -> MutexGuard<'static, Vec<PathBuf>> {
    PARTIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the file if a signal ends the program, unless it is to be kept.
pub fn remove_on_signal(path: &Path, keep: bool) {
    static WATCH: Once = Once::new();
    WATCH.call_once(watch);
    if !keep {
        partial().push(path.to_owned());
    }
}

/// The file is no partial file any more.
pub fn forget(path: &Path) {
    partial().retain(|listed| listed != path);
}

/// Runs `work` without a signal ending the program meanwhile.
pub fn without_signals<R>(work: impl FnOnce() -> R) -> R {
    let _held = partial();
    work()
}

/// A thread waits for signals, so that also a program that waits for its input ends at once.
#[cfg(unix)]
fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let partial = partial();
            partial.iter().for_each(|path| drop(std::fs::remove_file(path)));
            // As the shell reports a program that a signal has ended. No file is renamed while the list is held.
            std::process::exit(128 + signal);
        }
    });
}

/// Other systems end the program, and leave the partial file.
#[cfg(not(unix))]
fn watch() {}
