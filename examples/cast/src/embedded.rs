//! Commands inside another program. They print nothing, watch for no signals, and can be stopped between pieces of tensor
//! data.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io;
use std::sync::Arc;

use clap::Parser;
use rayon::ThreadPool;

use crate::args::{Cli, PROGRAM};
use crate::atomic;
use crate::failure::Failure;

/// What a command would have printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Printed {
    /// The lines of stdout.
    pub stdout: String,
    /// The warnings of stderr.
    pub warnings: Vec<String>,
}

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// The exit status of the program: 2 for arguments that are wrong or do not fit, 1 for all else.
    pub status: u8,
    /// The message of the program, without its name.
    pub message: String,
}

/// Gets the bytes that are done, all bytes, and the name of a tensor or file. The bytes are those of the outputs and, with
/// `--quantize`, those of the weights, which are read first. Returns whether to go on.
pub type OnProgress = Box<dyn FnMut(u64, u64, &str) -> bool>;

/// The command that runs on this thread.
struct Running {
    printed: Printed,
    on_progress: OnProgress,
    is_stopped: bool,
    pool: Option<Arc<ThreadPool>>,
}

/// Ends the command, also if it panics.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        RUNNING.take();
    }
}

thread_local! {
    static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) };
}

/// Runs a command on this thread. `arguments` are those of the program, without its name: `["convert", "--json", …]`.
/// Conversions on the CPU use the threads of `pool`, or those of rayon's global pool.
///
/// If `on_progress` returns false, the command fails as if an output could not be written: the output that is being made
/// is removed, and complete ones stay. It is not called by commands that print no progress.
///
/// # Errors
/// Those of the program.
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    on_progress: OnProgress,
    pool: Option<Arc<ThreadPool>>,
) -> Result<Printed, Refused> {
    let name = OsString::from(PROGRAM);
    let cli = Cli::try_parse_from(std::iter::once(name).chain(arguments));
    let cli = cli.map_err(|error| refused(&Failure::Usage(crate::one_line(&error))))?;
    RUNNING.set(Some(Running { printed: Printed::default(), on_progress, is_stopped: false, pool }));
    let _end = End;
    atomic::start_run();
    let result = crate::run(&cli.command);
    let printed = RUNNING.take().map(|running| running.printed).unwrap_or_default();
    result.map(|()| printed).map_err(|failure| refused(&failure))
}

fn refused(failure: &Failure) -> Refused {
    Refused { status: failure.status(), message: failure.to_string() }
}

fn with<R>(work: impl FnOnce(&mut Running) -> R) -> Option<R> {
    RUNNING.with_borrow_mut(|running| running.as_mut().map(work))
}

/// Whether an embedded command runs on this thread.
pub(crate) fn is_running() -> bool {
    with(|_| ()).is_some()
}

/// The threads for the casts of an embedded command, if its caller gave some.
pub(crate) fn pool() -> Option<Arc<ThreadPool>> {
    with(|running| running.pool.clone()).flatten()
}

/// Keeps what would go to stdout. Returns whether an embedded command runs.
pub(crate) fn keep_output(bytes: &[u8]) -> bool {
    with(|running| running.printed.stdout.push_str(&String::from_utf8_lossy(bytes))).is_some()
}

/// Keeps a warning. Returns whether an embedded command runs.
pub(crate) fn keep_warning(message: &str) -> bool {
    with(|running| running.printed.warnings.push(message.to_owned())).is_some()
}

/// Tells the caller of an embedded command how far it is.
pub(crate) fn advance(done: u64, total: u64, name: &str) {
    with(|running| running.is_stopped |= !(running.on_progress)(done, total, name));
}

/// Whether the caller of an embedded command lets it go on.
///
/// # Errors
/// It does not.
pub(crate) fn may_go_on() -> io::Result<()> {
    match with(|running| running.is_stopped) {
        Some(true) => Err(io::Error::other("stopped by the caller")),
        _ => Ok(()),
    }
}
