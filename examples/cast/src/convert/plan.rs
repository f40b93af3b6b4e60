//! The plan for one input: what is read, cast and written.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use wgpu_cast::ElementType;
use wgpu_cast_files::{CastLoss, FilePlan, Part, ReadAt, SourceRange};

use super::advice;
use super::config::Edit;
use super::input_state::{Source, identify};
use super::inputs::{self, Pair, Target};
use super::models::Models;
use super::npz::{self, Entry};
use super::onnx;
use super::report::{self, TensorReport};
use super::safetensors;
use super::single::{self, Single};
use super::source_types::SourceTypes;
use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::files::FileFormat;

/// The conversion of one input.
pub struct Task {
    /// The input, as the user gave it.
    pub name: String,
    pub inputs: Vec<Box<dyn ReadAt>>,
    /// The files that are read: the input, and the files that it names.
    pub sources: Vec<Source>,
    pub outputs: Vec<TaskOutput>,
    /// The members of an archive. Then the archive is the only output.
    pub archive: Option<Vec<Entry>>,
    pub tensors: Vec<TensorReport>,
    /// The operators and the names of a model's nodes, if patterns choose among them.
    pub nodes: BTreeSet<String>,
}

/// A file that a task makes.
pub struct TaskOutput {
    pub target: Target,
    pub plan: FilePlan,
    /// For each cast, in the order of the parts, the index of its tensor in the task.
    pub rows: Vec<usize>,
}

impl TaskOutput {
    /// An output whose tensors all have different names.
    pub fn by_name(target: Target, plan: FilePlan, tensors: &[TensorReport]) -> Self {
        let rows: HashMap<_, _> = tensors.iter().enumerate().map(|(row, tensor)| (tensor.name.as_str(), row)).collect();
        let rows = plan.casts().map(|cast| rows[cast.name.as_str()]).collect();
        Self { target, plan, rows }
    }
}

impl Task {
    /// A task with one input file and one output file.
    pub fn of_file(
        source: Source,
        inputs: Vec<Box<dyn ReadAt>>,
        output: TaskOutput,
        tensors: Vec<TensorReport>,
    ) -> Self {
        let name = source.path.display().to_string();
        Self {
            name,
            inputs,
            sources: vec![source],
            outputs: vec![output],
            archive: None,
            tensors,
            nodes: BTreeSet::new(),
        }
    }

    /// A task that copies a file and replaces some places in it. The places are in order.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn copy(from: &Path, to: PathBuf, edits: Vec<Edit>) -> Result<Self, Failure> {
        let source = Source::of(from);
        let input = inputs::open(from)?;
        let bytes = input.size().map_err(|error| Failure::at(from, error))?;
        let range = |start: u64, end: u64| Part::Copy(SourceRange { input: 0, offset: start, bytes: end - start });
        let (mut parts, mut start) = (Vec::new(), 0);
        for (place, text) in edits {
            parts.extend([range(start, place.start as u64), Part::Bytes(text.into_bytes())]);
            start = place.end as u64;
        }
        parts.push(range(start, bytes.max(start)));
        let plan = FilePlan { parts };
        let output = TaskOutput { target: Target::File(to), plan, rows: Vec::new() };
        Ok(Self::of_file(source, vec![Box::new(input)], output, Vec::new()))
    }

    /// The plans of an output: one plan, or those of an archive's members too.
    pub fn plans<'a>(&'a self, output: &'a TaskOutput) -> impl Iterator<Item = &'a FilePlan> {
        std::iter::once(&output.plan).chain(self.archive.iter().flatten().map(|entry| &entry.plan))
    }

    /// Clamps the casts of all plans; returns whether one of them can be clamped.
    pub fn clamp(&mut self) -> bool {
        let entries = self.archive.iter_mut().flatten().map(|entry| &mut entry.plan);
        let plans = self.outputs.iter_mut().map(|output| &mut output.plan).chain(entries);
        plans.fold(false, |has_effect, plan| plan.clamp() | has_effect)
    }

    /// Reads the headers of an input and plans everything.
    ///
    /// # Errors
    /// The input is invalid, or cannot be converted as the arguments say.
    pub fn new(pair: Pair, args: &ConvertArgs, models: &mut Models) -> Result<Self, Failure> {
        let (path, format) = (pair.input.clone(), pair.input_format);
        Self::of_pair(pair, args, models).map_err(|failure| advice::explained(&path, format, failure))
    }

    fn of_pair(pair: Pair, args: &ConvertArgs, models: &mut Models) -> Result<Self, Failure> {
        match (pair.input_format, pair.output_format) {
            (FileFormat::Safetensors, FileFormat::Safetensors) => Self::safetensors(pair, args, models),
            (FileFormat::Npz, FileFormat::Npz) => Self::npz(pair, args),
            (FileFormat::Onnx, FileFormat::Onnx) => Self::onnx(pair, args),
            (from, to) if !from.is_single() || !to.is_single() => {
                let what = format!("cannot convert {} to {}", from.extension(), to.extension());
                Err(Failure::Usage(format!("{}: {what}", pair.input.display())))
            }
            _ => Self::tensor(pair, args),
        }
    }

    /// Identifies the inputs.
    ///
    /// # Errors
    /// An input cannot be read.
    pub fn identity(&self) -> Result<u64, Failure> {
        identify(&self.sources, &self.inputs).map_err(|error| Failure::at(Path::new(&self.name), error))
    }

    /// The bytes of all outputs.
    pub fn bytes(&self) -> u64 {
        report::sum(self.outputs.iter().flat_map(|output| self.plans(output)).filter_map(FilePlan::bytes))
    }

    /// Plans a file with one tensor.
    fn tensor(pair: Pair, args: &ConvertArgs) -> Result<Self, Failure> {
        let (input, format) = (&pair.input, pair.output_format);
        let to = args.rules.to.ok_or_else(|| Failure::Usage(format!("{}: add --to TYPE", input.display())))?;
        if let Some(from) = args.from.plain() {
            args.attributes.options(from, to)?;
            check_strings(from, input, pair.input_format)?;
        }
        if let Target::File(path) = &pair.output {
            check_strings(to, path, format)?;
        }
        let source = Source::of(input);
        let mut single = Single::open(input, pair.input_format, args.from.plain(), args.len)?;
        let data = single.data.take();
        let from = single.tensor.element_type();
        let options = args.attributes.options(from, to)?;
        let mut report = TensorReport {
            file: input.display().to_string(),
            name: single.tensor.name().to_owned(),
            shape: single.tensor.shape(),
            from: Some(from),
            dtype: None,
            // If the codes already have the type, they stay as they are.
            to: Some(to).filter(|&to| to != from),
            bytes: [single.tensor.bytes(), 0],
            role: None,
            lost: CastLoss::default(),
        };
        let (inputs, plan) = single.plan(input, to, &options, format, args)?;
        report.bytes[1] = to.packed_bytes(report.elements()).or_else(|| plan.bytes()).unwrap_or(0);
        let rows = plan.casts().map(|_| 0).collect();
        let mut task = Self::of_file(source, inputs, TaskOutput { target: pair.output, plan, rows }, vec![report]);
        task.sources.extend(data);
        Ok(task)
    }
}

/// The tensors of a file.
///
/// # Errors
/// The file is invalid.
pub fn tensors(
    path: &Path,
    format: FileFormat,
    from: &SourceTypes,
    models: &mut Models,
) -> Result<Vec<TensorReport>, Failure> {
    let file = path.display().to_string();
    let report = |name: String, shape, from, bytes| TensorReport {
        file: file.clone(),
        name,
        shape,
        from,
        dtype: None,
        to: None,
        bytes: [bytes; 2],
        role: None,
        lost: CastLoss::default(),
    };
    if format == FileFormat::Safetensors {
        return safetensors::tensors(path, models);
    }
    if format == FileFormat::Onnx {
        return onnx::tensors(path);
    }
    if format == FileFormat::Npz {
        return npz::tensors(&inputs::open(path)?, path, from);
    }
    let input = inputs::open(path)?;
    if format == FileFormat::Npy
        && from.plain().is_none()
        && let Some((header, bytes)) = single::npy_of_no_type(&input, path)?
    {
        let row = report(String::new(), header.shape, None, bytes);
        return Ok(vec![TensorReport { dtype: Some(header.dtype), ..row }]);
    }
    let Single { tensor, .. } = Single::of(input, path, format, from.plain(), None)?;
    Ok(vec![report(tensor.name().to_owned(), tensor.shape(), Some(tensor.element_type()), tensor.bytes())])
}

/// Refuses a tensor of strings in a format that cannot hold strings.
fn check_strings(element_type: ElementType, path: &Path, format: FileFormat) -> Result<(), Failure> {
    if element_type.is_numeric() || format != FileFormat::Bin {
        return Ok(());
    }
    Err(Failure::Usage(format!("{}: string tensors are supported only in .npy and .pb files", path.display())))
}
