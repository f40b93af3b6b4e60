//! What `convert --dry-run` prints.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::inputs::Target;
use super::plan::{Task, TaskOutput};
use super::report::{TensorReport, bytes};
use crate::args::PrintArgs;
use crate::failure::Failure;
use crate::output::{counted, error, line, size};
use crate::text::printable;

/// The files that would be written.
pub struct DryRun<'a> {
    pub conversions: &'a [Task],
    pub copies: &'a [Task],
    /// Indexes, which are written last.
    pub indexes: Vec<PathBuf>,
    /// The reasons for which the run would be refused.
    pub refused: Vec<Failure>,
}

/// The size of an output. `None` for an archive with compressed arrays.
fn size_of(task: &Task, output: &TaskOutput) -> Option<u64> {
    if task.archive.is_some() { None } else { output.plan.bytes() }
}

fn path(output: &TaskOutput) -> String {
    match &output.target {
        Target::File(path) => path.to_string_lossy().into_owned(),
        Target::Stdout => "-".to_owned(),
    }
}

/// Whether the output's file exists already.
fn replaces(output: &TaskOutput) -> bool {
    matches!(&output.target, Target::File(path) if path.is_file())
}

impl DryRun<'_> {
    /// Prints the plan, and why the run would be refused.
    ///
    /// # Errors
    /// The run would be refused, or writing to stdout fails.
    pub fn print(self, print: PrintArgs) -> Result<(), Failure> {
        let tensors: Vec<_> = self.conversions.iter().flat_map(|task| &task.tensors).collect();
        if print.json {
            self.print_json(&tensors)?;
        } else if !print.quiet {
            self.print_text(&tensors)?;
        }
        let refused = |failure: Failure| match failure {
            Failure::Usage(what) => Failure::Usage(format!("the run would be refused: {what}")),
            Failure::Work(what) => Failure::Work(format!("the run would be refused: {what}")),
        };
        let mut all: Vec<_> = self.refused.into_iter().map(refused).collect();
        let last = all.pop();
        all.iter().for_each(error);
        last.map_or(Ok(()), Err)
    }

    fn print_text(&self, tensors: &[&TensorReport]) -> Result<(), Failure> {
        tensors.iter().try_for_each(|tensor| tensor.print(false))?;
        for (kind, tasks) in [("output", self.conversions), ("copy", self.copies)] {
            for (task, output) in tasks.iter().flat_map(|task| task.outputs.iter().map(move |output| (task, output))) {
                let from = if kind == "copy" { format!("{} -> ", printable(&task.name)) } else { String::new() };
                let bytes = size_of(task, output).map_or(String::new(), |bytes| format!(", {}", size(bytes)));
                let replaces = if replaces(output) { ", replaces a file" } else { "" };
                line(format_args!("{kind}: {from}{}{bytes}{replaces}", printable(&path(output))))?;
            }
        }
        for path in &self.indexes {
            let replaces = if path.is_file() { ", replaces a file" } else { "" };
            line(format_args!("index: {}{replaces}", printable(&path.to_string_lossy())))?;
        }
        let cast = tensors.iter().filter(|tensor| tensor.to.is_some()).count();
        let [before, after] = bytes(tensors.iter().copied()).map(size);
        line(format_args!("{}, {cast} of them cast: {before} -> {after}", counted(tensors.len() as u64, "tensor")))
    }

    fn print_json(&self, tensors: &[&TensorReport]) -> Result<(), Failure> {
        tensors.iter().try_for_each(|tensor| tensor.print(true))?;
        let cast = tensors.iter().filter(|tensor| tensor.to.is_some()).count();
        let files = |tasks: &[Task], is_copy: bool| -> Vec<Value> {
            let outputs = tasks.iter().flat_map(|task| task.outputs.iter().map(move |output| (task, output)));
            let file = |(task, output): (&Task, &TaskOutput)| {
                let mut file = json!({
                    "file": path(output), "bytes": size_of(task, output), "replaces": replaces(output),
                });
                if is_copy {
                    file["from"] = task.name.as_str().into();
                }
                file
            };
            outputs.map(file).collect()
        };
        let indexes =
            self.indexes.iter().map(|path| json!({"file": path.to_string_lossy(), "replaces": path.is_file()}));
        line(json!({
            "tensors": tensors.len(), "cast": cast, "bytes": bytes(tensors.iter().copied()),
            "outputs": files(self.conversions, false), "copies": files(self.copies, true),
            "indexes": indexes.collect::<Vec<_>>(),
            "refused": self.refused.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }))
    }
}
