//! What is read, cast and written for one input.

use std::path::Path;
use std::time::SystemTime;

use wgpu_cast::files::{CodeStorage, FilePlan, Part, ReadAt, SafetensorsFile, TensorCast, TensorStorage};
use wgpu_cast::onnx::NamedTensor;
use wgpu_cast::{CastOptions, DeviceChoice, ElementType, LossCounts, Tensor, cpu, has_kernel};

use super::inputs::{self, Pair, Target};
use super::report::TensorReport;
use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::files::{self, FileFormat};
use crate::{npy, pb};

/// The size of an input, and the time of its last change.
pub type InputState = (u64, Option<SystemTime>);

/// The conversion of one input.
pub struct Task {
    /// The input, as the user gave it.
    pub name: String,
    pub inputs: Vec<Box<dyn ReadAt>>,
    pub outputs: Vec<(Target, FilePlan)>,
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
            (from, to) if from == FileFormat::Safetensors || to == FileFormat::Safetensors => {
                let what = format!("cannot convert {} to {}", from.extension(), to.extension());
                Err(Failure::Usage(format!("{}: {what}", pair.input.display())))
            }
            _ => Self::tensor(pair, args),
        }
    }

    /// Bytes of the outputs.
    pub fn bytes(&self) -> u64 {
        self.outputs.iter().filter_map(|(_, plan)| plan.bytes()).sum()
    }

    fn safetensors(pair: Pair, args: &ConvertArgs) -> Result<Self, Failure> {
        if let Some(from) = args.from {
            let what = format!("--from {from}: the file contains its element types");
            return Err(Failure::Usage(format!("{}: {what}", pair.input.display())));
        }
        let input = inputs::open(&pair.input)?;
        let fail = |error| Failure::at(&pair.input, error);
        let file = SafetensorsFile::read(&input).map_err(fail)?;
        let mut refused = None;
        let mut tensors = Vec::new();
        let plan = file.plan(0, &mut |tensor| {
            let from = tensor.element_type;
            let to = from.and_then(|from| args.rules.target(&tensor.name, from));
            let options = from.zip(to).map(|(from, to)| (to, args.attributes.options(from, to)));
            let after = to.and_then(|to| to.packed_bytes(tensor.elements()));
            tensors.push(TensorReport {
                file: pair.input.display().to_string(),
                name: tensor.name.clone(),
                shape: tensor.shape.clone(),
                from: from.map_or("c64".to_owned(), |from| from.to_string()),
                to,
                bytes: [tensor.bytes, after.unwrap_or(tensor.bytes)],
                lost: LossCounts::default(),
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
        Ok(Self { name, inputs: vec![Box::new(input)], outputs: vec![(pair.output, plan)], tensors, state })
    }

    /// A file of one tensor.
    fn tensor(pair: Pair, args: &ConvertArgs) -> Result<Self, Failure> {
        let (input, output) = (&pair.input, pair.output_format);
        let to = args.rules.to.ok_or_else(|| Failure::Usage(format!("{}: add --to TYPE", input.display())))?;
        if let Some(from) = args.from {
            args.attributes.options(from, to)?;
            check_strings(from, input, pair.input_format)?;
        }
        if let Target::File(path) = &pair.output {
            check_strings(to, path, output)?;
        }
        if args.len.is_some() && pair.input_format != FileFormat::Bin {
            let what = "--len is only for .bin files, other formats contain a shape";
            return Err(Failure::Usage(format!("{}: {what}", input.display())));
        }
        let NamedTensor { name, tensor } = match (pair.input_format, args.from) {
            (FileFormat::Bin, Some(from)) => unnamed(files::read_bin(input, from, args.len)?),
            (FileFormat::Bin, None) => {
                let what = "a .bin file does not contain its element type: add --from TYPE";
                return Err(Failure::Usage(format!("{}: {what}", input.display())));
            }
            (FileFormat::Npy, from) => unnamed(npy::read(input, from)?),
            (_, from) => pb::read(input, from)?,
        };
        let from = tensor.element_type();
        let options = args.attributes.options(from, to)?;
        let file = input.display().to_string();
        let mut report = TensorReport {
            file: file.clone(),
            name: name.clone(),
            shape: tensor.shape().iter().map(|&axis| axis as u64).collect(),
            from: from.to_string(),
            to: Some(to),
            bytes: [tensor.bytes().map_or(0, |bytes| bytes.len() as u64), 0],
            lost: LossCounts::default(),
        };
        // Strings are cast in memory.
        let tensor = if has_kernel(from, to) { tensor } else { cast_strings(&tensor, to, &options, args)? };
        let (from, elements) = (tensor.element_type(), tensor.len() as u64);
        let cast = |codes| {
            let [from, to] = [from, to].map(TensorStorage::packed);
            let to = TensorStorage { codes, ..to };
            let name = report.name.clone();
            Part::Cast(TensorCast { name, elements, input: 0, offset: 0, from, to, options, column_major: Vec::new() })
        };
        let parts = match output {
            FileFormat::Npy => npy::parts(&tensor, to, cast)?,
            FileFormat::Pb => {
                let tensor = cpu::cast(&tensor, to, &options)?;
                vec![Part::Bytes(NamedTensor { name, tensor }.into_bytes()?)]
            }
            _ => vec![cast(CodeStorage::Packed)],
        };
        let plan = FilePlan { parts };
        report.bytes[1] = plan.bytes().unwrap_or(0);
        let input = tensor.into_bytes().unwrap_or_default();
        let state = vec![state(&pair.input)];
        Ok(Self {
            name: file,
            inputs: vec![Box::new(input)],
            outputs: vec![(pair.output, plan)],
            tensors: vec![report],
            state,
        })
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
        lost: LossCounts::default(),
    };
    if format == FileFormat::Safetensors {
        let input = inputs::open(path)?;
        let read = SafetensorsFile::read(&input).map_err(|error| Failure::at(path, error))?;
        let tensors = read.tensors().iter().map(|tensor| {
            let from = tensor.element_type.map_or("c64".to_owned(), |from| from.to_string());
            report(tensor.name.clone(), tensor.shape.clone(), from, tensor.bytes)
        });
        return Ok(tensors.collect());
    }
    let NamedTensor { name, tensor } = match format {
        FileFormat::Npy => unnamed(npy::read(path, None)?),
        FileFormat::Pb => pb::read(path, None)?,
        _ => return Err(Failure::at(path, "a .bin file contains neither type nor shape")),
    };
    let shape = tensor.shape().iter().map(|&axis| axis as u64).collect();
    let bytes = tensor.bytes().map_or(0, |bytes| bytes.len() as u64);
    Ok(vec![report(name, shape, tensor.element_type().to_string(), bytes)])
}

/// Casts strings, or numbers to strings.
fn cast_strings(
    tensor: &Tensor,
    to: ElementType,
    options: &CastOptions,
    args: &ConvertArgs,
) -> Result<Tensor, Failure> {
    if !matches!(args.device.choice()?, DeviceChoice::Auto | DeviceChoice::Cpu) {
        let (from, what) = (tensor.element_type(), "strings can only be cast on the CPU");
        return Err(Failure::Usage(format!("{from} to {to}: {what}")));
    }
    Ok(cpu::cast(tensor, to, options)?)
}

fn unnamed(tensor: Tensor) -> NamedTensor {
    NamedTensor { name: String::new(), tensor }
}

/// Refuses string tensors in a format that has none.
fn check_strings(element_type: ElementType, path: &Path, format: FileFormat) -> Result<(), Failure> {
    if element_type.is_numeric() || format == FileFormat::Pb {
        return Ok(());
    }
    Err(Failure::Usage(format!("{}: string tensors are supported only in .pb files", path.display())))
}

fn state(path: &Path) -> InputState {
    let metadata = std::fs::metadata(path).ok();
    metadata.map_or((0, None), |metadata| (metadata.len(), metadata.modified().ok()))
}
