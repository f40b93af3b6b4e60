//! The outputs that an interrupted conversion of several files has finished.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wgpu_cast_files::CastLoss;

use super::shard_part::ShardPart;
use super::stamp::Stamp;
use crate::atomic::journal::{losses_from_json, losses_to_json};
use crate::atomic::partial::open_itself;
use crate::failure::Failure;
use crate::output::warning;

/// The name of the list, in the folder of the outputs. The list of a part has the suffix `-I-of-N`.
const NAME: &str = ".cast-finished";

/// Whether a file has the name of a list.
pub fn is_list(name: &str) -> bool {
    name.starts_with(NAME)
}

/// A list of finished outputs, which is kept with --resume while a conversion runs.
pub struct Finished {
    folder: PathBuf,
    path: PathBuf,
    entries: Vec<Value>,
}

impl Finished {
    /// The path of the list in a folder.
    pub fn path(folder: &Path, part: Option<ShardPart>) -> PathBuf {
        let part = part.map_or(String::new(), |part| format!("-{}-of-{}", part.index, part.count));
        folder.join(format!("{NAME}{part}"))
    }

    /// The list in a folder. Several machines may write to the folder; each has the list of its own part.
    pub fn open(folder: &Path, part: Option<ShardPart>) -> Self {
        let path = Self::path(folder, part);
        let mut text = String::new();
        let file = open_itself(OpenOptions::new().read(true), &path);
        let is_file = |file: &fs::File| file.metadata().is_ok_and(|metadata| metadata.is_file());
        if let Some(mut file) = file.ok().filter(is_file) {
            // A list that cannot be read counts as empty: everything is made again.
            let _ = file.read_to_string(&mut text);
        }
        let entries = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Self { folder: folder.to_owned(), path, entries }
    }

    /// The losses of a finished output, if the same plan made it and it was not changed since.
    pub fn find(&self, path: &Path, plan: u64) -> Option<(Stamp, Vec<(usize, CastLoss)>)> {
        let output = self.output(path, plan);
        let mut entries = self.entries.iter().filter(|entry| entry["output"] == output);
        entries.find_map(|entry| {
            let stamp = Stamp::from_json(&entry["stamp"]).filter(|stamp| stamp.is_untouched(path))?;
            Some((stamp, losses_from_json(&entry["losses"])?))
        })
    }

    /// Adds an output that has its name.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn add(&self, path: &Path, plan: u64, stamp: &Stamp, losses: &[CastLoss]) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::write(&self.path, error);
        let losses = losses_to_json(losses.iter().copied().enumerate());
        let entry = json!({"output": self.output(path, plan), "stamp": stamp.to_json(), "losses": losses});
        let mut options = OpenOptions::new();
        let mut file = open_itself(options.append(true).create(true), &self.path).map_err(failed)?;
        file.write_all(format!("{entry}\n").as_bytes()).map_err(failed)
    }

    /// An output in the folder, and the plan that made it.
    fn output(&self, path: &Path, plan: u64) -> Value {
        json!([path.strip_prefix(&self.folder).unwrap_or(path).to_string_lossy(), format!("{plan:016x}")])
    }

    /// Removes the list: the conversion is complete.
    pub fn remove(&self) {
        if let (true, Err(error)) = (self.path.exists(), fs::remove_file(&self.path)) {
            warning(format_args!("cannot remove {}: {error}", self.path.display()));
        }
    }
}
