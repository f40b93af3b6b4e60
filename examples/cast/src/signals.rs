//! When the user or the system ends the program, partial files that are not to be kept and new, empty folders are removed,
//! and a message tells what is left.

use std::io;
#[cfg(unix)]
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use crate::identity::FileId;
#[cfg(unix)]
use crate::output::{self, counted};
#[cfg(unix)]
use crate::text::printable;

/// The state of the work when a signal comes.
#[cfg_attr(not(unix), allow(dead_code, reason = "other systems have no signals"))]
struct Work {
    partial: Vec<Partial>,
    /// Folders that were created, the inner ones first.
    folders: Vec<PathBuf>,
    /// The number of outputs that have their names.
    named: u64,
}

/// A partial file that exists.
#[cfg_attr(not(unix), allow(dead_code, reason = "other systems have no signals"))]
struct Partial {
    path: PathBuf,
    id: FileId,
    keep: bool,
    /// Whether --resume can continue it.
    can_continue: bool,
    /// Whether it is the whole output, and nothing else.
    is_output: bool,
}

static WORK: Mutex<Work> = Mutex::new(Work { partial: Vec::new(), folders: Vec::new(), named: 0 });

/// Whether signals are watched.
static MAY_END: AtomicBool = AtomicBool::new(false);

/// From now on, a signal ends the process. Inside another program, that program watches for signals.
pub fn may_end_the_process() {
    MAY_END.store(true, Ordering::Relaxed);
    // A write beyond a limit of the size of files is an error then, and does not end the program.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}

fn work() -> MutexGuard<'static, Work> {
    static WATCH: Once = Once::new();
    if MAY_END.load(Ordering::Relaxed) {
        WATCH.call_once(watch);
    }
    WORK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens or creates a partial file. If a signal ends the program, the file is removed, unless it is to be kept. No
/// signal ends the program between opening and listing the file. A file that another process has created is never
/// removed.
///
/// # Errors
/// Those of `create`.
pub fn removed_on_signal<T>(
    path: &Path,
    keep: bool,
    can_continue: bool,
    create: impl FnOnce() -> io::Result<(T, FileId)>,
) -> io::Result<(T, FileId)> {
    let mut work = work();
    let (created, id) = create()?;
    work.partial.push(Partial { path: path.to_owned(), id, keep, can_continue, is_output: false });
    Ok((created, id))
}

/// The file at `path` is no partial file any more.
pub fn forget(path: &Path) {
    work().partial.retain(|listed| listed.path != path);
}

/// The file at `path` is kept: it is the whole output, and only needs its name.
pub fn only_needs_its_name(path: &Path) {
    for listed in work().partial.iter_mut().filter(|listed| listed.path == path) {
        (listed.keep, listed.is_output) = (true, true);
    }
}

/// Removes new folders if a signal ends the program and they are empty.
pub fn add_folders(new: &[PathBuf]) {
    work().folders.splice(0..0, new.iter().cloned());
}

/// The folders of `old` are not new any more.
pub fn forget_folders(old: &[PathBuf]) {
    work().folders.retain(|folder| !old.contains(folder));
}

/// Gives an output its name. No signal ends the program meanwhile.
///
/// # Errors
/// Those of `rename`.
pub fn name<E>(rename: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    let mut work = work();
    rename()?;
    work.named += 1;
    Ok(())
}

#[cfg(unix)]
impl Work {
    /// Removes the files and folders that are not to be kept. Returns a text for the user about what is left.
    fn end(&self) -> String {
        let mut told = vec!["interrupted".to_owned()];
        for Partial { path, id, keep, can_continue, is_output } in &self.partial {
            let name = printable(&path.to_string_lossy());
            if !FileId::at_itself(path).is_ok_and(|found| found == *id) {
                continue;
            }
            if !keep {
                let _ = std::fs::remove_file(path);
            }
            let help = match (keep, can_continue) {
                _ if *is_output => "is complete, and only needs its name",
                (true, true) => "is kept, and the same command continues it",
                (true, false) => "is kept, but cannot be continued",
                (false, true) => "was removed (with --resume it is kept and continued)",
                (false, false) => "was removed",
            };
            told.push(format!("{name} {help}"));
        }
        if self.named > 0 {
            told.push(format!("{} kept", counted(self.named, "complete output")));
        }
        // Only empty folders can be removed.
        self.folders.iter().for_each(|folder| drop(std::fs::remove_dir(folder)));
        told.join("; ")
    }
}

/// A thread waits for signals, so that a program that waits for its input also ends at once. A signal that the program
/// was started to ignore stays ignored: `nohup`, and shells for programs in the background, rely on that.
#[cfg(unix)]
fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut wanted = vec![SIGINT, SIGTERM, SIGHUP];
    wanted.retain(|&signal| !is_ignored(signal));
    let (give, take) = std::sync::mpsc::sync_channel::<signal_hook::iterator::Signals>(1);
    let watches = move || {
        let Ok(mut signals) = take.recv() else { return };
        if let Some(signal) = signals.forever().next() {
            let work = work();
            let left = work.end();
            // The bar may be in the current line.
            if io::stderr().is_terminal() {
                let _ = writeln!(io::stderr());
            }
            output::error(left);
            // The status that shells use for a program that a signal has ended. While the lock is held, no file is
            // renamed.
            std::process::exit(128 + signal);
        }
    };
    // Without this thread, signals end the program at once. With their handlers and no thread, they would have no effect.
    if std::thread::Builder::new().spawn(watches).is_ok() {
        let _ = signal_hook::iterator::Signals::new(wanted).map(|signals| give.send(signals));
    }
}

/// Whether the program ignores a signal.
#[cfg(target_os = "linux")]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 != 0)
}

/// Safe code cannot ask these systems. Only hangups are commonly ignored, so hangups are left to the system. It ignores
/// them, or ends the program and leaves the partial file.
#[cfg(all(unix, not(target_os = "linux")))]
fn is_ignored(signal: i32) -> bool {
    signal == signal_hook::consts::SIGHUP
}

/// Other systems end the program, and leave the partial file.
#[cfg(not(unix))]
fn watch() {}
