//! Printing on stdout and stderr.

use std::io::{ErrorKind, Write};

use crate::failure::Failure;

/// Prints bytes on stdout.
///
/// # Errors
/// Writing to stdout fails. A closed pipe is not an error: the reader has what it wanted.
pub fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|e| Failure::Work(format!("stdout: {e}"))),
    }
}

/// Prints a line on stdout.
///
/// # Errors
/// As [`bytes`].
pub fn line(line: impl std::fmt::Display) -> Result<(), Failure> {
    bytes(format!("{line}\n").as_bytes())
}

/// A number with its unit: `1 element`, `2 elements`.
pub fn counted(number: u64, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

/// A name from a file, its control characters escaped: a terminal would obey them.
pub fn printable(name: &str) -> String {
    let mut shown = String::new();
    for letter in name.chars() {
        match letter.is_control() {
            true => shown.extend(letter.escape_default()),
            false => shown.push(letter),
        }
    }
    shown
}

/// Prints a line on stderr. A failure to do so is ignored, since there is no other place to report it.
pub fn note(line: impl std::fmt::Display) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
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
