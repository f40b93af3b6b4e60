//! The files that a command reads and writes. No output may replace an input or another output.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use crate::atomic::partial;
use crate::atomic::target::{folder_of, follow_links, is_special};
use crate::failure::Failure;
use crate::identity::FileId;

/// The place of a file, independent of its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FilePlace {
    File(FileId),
    /// There is no such file yet.
    New(PathBuf),
}

impl FilePlace {
    /// The place of the file at a path. Links are followed. `None` for pipes and character devices, which contain
    /// nothing.
    pub fn of(path: &Path) -> Option<Self> {
        if is_stream(path) {
            return None;
        }
        let new = || Self::New(full(&follow_links(path).unwrap_or(path.to_owned())));
        Some(FileId::at(path).map_or_else(|_| new(), Self::File))
    }
}

#[cfg(unix)]
fn is_stream(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let kind = std::fs::metadata(path).map(|metadata| metadata.file_type());
    kind.is_ok_and(|kind| kind.is_char_device() || kind.is_fifo() || kind.is_socket())
}

#[cfg(not(unix))]
fn is_stream(_: &Path) -> bool {
    false
}

/// The path from the root, without links. The system resolves the part that exists; the rest cannot contain links.
fn full(path: &Path) -> PathBuf {
    let (mut exists, mut rest) = (path, Vec::new());
    let mut full = loop {
        rest.extend(exists.components().next_back());
        match exists.parent().map(|_| folder_of(exists)) {
            None => break PathBuf::new(),
            Some(folder) => match folder.canonicalize() {
                Ok(folder) => break folder,
                Err(_) => exists = folder,
            },
        }
    };
    for component in rest.into_iter().rev() {
        match component {
            Component::ParentDir => drop(full.pop()),
            Component::CurDir => {}
            // These systems do not distinguish upper and lower case.
            name if cfg!(any(windows, target_os = "macos")) => full.push(name.as_os_str().to_ascii_lowercase()),
            name => full.push(name),
        }
    }
    full
}

/// The number of a file that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read(usize);

/// The files of a command and their roles. The files that it reads are added first.
#[derive(Debug, Default)]
pub struct Roles {
    read: usize,
    inputs: HashMap<FilePlace, Vec<(Read, String)>>,
    outputs: HashMap<FilePlace, String>,
}

impl Roles {
    /// Adds a file that is read. `-` is standard input.
    pub fn read(&mut self, path: &Path, what: impl Into<String>) -> Read {
        let number = Read(self.read);
        self.read += 1;
        let path = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
        if let Some(place) = FilePlace::of(path) {
            self.inputs.entry(place).or_default().push((number, what.into()));
        }
        number
    }

    /// Adds a file that is written, and its partial file. `in_place` says whether it may replace its `own` inputs.
    ///
    /// # Errors
    /// It is an input or another output.
    pub fn write(&mut self, path: &Path, what: &str, own: &[Read], in_place: bool) -> Result<(), Failure> {
        self.add(path, path, what, own, in_place)?;
        if !is_special(path) {
            let partial = partial::path_of(&follow_links(path).unwrap_or(path.to_owned()));
            self.add(path, &partial, &format!("the partial file of {what}"), &[], false)?;
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, file: &Path, what: &str, own: &[Read], in_place: bool) -> Result<(), Failure> {
        let Some(place) = FilePlace::of(file) else { return Ok(()) };
        let refuse = |what: String| Err(Failure::Usage(format!("{}: {what}", path.display())));
        let inputs = self.inputs.get(&place).map_or(&[][..], Vec::as_slice);
        if let Some((input, replaced)) = inputs.iter().find(|(input, _)| !(in_place && own.contains(input))) {
            let help = if own.contains(input) { " (--in-place allows this)" } else { "" };
            return refuse(format!("{what} would replace {replaced}{help}"));
        }
        match self.outputs.insert(place, what.to_owned()) {
            Some(other) => refuse(format!("two outputs have this name: {other} and {what}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_files_that_do_not_exist_yet() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("a folder");
        let new = |name: &str| Some(FilePlace::New(folder.join(name)));
        assert_eq!(FilePlace::of(&folder.join("a")), new("a"));
        assert_eq!(FilePlace::of(&folder.join("./b/../a")), new("a"));
        assert_eq!(FilePlace::of(&folder.join("b/c/../a")), new("b/a"));
        let current = std::env::current_dir().and_then(|folder| folder.canonicalize()).expect("a folder");
        for name in ["no_such_file", "./no_such_file", "no_such_folder/../no_such_file"] {
            assert_eq!(FilePlace::of(Path::new(name)), Some(FilePlace::New(current.join("no_such_file"))), "{name}");
        }
    }
}
