//! The files of a model's outputs. If one of them cannot be written, no new one stays.

use std::fs;
use std::path::{Path, PathBuf};

use crate::atomic::target::{Existing, NewFolder};
use crate::atomic::{self, Complete};
use crate::failure::Failure;
use crate::output::warning;
use wgpu_cast_files::onnx::NamedTensor;

/// The file of an output.
pub fn path(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("output_{index}.pb"))
}

/// Writes all outputs to partial files next to their final paths, and then renames all of them. Links are followed.
///
/// If the process is stopped while it renames, some outputs are those of this run and others those of an earlier run,
/// and partial files remain.
///
/// # Errors
/// The file system refuses it. Then no new file of this run remains, and no folder that was made for them. Older files that
/// this run has replaced stay replaced, and a warning names each.
pub fn write(folder: &Path, outputs: Vec<NamedTensor>, existing: Existing) -> Result<(), Failure> {
    let new = NewFolder::create(folder)?;
    rename(stage(folder, outputs, existing)?)?;
    new.keep();
    Ok(())
}

fn stage(folder: &Path, outputs: Vec<NamedTensor>, existing: Existing) -> Result<Vec<Complete>, Failure> {
    let staged = outputs.into_iter().enumerate().map(|(index, output)| {
        let path = path(folder, index);
        let bytes = output.into_bytes().map_err(|e| Failure::at(&path, e))?;
        atomic::stage(&path, &[&bytes], existing)
    });
    staged.collect()
}

fn rename(staged: Vec<Complete>) -> Result<(), Failure> {
    let mut done: Vec<(PathBuf, bool)> = Vec::new();
    for output in staged {
        let path = output.path().to_owned();
        let replaces = fs::symlink_metadata(&path).is_ok();
        if let Err(failure) = output.rename() {
            for (path, replaced) in done {
                match replaced {
                    true => warning(format_args!("{}: it was replaced by the new output", path.display())),
                    false => drop(fs::remove_file(path)),
                }
            }
            return Err(failure);
        }
        done.push((path, replaces));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second output cannot be renamed, because its name has become that of a folder.
    #[test]
    fn a_file_that_was_replaced_is_not_removed() {
        for older in [true, false] {
            let folder = tempfile::tempdir().expect("a folder");
            let [first, second] = [0, 1].map(|index| path(folder.path(), index));
            if older {
                fs::write(&first, "older").expect("a file");
            }
            let staged = [&first, &second].map(|path| atomic::stage(path, &[b"new"], Existing::default()));
            let staged = staged.into_iter().collect::<Result<_, _>>().expect("a folder that can be written");
            fs::create_dir_all(second.join("full")).expect("a folder");
            rename(staged).expect_err("a folder is not replaced");
            assert_eq!(fs::read(&first).ok(), older.then(|| b"new".to_vec()));
        }
    }
}
