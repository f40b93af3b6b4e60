//! Files of external data that several models use.

use std::fs;
use std::path::{Path, PathBuf};

use wgpu_cast_files::ModelScan;

use super::inputs;
use super::plan::Task;
use crate::atomic::target::folder_of;
use crate::failure::Failure;
use crate::roles::FilePlace;

/// Refuses to replace the data of a model beside the output that is not written too. That model would read the new
/// codes as codes of its own types.
///
/// # Errors
/// There is such a model, or the folder cannot be read.
pub fn check(tasks: &[Task]) -> Result<(), Failure> {
    let outputs = tasks.iter().flat_map(|task| &task.outputs);
    let written: Vec<_> = outputs.filter_map(|output| FilePlace::of(output.target.path())).collect();
    for task in tasks {
        // The model is the last output, after its data.
        let Some((_, data)) = task.outputs.split_last() else { continue };
        for path in data.iter().map(|output| output.target.path()) {
            if let Some(other) = other_model(path, &written)? {
                let what = format!("the data of the output of {} would replace the data of {other}", task.name);
                return Err(Failure::Usage(format!("{}: {what}, which is not converted", path.display())));
            }
        }
    }
    Ok(())
}

/// A model in the folder of `data` that uses it and is not written in this run.
fn other_model(data: &Path, written: &[FilePlace]) -> Result<Option<String>, Failure> {
    // Paths are compared, not files: a hard link keeps the old data.
    let Ok(place) = data.canonicalize() else { return Ok(None) };
    let folder = folder_of(data);
    let fail = |error| Failure::at(folder, error);
    let mut others = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
        let model = data.with_file_name(entry.map_err(fail)?.file_name());
        let is_model = model.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("onnx"));
        if is_model && model.is_file() && FilePlace::of(&model).is_some_and(|model| !written.contains(&model)) {
            others.push(model);
        }
    }
    others.sort_unstable();
    let uses_data = |model: &&PathBuf| {
        // A file that cannot be read as a model uses no data.
        let scan = inputs::open(model).ok().and_then(|input| ModelScan::read(&input).ok());
        let is_data = |name: &str| folder.join(name).canonicalize().is_ok_and(|file| file == place);
        scan.is_some_and(|scan| scan.external_files().any(is_data))
    };
    Ok(others.iter().find(uses_data).map(|model| model.display().to_string()))
}
