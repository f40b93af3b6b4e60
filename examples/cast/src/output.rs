//! Printing on stdout and stderr. What an [`embedded`] command would print goes to its caller.
//!
//! Names come from files, and a terminal obeys the control characters in them. So all lines are escaped here: a line
//! that a caller prints stays one line.

use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::args::PROGRAM;
use crate::embedded;
use crate::failure::Failure;
use crate::stdout;
use crate::text::{cut, escaped};

/// The most characters of a message that are shown.
const LONGEST_MESSAGE: usize = 2000;

/// Whether notes are not printed.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on only warnings and errors are printed on stderr.
pub fn hide_notes() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Prints bytes on stdout.
///
/// # Errors
/// Writing to stdout fails. A closed pipe is not an error: the reader has all that it needs.
pub fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    if embedded::keep_output(bytes) {
        return Ok(());
    }
    check_stdout()?;
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|e| Failure::Work(format!("stdout: {e}"))),
    }
}

/// Refuses a stdout that was not opened for writing.
///
/// # Errors
/// It is open for reading only.
pub fn check_stdout() -> Result<(), Failure> {
    match stdout::is_for_reading() {
        true => Err(Failure::Work("stdout: it is not open for writing".to_owned())),
        false => Ok(()),
    }
}

/// As [`check_stdout`], for the bytes of a file. Warns if nobody gets them.
///
/// # Errors
/// As [`check_stdout`].
pub fn check_stdout_for_bytes() -> Result<(), Failure> {
    check_stdout()?;
    if stdout::is_nowhere() {
        warning("stdout is closed, or is /dev/null: nobody gets the output");
    }
    Ok(())
}

/// Prints a line on stdout. It is text, or JSON that has the same meaning after escaping.
///
/// # Errors
/// As [`bytes`].
pub fn line(line: impl Display) -> Result<(), Failure> {
    bytes((escaped(&line.to_string()) + "\n").as_bytes())
}

/// Tells on stderr what a command does, unless notes are hidden.
pub fn note(message: impl Display) {
    if !QUIET.load(Ordering::Relaxed) && !embedded::is_running() {
        message_line("", message);
    }
}

/// Tells on stderr what a user should know although the command succeeds.
pub fn warning(message: impl Display) {
    let message = message.to_string();
    if !embedded::keep_warning(&message) {
        message_line("warning: ", message);
    }
}

/// Tells on stderr why a command fails.
pub fn error(message: impl Display) {
    message_line(&format!("{PROGRAM}: "), message);
}

/// Ignores a failure to print, since there is no other place to report it.
fn message_line(kind: &str, message: impl Display) {
    let line = format!("{kind}{}\n", cut(&escaped(&message.to_string()), LONGEST_MESSAGE));
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// A number with its unit: `1 element`, `2 elements`.
pub fn counted(number: u64, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

/// A number of bytes, in binary units.
pub fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let steps = (bytes.max(1).ilog2() / 10).min(units.len() as u32);
    match steps.checked_sub(1) {
        None => counted(bytes, "byte"),
        Some(unit) => format!("{:.1} {}", bytes as f64 / (1u64 << (10 * steps)) as f64, units[unit as usize]),
    }
}
