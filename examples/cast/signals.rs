//! Partial files are removed when the user or the system ends the program.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use crate::identity::FileId;

/// The partial files that exist and are not to be kept.
static PARTIAL: Mutex<Vec<(PathBuf, FileId)>> = Mutex::new(Vec::new());

fn partial() -> MutexGuard<'static, Vec<(PathBuf, FileId)>> {
    PARTIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a partial file, which is removed if a signal ends the program, unless it is to be kept. No signal ends the
/// program in between, and none removes a file that another process has created.
///
/// # Errors
/// Those of `create`.
pub fn removed_on_signal<T>(
    path: &Path,
    keep: bool,
    create: impl FnOnce() -> io::Result<(T, FileId)>,
) -> io::Result<(T, FileId)> {
    static WATCH: Once = Once::new();
    WATCH.call_once(watch);
    let mut partial = partial();
    let (created, id) = create()?;
    if !keep {
        partial.push((path.to_owned(), id));
    }
    Ok((created, id))
}

/// The file is no partial file any more.
pub fn forget(path: &Path) {
    partial().retain(|(listed, _)| listed != path);
}

/// Runs `work` without a signal ending the program meanwhile.
pub fn without_signals<R>(work: impl FnOnce() -> R) -> R {
    let _held = partial();
    work()
}

/// A thread waits for signals, so that also a program that waits for its input ends at once. A signal that the program
/// was started to ignore stays ignored, as `nohup` and shells want it for programs in the background.
#[cfg(unix)]
fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut wanted = vec![SIGINT, SIGTERM, SIGHUP];
    wanted.retain(|&signal| !is_ignored(signal));
    let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let partial = partial();
            for (path, id) in partial.iter() {
                if FileId::at_itself(path).is_ok_and(|found| found == *id) {
                    let _ = std::fs::remove_file(path);
                }
            }
            // As the shell reports a program that a signal has ended. No file is renamed while the list is held.
            std::process::exit(128 + signal);
        }
    });
}

/// Whether the program ignores a signal.
#[cfg(target_os = "linux")]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 != 0)
}

/// Safe code cannot ask these systems. Only hangups are commonly ignored, so they are left to the system: it ends the
/// program, and leaves the partial file, or ignores them.
#[cfg(all(unix, not(target_os = "linux")))]
fn is_ignored(signal: i32) -> bool {
    signal == signal_hook::consts::SIGHUP
}

/// Other systems end the program, and leave the partial file.
#[cfg(not(unix))]
fn watch() {}
