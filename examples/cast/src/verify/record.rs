//! The file in which `wgpu-cast verify --record` keeps the checksums of its blocks.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::checks::checksums::{Case, parse, text};
use crate::convert::read_text;
use crate::failure::Failure;

/// The longest record that is read. A block takes about 60 bytes.
const LONGEST: u64 = 1 << 30;

/// The file with the checksums of the blocks that a run has done, one per line. After an interruption, a run continues
/// from it.
pub struct Record {
    path: PathBuf,
    file: Mutex<File>,
    known: HashMap<String, u64>,
}

impl Record {
    /// Opens or creates the file.
    ///
    /// # Errors
    /// The file belongs to a run of another version or on another device, or cannot be read or written.
    pub fn open(path: &Path, device: &str) -> Result<Self, Failure> {
        let head = format!("# checksums of blocks, wgpu-cast {}, {device}\n", env!("CARGO_PKG_VERSION"));
        let text = match fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            _ => read_text(path, "the record", LONGEST)?,
        };
        if !text.is_empty() && !text.starts_with(&head) {
            let expected = head.trim_end();
            return Err(Failure::at(path, format_args!("belongs to another run: its first line is not {expected:?}")));
        }
        // After an interruption, the last line may be incomplete.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let file = OpenOptions::new().append(true).create(true).open(path).map_err(|e| Failure::write(path, e))?;
        file.set_len(whole as u64).map_err(|e| Failure::write(path, e))?;
        let line = |line: &str| {
            let (block, checksum) = line.rsplit_once(' ')?;
            Some((block.to_owned(), parse(checksum)?))
        };
        let known = text[..whole].lines().filter_map(line).collect();
        let record = Self { path: path.to_owned(), file: Mutex::new(file), known };
        if whole == 0 {
            record.write(&head)?;
        }
        Ok(record)
    }

    /// The checksum of a block that was done before.
    pub fn block(&self, case: &Case, number: u64) -> Option<u64> {
        self.known.get(&format!("{case} {number}")).copied()
    }

    /// Adds a block.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&self, case: &Case, number: u64, checksum: u64) -> Result<(), Failure> {
        self.write(&format!("{case} {number} {}\n", text(checksum)))
    }

    fn write(&self, line: &str) -> Result<(), Failure> {
        let mut file = self.file.lock().expect("no panic while it is held");
        file.write_all(line.as_bytes()).map_err(|e| Failure::write(&self.path, e))
    }
}
