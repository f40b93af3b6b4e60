//! The files of a model's outputs: all of them, or none.

use std::fs;
use std::path::{Path, PathBuf};

use crate::atomic::target::{Existing, NewFolder};
use crate::atomic::{self, Complete};
use crate::failure::Failure;
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
/// The file system refuses it. Then no file of this run remains, and no folder that was made for them.
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
    let mut done: Vec<PathBuf> = Vec::new();
    for output in staged {
        let path = output.path().to_owned();
        if let Err(failure) = output.rename() {
            done.iter().for_each(|path| drop(fs::remove_file(path)));
            return Err(failure);
        }
        done.push(path);
    }
    Ok(())
}
