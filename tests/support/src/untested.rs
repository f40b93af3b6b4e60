//! What a test could not try.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;

/// Tells that the running test, or a part of it, cannot try what it is for, and why. `tests/run.sh` names a file by
/// `WGPU_CAST_NOT_TESTED` and prints what is in it, because test runners hide what tests that pass print.
pub fn not_tested(reason: impl Display) {
    let thread = std::thread::current();
    let line = format!("NOT TESTED: {}: {reason}\n", thread.name().unwrap_or("a test"));
    print!("{line}");
    if let Some(path) = std::env::var_os("WGPU_CAST_NOT_TESTED") {
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
}
