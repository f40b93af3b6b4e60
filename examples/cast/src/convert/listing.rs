//! What a folder has.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::finished::is_list;
use super::index::{is_index, part_of_name};
use crate::atomic::partial::{is_partial, output_of};
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
    /// Indexes that an interrupted conversion has begun, and lists of what it has finished.
    left: Vec<PathBuf>,
}

impl Listing {
    /// Reads a folder. A link to what does not exist is a file, which cannot be read. If `option` names a format, only
    /// files of it can be converted. A `.bin` file can be anything, so it is one of raw codes only if `option` says so.
    /// Hidden folders are those of programs, not of models.
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
            } else if !path.is_file() && !is_broken_link(&path) {
                // Pipes and devices are no files of a model.
            } else if is_index(&path) {
                listing.indexes.push(path);
            } else if is_list(&name) || is_partial(&name) {
                // What an interrupted conversion left is no file of a model.
                if is_list(&name) || begun_index(&path).is_some() {
                    listing.left.push(path);
                }
            } else {
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

    /// Refuses to take the files as all that there should be, if an interrupted conversion says that some are missing.
    /// `is_in_place` says whether this may be the conversion that was interrupted: it can be continued.
    ///
    /// # Errors
    /// The folder has no index, and what such a conversion left.
    pub fn check_complete(&self, is_in_place: bool) -> Result<(), Failure> {
        let is_missing = |left: &&PathBuf| match begun_index(left) {
            Some(index) => !self.indexes.contains(&index),
            None => self.indexes.is_empty() && !is_in_place,
        };
        let what = "an interrupted conversion left this, so files of its folder may be missing (finish the conversion, \
                    or remove this to take the folder as it is)";
        self.left.iter().find(is_missing).map_or(Ok(()), |left| Err(Failure::at(left, what)))
    }
}

/// Whether a path is a link to what does not exist, such as a file that was not downloaded. Reading it is an error.
fn is_broken_link(path: &Path) -> bool {
    path.is_symlink() && !path.exists()
}

/// The index of a whole model that a partial file would become, itself or joined with other parts.
fn begun_index(partial: &Path) -> Option<PathBuf> {
    let name = partial.file_name()?.to_str()?;
    let output = output_of(name)?;
    let index = partial.with_file_name(part_of_name(output).map_or(output, |(index, _)| index));
    is_index(&index).then_some(index)
}
