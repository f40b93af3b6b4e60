//! The state of outputs when they were made.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use serde_json::{Value, json};

use super::input_state::InputState;

/// The state of an output when it got its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    state: String,
    /// CRC-32 of its bytes.
    checksum: u32,
}

impl Stamp {
    /// The stamp of a file that has just been made with this checksum.
    ///
    /// # Errors
    /// There is no such file.
    pub fn of(path: &Path, checksum: u32) -> io::Result<Self> {
        Ok(Self { state: state(path)?, checksum })
    }

    /// Whether the file was neither changed nor replaced since.
    pub fn is_untouched(&self, path: &Path) -> bool {
        state(path).is_ok_and(|state| state == self.state)
    }

    /// Whether the file has the same bytes. They are read only if the file was changed, replaced or copied.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn fits(&self, path: &Path) -> io::Result<bool> {
        if self.is_untouched(path) {
            return Ok(true);
        }
        let mut file = File::open(path)?;
        let mut hasher = crc32fast::Hasher::new();
        let mut bytes = vec![0; 1 << 20];
        loop {
            match file.read(&mut bytes)? {
                0 => return Ok(hasher.finalize() == self.checksum),
                read => hasher.update(&bytes[..read]),
            }
        }
    }

    pub fn to_json(&self) -> Value {
        json!({"state": self.state, "crc32": self.checksum})
    }

    /// Reads what [`to_json`](Self::to_json) made; `None` for any other value.
    pub fn from_json(value: &Value) -> Option<Self> {
        let checksum = u32::try_from(value["crc32"].as_u64()?).ok()?;
        Some(Self { state: value["state"].as_str()?.to_owned(), checksum })
    }
}

/// The state of the file. The device does not count: several machines that share a file system may give it different
/// numbers.
fn state(path: &Path) -> io::Result<String> {
    let InputState { bytes, modified, changed, inode, .. } = InputState::from(&fs::metadata(path)?);
    Ok(format!("{bytes} {modified} {changed} {inode}"))
}
