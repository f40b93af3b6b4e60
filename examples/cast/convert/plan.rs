//! What is read, cast and written for one input.

use std::path::Path;
use std::time::SystemTime;

use wgpu_cast::ElementType;
use wgpu_cast::files::{CastLoss, FilePlan, ReadAt, SafetensorsFile};

use super::inputs::{self, Pair, Target};
use super::npz::{self, Entry};
use super::onnx;
use super::report::TensorReport;
use super::single::Single;
use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::files::FileFormat;

/// The size of an input, and the time of its last change.
pub type InputState = (u64, Option<SystemTime>);

/// The conversion of one input.
pub struct Task {
    /// The input, as the user gave it.
    pub name: String,
    pub inputs: Vec<Box<dyn ReadAt>>,
    pub outputs: Vec<(Target, FilePlan)>,
    /// The members of an archive, which the one output is then.
    pub archive: Option<Vec<Entry>>,
    pub tensors: Vec<TensorReport>,
    /// The sizes and the times of change of the inputs.
    pub state: Vec<InputState>,
}

impl Task {
    /// Reads the headers of an input and decides everything.
    ///
    /// # Errors
    /// The input is invalid, or cannot be converted as the arguments say.
    pub fn new(pair: Pair, args: &ConvertArgs) -> Result<Self, Failure> {
        match (pair.input_format, pair.output_format) {
            (FileFormat::Safetensors, FileFormat::Safetensors) => Self::safetensors(pair, args),
            (FileFormat::Npz, FileFormat::Npz) => Self::npz(pair, args),
            (FileFormat::Onnx, FileFormat::Onnx) => Self::onnx(pair, args),
            (from, to) if !from.is_single() || !to.is_single() => {
                let what = format!("cannot convert {} to {}", from.extension(), to.extension());
                Err(Failure::Usage(format!("{}: {what}", pair.input.display())))
            }
            _ => Self::tensor(pair, args),
        }
    }

    /// Bytes of the outputs.
    pub fn bytes(&self) -> u64 {
        let members = self.archive.iter().flatten().map(|entry| &entry.plan);
        self.outputs.iter().map(|(_, plan)| plan).chain(members).filter_map(FilePlan::bytes).sum()
    }

    fn safetensors(pair: Pair, args: &ConvertArgs) -> Result<Self, Failure> {
        let input = inputs::open(&pair.input)?;
        let fail = |error| Failure::at(&pair.input, error);
        let file = SafetensorsFile::read(&input).map_err(fail)?;
        let mut refused = None;
        let mut tensors = Vec::new();
        let plan = file.plan(0, &mut |tensor| {
            let from = tensor.element_type;
            let to = from.and_then(|from| args.target(&tensor.name, from));
            let options = from.zip(to).map(|(from, to)| (to, args.attributes.options(from, to)));
            let after = to.and_then(|to| to.packed_bytes(tensor.elements()));
            tensors.push(TensorReport {
                file: pair.input.display().to_string(),
                name: tensor.name.clone(),
                shape: tensor.shape.clone(),
                from,
                to,
                bytes: [tensor.bytes, after.unwrap_or(tensor.bytes)],
                lost: CastLoss::default(),
            });
            match options {
                Some((to, Ok(options))) => Some((to, options)),
                Some((_, Err(failure))) => {
                    refused.get_or_insert(failure);
                    None
                }
                None => None,
            }
        });
        let plan = plan.map_err(fail)?;
        if let Some(failure) = refused {
            return Err(failure);
        }
        let name = pair.input.display().to_string();
        let state = vec![state(&pair.input)];
        Ok(Self {
            name,
            inputs: vec![Box::new(input)],
            outputs: vec![(pair.output, plan)],
            archive: None,
            tensors,
            state,
        })
    }

    /// A file of one tensor.
    fn tensor(pair: Pair, args: &ConvertArgs) -> Result<Self, Failure> {
        let (input, format) = (&pair.input, pair.output_format);
        let to = args.rules.to.ok_or_else(|| Failure::Usage(format!("{}: add --to TYPE", input.display())))?;
        if let Some(from) = args.from {
            args.attributes.options(from, to)?;
            check_strings(from, input, pair.input_format)?;
        }
        if let Target::File(path) = &pair.output {
            check_strings(to, path, format)?;
        }
        if args.len.is_some() && pair.input_format != FileFormat::Bin {
            let what = "--len is only for .bin files, other formats contain a shape";
            return Err(Failure::Usage(format!("{}: {what}", input.display())));
        }
        let single = Single::open(input, pair.input_format, args.from, args.len)?;
        let from = single.tensor.element_type();
        let options = args.attributes.options(from, to)?;
        let file = input.display().to_string();
        let mut report = TensorReport {
            file: file.clone(),
            name: single.tensor.name().to_owned(),
            shape: single.tensor.shape(),
            from: Some(from),
            to: Some(to),
            bytes: [single.tensor.bytes(), 0],
            lost: CastLoss::default(),
        };
        let (inputs, plan) = single.plan(input, to, &options, format, args)?;
        report.bytes[1] = plan.bytes().unwrap_or(0);
        let state = vec![state(&pair.input)];
        Ok(Self { name: file, inputs, outputs: vec![(pair.output, plan)], archive: None, tensors: vec![report], state })
    }
}

/// The tensors of a file.
///
/// # Errors
/// The file is invalid.
pub fn tensors(path: &Path, format: FileFormat) -> Result<Vec<TensorReport>, Failure> {
    let file = path.display().to_string();
    let report = |name: String, shape, from, bytes| TensorReport {
        file: file.clone(),
        name,
        shape,
        from,
        to: None,
        bytes: [bytes; 2],
        lost: CastLoss::default(),
    };
    if format == FileFormat::Safetensors {
        let input = inputs::open(path)?;
        let read = SafetensorsFile::read(&input).map_err(|error| Failure::at(path, error))?;
        let tensors = read
            .tensors()
            .iter()
            .map(|tensor| report(tensor.name.clone(), tensor.shape.clone(), tensor.element_type, tensor.bytes));
        return Ok(tensors.collect());
    }
    if format == FileFormat::Onnx {
        return onnx::tensors(path);
    }
    if format == FileFormat::Npz {
        return npz::tensors(&inputs::open(path)?, path);
    }
    if format == FileFormat::Bin {
        return Err(Failure::at(path, "a .bin file contains neither type nor shape"));
    }
    let Single { tensor, .. } = Single::open(path, format, None, None)?;
    Ok(vec![report(tensor.name().to_owned(), tensor.shape(), Some(tensor.element_type()), tensor.bytes())])
}

/// Refuses string tensors in a format that has none.
fn check_strings(element_type: ElementType, path: &Path, format: FileFormat) -> Result<(), Failure> {
    if element_type.is_numeric() || format != FileFormat::Bin {
        return Ok(());
    }
    Err(Failure::Usage(format!("{}: string tensors are supported only in .npy and .pb files", path.display())))
}

pub fn state(path: &Path) -> InputState {
    let metadata = std::fs::metadata(path).ok();
    metadata.map_or((0, None), |metadata| (metadata.len(), metadata.modified().ok()))
}
