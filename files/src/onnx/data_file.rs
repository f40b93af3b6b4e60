//! Opens the files in which models and tensors keep data. A hostile model may name any file. The name is therefore resolved
//! before the file is opened, and once more afterwards.
//!
//! A name is a relative path below the folder of the model. Links are followed. The file at the end must be inside one of
//! two folders: the folder of the model or, if the model is a link, the folder of the link's target. Hugging Face's cache
//! needs the second one: `snapshots/REVISION/model.onnx` and `model.onnx_data` are links to files in one folder `blobs`.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::error::{FileCause, FileError, TensorFault};

/// The folder to which names are relative, and the folders inside which files must be.
pub(super) struct DataFolders {
    from: PathBuf,
    /// Resolved paths.
    inside: Vec<PathBuf>,
}

/// A regular file inside the folders.
pub(super) struct DataFile {
    /// The resolved path.
    pub path: PathBuf,
    pub bytes: u64,
}

/// Opens a file that a model names; returns it with its size in bytes. `path` is the argument of [`DataFolders::of`].
#[cfg(any(unix, windows))]
pub(crate) fn open(location: &str, path: &Path) -> Result<(File, u64), FileError> {
    let folders = DataFolders::of(path)?;
    folders.open(location, &folders.find(location)?)
}

impl DataFolders {
    /// The folders of a model. `path` is the path of its file or of its folder.
    pub(super) fn of(path: &Path) -> Result<Self, FileError> {
        Self::resolved(path).map_err(|error| FileCause::ModelPath { path: path.to_owned(), error }.into())
    }

    fn resolved(path: &Path) -> io::Result<Self> {
        let or_here = |path: &Path| if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() };
        let path = or_here(path);
        let real = path.canonicalize()?;
        if real.is_dir() {
            return Ok(Self { from: path, inside: vec![real] });
        }
        let from = or_here(path.parent().unwrap_or(Path::new("")));
        let mut inside = vec![from.canonicalize()?];
        inside.extend(real.parent().map(Path::to_owned).filter(|folder| *folder != inside[0]));
        Ok(Self { from, inside })
    }

    /// Resolves a name to a file.
    pub(super) fn find(&self, location: &str) -> Result<DataFile, FileError> {
        let path = self.resolve(location)?;
        let metadata = path.symlink_metadata().map_err(|error| failed(location, error))?;
        regular(location, &metadata)?;
        Ok(DataFile { path, bytes: metadata.len() })
    }

    /// Opens a file that was found; returns it with its size. The name must still resolve to this file.
    pub(super) fn open(&self, location: &str, found: &DataFile) -> Result<(File, u64), FileError> {
        let failed = |error: io::Error| failed(location, error);
        // `found.path` had no links when it was resolved. If somebody has put a link there since, opening follows it. The
        // name is therefore resolved again now, and the result must be the file that was opened.
        let file = File::open(&found.path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        regular(location, &metadata)?;
        if self.resolve(location)? != found.path || !is_at(&file, &found.path).map_err(failed)? {
            let what = "not the same file as when it was checked";
            return Err(FileError::from(TensorFault::NotPlain { what }).in_file(location));
        }
        Ok((file, metadata.len()))
    }

    fn resolve(&self, location: &str) -> Result<PathBuf, FileError> {
        let mut path = self.from.clone();
        path.extend(plain_names(location)?);
        let path = path.canonicalize().map_err(|error| failed(location, error))?;
        if self.inside.iter().any(|folder| path.starts_with(folder)) {
            return Ok(path);
        }
        Err(FileCause::OutsideFolder { location: location.to_owned(), is_link: true }.into())
    }
}

/// The names of the folders and of the file in a relative path, at least one. A path with `..`, a root or a drive is an
/// error.
pub(crate) fn plain_names(location: &str) -> Result<Vec<&OsStr>, FileError> {
    let escape = || FileCause::OutsideFolder { location: location.to_owned(), is_link: false }.into();
    let mut names = Vec::new();
    for component in Path::new(location).components() {
        match component {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => return Err(escape()),
        }
    }
    if names.is_empty() { Err(escape()) } else { Ok(names) }
}

pub(super) fn failed(location: &str, error: io::Error) -> FileError {
    FileError::from(FileCause::Read { bytes: None, error }).in_file(location)
}

/// Checks that this is a regular file: pipes and devices could block or never end.
fn regular(location: &str, metadata: &Metadata) -> Result<(), FileError> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(FileError::from(TensorFault::NotPlain { what: "not a regular file" }).in_file(location))
}

/// Whether an open file is the one at a path, by its device and inode.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let [opened, found] = [file.metadata()?, path.symlink_metadata()?].map(|found| (found.dev(), found.ino()));
    Ok(opened == found)
}

/// Whether an open file is the one at a path, by its volume and index.
#[cfg(windows)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let identity = |file: &File| {
        winapi_util::file::information(file).map(|found| (found.volume_serial_number(), found.file_index()))
    };
    Ok(identity(file)? == identity(&File::open(path)?)?)
}

/// On other systems, the standard library has no way to compare files.
#[cfg(not(any(unix, windows)))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Another program can do these things between the check and the opening.
    #[test]
    fn a_file_that_is_replaced_after_it_was_found_is_not_read() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("below")).unwrap();
        for file in [at("file"), at("below/file"), at("link"), other.path().join("file")] {
            fs::write(file, [1, 2, 3]).unwrap();
        }
        let folders = DataFolders::of(folder.path()).unwrap();
        let [file, below, link] = ["file", "below/file", "link"].map(|name| folders.find(name).unwrap());
        assert!(
            [("file", &file), ("below/file", &below)].iter().all(|(name, found)| folders.open(name, found).is_ok())
        );
        // The name gets another file; then a folder on the way becomes a link; then the file becomes a link.
        fs::rename(at("file"), at("kept")).unwrap();
        fs::write(at("file"), [4]).unwrap();
        assert_eq!(folders.open("file", &file).unwrap().1, 1, "a file that was replaced before it was opened");
        fs::rename(at("below"), at("before")).unwrap();
        symlink(other.path(), at("below")).unwrap();
        let out = |location: &str| {
            format!("external_data location {location:?} is a link that leads out of the model's folder")
        };
        assert_eq!(folders.open("below/file", &below).unwrap_err().to_string(), out("below/file"));
        fs::remove_file(at("link")).unwrap();
        symlink(other.path().join("file"), at("link")).unwrap();
        assert_eq!(folders.open("link", &link).unwrap_err().to_string(), out("link"));
        fs::remove_file(at("link")).unwrap();
        symlink(at("kept"), at("link")).unwrap();
        let error = folders.open("link", &link).unwrap_err();
        let expected = "external_data location \"link\": it is not the same file as when it was checked";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn open_files_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        for path in [&a, &b] {
            fs::write(path, "").unwrap();
        }
        let file = File::open(&a).unwrap();
        assert!(is_at(&file, &a).unwrap() && !is_at(&file, &b).unwrap());
    }
}
