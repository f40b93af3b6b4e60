//! Which files are converted to which.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wgpu_cast::files::InputFile;

use super::finished::is_list;
use crate::atomic::partial::is_partial;
use crate::failure::Failure;
use crate::files::FileFormat;

/// What the name of a sharded model's index ends with.
const INDEX_SUFFIX: &str = ".safetensors.index.json";

/// The longest index that is read.
const LONGEST_INDEX: u64 = 256 << 20;

/// Where an output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    File(PathBuf),
    Stdout,
}

/// One file to convert.
#[derive(Debug)]
pub struct Pair {
    pub input: PathBuf,
    pub input_format: FileFormat,
    pub output: Target,
    pub output_format: FileFormat,
}

/// The index of a sharded model, which is written last.
#[derive(Debug)]
pub struct Index {
    pub name: String,
    pub content: Value,
}

impl Index {
    /// The shards, sorted by name.
    ///
    /// # Errors
    /// The map of weights is missing, or names a file outside the folder.
    pub fn shards(&self) -> Result<Vec<String>, String> {
        let map = self.content["weight_map"].as_object().ok_or("it has no \"weight_map\"")?;
        let shards: BTreeSet<_> = map.values().map(|shard| shard.as_str().unwrap_or_default()).collect();
        let outside = shards.iter().find(|shard| shard.is_empty() || shard.contains(['/', '\\']) || **shard == "..");
        match outside {
            Some(shard) => Err(format!("\"weight_map\" names {shard:?}, which is no file of its folder")),
            None => Ok(shards.into_iter().map(str::to_owned).collect()),
        }
    }

    /// Reads the index at a path.
    ///
    /// # Errors
    /// It cannot be read, or is no index.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let size = fs::metadata(path).map_err(|error| Failure::at(path, error))?.len();
        if size > LONGEST_INDEX {
            return Err(Failure::at(path, format!("the index has {size} bytes, the limit is {LONGEST_INDEX}")));
        }
        let text = fs::read(path).map_err(|error| Failure::at(path, error))?;
        let content: Value = serde_json::from_slice(&text).map_err(|error| Failure::at(path, error))?;
        if !matches!(content["metadata"], Value::Null | Value::Object(_)) {
            return Err(Failure::at(path, "\"metadata\" is not an object"));
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { name, content })
    }
}

/// Whether a path names the index of a sharded model.
pub fn is_index(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(INDEX_SUFFIX))
}

/// The one index in a folder; `None` if it has none or several.
pub fn index_of(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    let mut indexes = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| is_index(path));
    indexes.next().filter(|_| indexes.next().is_none())
}

/// The files of a folder, sorted by name, and the formats of those that can be converted. A `.bin` file can be anything,
/// so it is one of raw codes only if `option` says so.
///
/// # Errors
/// The folder cannot be read.
pub fn files_of(folder: &Path, option: Option<FileFormat>) -> Result<Vec<(PathBuf, Option<FileFormat>)>, Failure> {
    let fail = |error: io::Error| Failure::at(folder, error);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // What an interrupted conversion left is no file of a model.
        if path.is_file() && !is_partial(&name) && !is_list(&name) {
            let is_known = |format: &FileFormat| *format != FileFormat::Bin || option == Some(FileFormat::Bin);
            let format = FileFormat::of(&path).ok().filter(is_known);
            files.push((path, format));
        }
    }
    files.sort();
    Ok(files)
}

/// Opens an input. `-` is standard input, which is first stored in a file without a name, because inputs are not read
/// from front to back.
///
/// # Errors
/// It cannot be read.
pub fn open(path: &Path) -> Result<InputFile, Failure> {
    let fail = |error: io::Error| Failure::at(path, error);
    let stored = |mut from: Box<dyn io::Read>| {
        let mut file = tempfile::tempfile()?;
        io::copy(&mut from, &mut file)?;
        Ok(InputFile::new(file))
    };
    if path == Path::new("-") {
        return stored(Box::new(io::stdin().lock())).map_err(fail);
    }
    let file = File::open(path).map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    match metadata.is_file() || metadata.is_dir() {
        true if metadata.is_dir() => Err(Failure::at(path, "it is a folder")),
        true => Ok(InputFile::new(file)),
        false => stored(Box::new(file)).map_err(fail),
    }
}
