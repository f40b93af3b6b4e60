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

/// Writes all outputs to partial files beside their places, and then renames all. Links are followed.
///
/// A process that is stopped while it renames leaves some outputs of this run, those of an earlier run in the other
/// places, and partial files.
///
/// # Errors
/// The file system refuses it. Then none of the files of this run remains, nor does a folder that was made for them.
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
