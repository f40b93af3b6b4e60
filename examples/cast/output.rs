//! What commands print.

use std::io::{ErrorKind, Write};

use crate::failure::Failure;

/// Prints bytes on stdout.
///
/// # Errors
/// Stdout does not take them; whoever reads it and leaves has seen enough.
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

/// Prints a line on stderr; if that fails there is nowhere left to say so.
pub fn note(line: impl std::fmt::Display) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
