//! What a folder has.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::finished::is_list;
use super::index::is_index;
use crate::atomic::partial::is_partial;
use crate::failure::Failure;
use crate::files::FileFormat;

/// The files and folders in a folder, each sorted by name.
#[derive(Debug, Default)]
pub struct Listing {
    /// Indexes of sharded models.
    pub indexes: Vec<PathBuf>,
    /// The other files, and the formats of those that can be converted.
    pub files: Vec<(PathBuf, Option<FileFormat>)>,
    /// Folders that are entered.
    pub folders: Vec<PathBuf>,
    /// Links to folders, which are not entered: they may lead in a circle.
    pub links: Vec<PathBuf>,
}

impl Listing {
    /// Reads a folder. If `option` names a format, only files of it can be converted. A `.bin` file can be anything, so
    /// it is one of raw codes only if `option` says so. Hidden folders are those of programs, not of models.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn read(folder: &Path, option: Option<FileFormat>) -> Result<Self, Failure> {
        let fail = |error: io::Error| Failure::at(folder, error);
        let entries = fs::read_dir(folder).map_err(fail)?.map(|entry| entry.map(|entry| entry.path()));
        let mut paths = entries.collect::<io::Result<Vec<_>>>().map_err(fail)?;
        paths.sort();
        let mut listing = Self::default();
        for path in paths {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if path.is_dir() {
                match path.is_symlink() {
                    _ if name.starts_with('.') => {}
                    true => listing.links.push(path),
                    false => listing.folders.push(path),
                }
            } else if path.is_file() && is_index(&path) {
                listing.indexes.push(path);
            } else if path.is_file() && !is_partial(&name) && !is_list(&name) {
                // What an interrupted conversion left is no file of a model.
                let is_known = |format: &FileFormat| match option {
                    Some(option) => *format == option,
                    None => *format != FileFormat::Bin,
                };
                let format = FileFormat::of(&path).ok().filter(is_known);
                listing.files.push((path, format));
            }
        }
        Ok(listing)
    }
}
