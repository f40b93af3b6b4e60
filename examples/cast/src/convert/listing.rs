//! The content of a folder.

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
    /// Links to folders. They are not entered, because they may lead in a cycle.
    pub links: Vec<PathBuf>,
    /// Indexes that an interrupted conversion has begun, and lists of outputs that it has finished.
    left: Vec<PathBuf>,
}

impl Listing {
    /// Reads a folder. A link to a missing file counts as a file, which cannot be read. If `option` names a format,
    /// only files of this format can be converted. A `.bin` file can be anything, so it has raw codes only if `option`
    /// says so. Hidden folders belong to programs, not to models, and are ignored.
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
                // Pipes and devices do not belong to a model.
            } else if is_index(&path) {
                listing.indexes.push(path);
            } else if is_list(&name) || is_partial(&name) {
                // Files that an interrupted conversion left do not belong to a model.
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

    /// Refuses a folder whose files are not complete because a conversion was interrupted. `is_in_place` says whether
    /// this run may be that conversion, which can be continued.
    ///
    /// # Errors
    /// The folder has no index, but files that such a conversion left.
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

/// Whether a path is a link to a missing file, such as one that was not downloaded. Reading it is an error.
fn is_broken_link(path: &Path) -> bool {
    path.is_symlink() && !path.exists()
}

/// The index of a whole model that a partial file would become, by itself or joined with other parts.
fn begun_index(partial: &Path) -> Option<PathBuf> {
    let name = partial.file_name()?.to_str()?;
    let output = output_of(name)?;
    let index = partial.with_file_name(part_of_name(output).map_or(output, |(index, _)| index));
    is_index(&index).then_some(index)
}
