//! The outputs that an interrupted conversion of several files has finished.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};
use wgpu_cast::files::CastLoss;

use super::shard_part::ShardPart;
use crate::atomic::journal::{losses_from_json, losses_to_json};
use crate::atomic::partial::open_itself;
use crate::failure::Failure;
use crate::output::warning;

/// The name of the list, in the folder of the outputs. That of a part has `-I-of-N` behind it.
const NAME: &str = ".cast-finished";

/// Whether a file has the name of a list.
pub fn is_list(name: &str) -> bool {
    name.starts_with(NAME)
}

/// A list of finished outputs, which is kept with --resume while a conversion runs.
pub struct Finished {
    path: PathBuf,
    entries: Vec<Value>,
}

impl Finished {
    /// The list in a folder; several machines may write to it, each its own part.
    pub fn open(folder: &Path, part: Option<ShardPart>) -> Self {
        let part = part.map_or(String::new(), |part| format!("-{}-of-{}", part.index, part.count));
        let path = folder.join(format!("{NAME}{part}"));
        let mut text = String::new();
        let file = open_itself(OpenOptions::new().read(true), &path);
        let is_file = |file: &fs::File| file.metadata().is_ok_and(|metadata| metadata.is_file());
        if let Some(mut file) = file.ok().filter(is_file) {
            // A list that cannot be read is empty: everything is made again.
            let _ = file.read_to_string(&mut text);
        }
        let entries = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Self { path, entries }
    }

    /// What the casts of a finished output lost, if it was made by the same plan and has not been changed since.
    pub fn find(&self, path: &Path, plan: u64) -> Option<Vec<(usize, CastLoss)>> {
        let state = state(path, &fs::metadata(path).ok()?, plan);
        let entry = self.entries.iter().find(|entry| entry["state"] == state)?;
        losses_from_json(&entry["losses"])
    }

    /// Adds an output that has its name.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn add(&self, path: &Path, plan: u64, losses: &[CastLoss]) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::write(&self.path, error);
        let metadata = fs::metadata(path).map_err(failed)?;
        let entry = json!({"state": state(path, &metadata, plan), "losses": losses_to_json(losses.iter().copied().enumerate())});
        let mut options = OpenOptions::new();
        let mut file = open_itself(options.append(true).create(true), &self.path).map_err(failed)?;
        file.write_all(format!("{entry}\n").as_bytes()).map_err(failed)
    }

    /// Removes the list: the conversion is complete.
    pub fn remove(&self) {
        if let (true, Err(error)) = (self.path.exists(), fs::remove_file(&self.path)) {
            warning(format_args!("cannot remove {}: {error}", self.path.display()));
        }
    }
}

/// What must be the same: the plan, and the file as it was made.
fn state(path: &Path, metadata: &Metadata, plan: u64) -> Value {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    json!([name, format!("{plan:016x}"), metadata.len(), modified.map(|time| time.as_nanos().to_string())])
}
