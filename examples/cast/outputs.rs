//! The files of a model's outputs: all of them, or none.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::TempPath;
use wgpu_cast::onnx::NamedTensor;

use crate::failure::{Failure, reason};

/// The file of an output.
pub fn path(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("output_{index}.pb"))
}

/// Writes all outputs to temporary files beside their places, and then renames all. Links are followed.
///
/// A process that is stopped while it renames leaves some outputs of this run, those of an earlier run in the other
/// places, and temporary files `.cast-*.tmp`.
///
/// # Errors
/// The file system refuses it. Then none of the files of this run remains, nor does a folder that was made for them.
pub fn write(folder: &Path, outputs: Vec<NamedTensor>) -> Result<(), Failure> {
    let is_new = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let new: Vec<&Path> = folder.ancestors().take_while(is_new).collect();
    let made = fs::create_dir_all(folder).map_err(|e| Failure::at(folder, e));
    let written = made.and_then(|()| stage(folder, outputs)).and_then(rename);
    if written.is_err() {
        // A folder in which somebody else has put something stays.
        new.iter().for_each(|folder| drop(fs::remove_dir(folder)));
    }
    written
}

/// A temporary file, which is removed when it is dropped, and its place.
type Staged = (TempPath, PathBuf);

fn stage(folder: &Path, outputs: Vec<NamedTensor>) -> Result<Vec<Staged>, Failure> {
    let staged = outputs.into_iter().enumerate().map(|(index, output)| {
        let path = path(folder, index);
        let bytes = output.into_bytes().map_err(|e| Failure::at(&path, e))?;
        stage_one(&path, &bytes)
    });
    staged.collect()
}

fn stage_one(path: &Path, bytes: &[u8]) -> Result<Staged, Failure> {
    let failed = |error: std::io::Error| cannot_write(path, &error);
    let at = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let older = fs::metadata(&at).ok();
    if older.as_ref().is_some_and(|older| !older.is_file()) {
        return Err(Failure::at(path, "cannot write: not a regular file"));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".cast-").suffix(".tmp");
    #[cfg(unix)]
    {
        // The permissions of any new file. By default a temporary file is readable only by its owner.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(at.parent().unwrap_or(&at)).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    if let Some(older) = older {
        // A file that is replaced keeps its permissions.
        fs::set_permissions(file.path(), older.permissions()).map_err(failed)?;
    }
    // Only the name is kept: a process may have few open files.
    Ok((file.into_temp_path(), at))
}

fn rename(staged: Vec<Staged>) -> Result<(), Failure> {
    let mut done: Vec<PathBuf> = Vec::new();
    for (file, at) in staged {
        if let Err(error) = file.persist(&at) {
            done.iter().for_each(|at| drop(fs::remove_file(at)));
            return Err(cannot_write(&at, &error.error));
        }
        done.push(at);
    }
    Ok(())
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::at(path, format!("cannot write: {}", reason(error)))
}
