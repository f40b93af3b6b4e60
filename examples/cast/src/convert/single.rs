//! Files with one tensor: `.npy`, `.pb` and `.bin`.

use std::path::Path;

use wgpu_cast::{CastOptions, DeviceChoice, ElementType, Tensor, cpu};
use wgpu_cast_files::onnx::NamedTensor;
use wgpu_cast_files::{
    self as files, CodeStorage, FileCause, FileError, FilePlan, NpyArray, NpyElements, NpyHeader, NpyOrder, Part,
    ReadAt, SourceRange, StoredTensor, StreamSettings, TensorData, TensorMessage, TensorStorage, npy_plan, raw_plan,
    raw_tensor, tensor_proto_plan, write_strings,
};

use super::input::Input;
use super::input_state::Source;
use super::inputs;
use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::files::FileFormat;

/// A tensor and the inputs that contain it.
pub struct Single {
    pub inputs: Vec<Box<dyn ReadAt>>,
    /// The file of external data.
    pub data: Option<Source>,
    pub tensor: Found,
    /// Fields of a `.pb` file that are copied to another one.
    kept: Vec<SourceRange>,
}

/// Where a tensor is.
pub enum Found {
    /// In an input.
    Stored(StoredTensor),
    /// In memory: strings, and numbers in the typed fields of a message.
    InMemory(NamedTensor),
}

impl Found {
    pub fn name(&self) -> &str {
        match self {
            Found::Stored(tensor) => &tensor.name,
            Found::InMemory(tensor) => &tensor.name,
        }
    }

    pub fn element_type(&self) -> ElementType {
        match self {
            Found::Stored(tensor) => tensor.storage.element_type,
            Found::InMemory(NamedTensor { tensor, .. }) => tensor.element_type(),
        }
    }

    pub fn shape(&self) -> Vec<u64> {
        match self {
            Found::Stored(tensor) => tensor.shape.clone(),
            Found::InMemory(NamedTensor { tensor, .. }) => tensor.shape().iter().map(|&axis| axis as u64).collect(),
        }
    }

    /// Bytes of the elements in the file or in memory; 0 for strings.
    pub fn bytes(&self) -> u64 {
        match self {
            Found::Stored(tensor) => tensor.bytes().unwrap_or(0),
            Found::InMemory(NamedTensor { tensor, .. }) => tensor.bytes().map_or(0, |bytes| bytes.len() as u64),
        }
    }
}

impl Single {
    /// Reads the header of a file.
    ///
    /// # Errors
    /// The file is invalid, or `from` contradicts it.
    pub fn open(path: &Path, format: FileFormat, from: Option<ElementType>, len: Option<u64>) -> Result<Self, Failure> {
        Self::of(inputs::open(path)?, path, format, from, len)
    }

    /// As [`Single::open`], for a file that is open.
    ///
    /// # Errors
    /// As [`Single::open`].
    pub fn of(
        input: Input,
        path: &Path,
        format: FileFormat,
        from: Option<ElementType>,
        len: Option<u64>,
    ) -> Result<Self, Failure> {
        let mut kept = Vec::new();
        let mut data = None;
        let tensor = match format {
            FileFormat::Bin => {
                let Some(from) = from else {
                    let what = "a .bin file does not contain its element type: add --from TYPE";
                    return Err(Failure::Usage(format!("{}: {what}", path.display())));
                };
                Found::Stored(raw_tensor(&input, 0, from, len).map_err(|error| Failure::at(path, error))?)
            }
            FileFormat::Npy => npy(&input, from).map_err(|error| Failure::at(path, told(&error)))?,
            _ => {
                let fail = |error| Failure::at(path, error);
                let message = TensorMessage::read(&input).map_err(fail)?;
                let range = |range: &std::ops::Range<u64>| SourceRange {
                    input: 0,
                    offset: range.start,
                    bytes: range.end - range.start,
                };
                kept.extend(message.kept.iter().map(range));
                match message.data {
                    TensorData::Inline(offset) => Found::Stored(message.stored(0, offset, from).map_err(fail)?),
                    TensorData::External => {
                        let file = message.external_file();
                        data = Some(Source::of(&path.parent().unwrap_or(Path::new("")).join(file)));
                        // The external data is checked now, and opened again when it is read.
                        let (_, offset) = message.open_external(inputs::beside(path)).map_err(fail)?;
                        Found::Stored(message.stored(1, offset, from).map_err(fail)?)
                    }
                    _ => Found::InMemory(message.read_tensor(&input, from).map_err(fail)?),
                }
            }
        };
        let external = data.as_ref().and_then(Input::closed);
        let inputs = [Some(input), external].into_iter().flatten().map(boxed).collect();
        Ok(Self { inputs, data, tensor, kept })
    }

    /// The plan of the output with the tensor cast, and its inputs.
    ///
    /// # Errors
    /// The output format cannot hold the tensor.
    pub fn plan(
        mut self,
        path: &Path,
        to: ElementType,
        options: &CastOptions,
        format: FileFormat,
        args: &ConvertArgs,
    ) -> Result<(Vec<Box<dyn ReadAt>>, FilePlan), Failure> {
        let from = self.tensor.element_type();
        if !from.is_numeric() || !to.is_numeric() {
            if !matches!(args.device.choice()?, DeviceChoice::Auto | DeviceChoice::Cpu) {
                return Err(Failure::Usage(format!("{from} to {to}: strings can only be cast on the CPU")));
            }
            let NamedTensor { name, tensor } = self.in_memory(path)?;
            self.tensor = Found::InMemory(NamedTensor { name, tensor: cpu::cast(&tensor, to, options)? });
        }
        let stored = match self.tensor {
            Found::Stored(stored) => stored,
            Found::InMemory(NamedTensor { name, tensor }) if tensor.element_type() == ElementType::STRING => {
                let bytes = match format {
                    FileFormat::Npy => write_strings(&tensor).map_err(|error| Failure::at(path, error))?,
                    _ => NamedTensor { name, tensor }.into_bytes()?,
                };
                return Ok((self.inputs, FilePlan { parts: vec![Part::Bytes(bytes)] }));
            }
            Found::InMemory(NamedTensor { name, tensor }) => {
                let shape = tensor.shape().iter().map(|&axis| axis as u64).collect();
                let storage = TensorStorage::packed(tensor.element_type());
                self.inputs.push(Box::new(tensor.into_bytes().unwrap_or_default()));
                StoredTensor { name, shape, input: self.inputs.len() - 1, offset: 0, storage, column_major: false }
            }
        };
        let plan = match format {
            FileFormat::Npy => npy_plan(&stored, to, options, NpyOrder::RowMajor).map_err(|error| told(&error)),
            FileFormat::Pb => tensor_proto_plan(&stored, to, options, &self.kept).map_err(|error| error.to_string()),
            _ => raw_plan(&stored, to, options).map_err(|error| error.to_string()),
        };
        Ok((self.inputs, plan.map_err(|what| Failure::at(path, what))?))
    }

    /// The tensor in memory, in row-major order.
    pub fn in_memory(&self, path: &Path) -> Result<NamedTensor, Failure> {
        let stored = match &self.tensor {
            Found::InMemory(tensor) => return Ok(tensor.clone()),
            Found::Stored(stored) => stored,
        };
        let inputs: Vec<&dyn ReadAt> = self.inputs.iter().map(|input| &**input).collect();
        let tensor = read(stored, &inputs).map_err(|what| Failure::at(path, what))?;
        Ok(NamedTensor { name: stored.name.clone(), tensor })
    }
}

/// Reads the codes of a tensor as they are, in row-major order.
///
/// # Errors
/// The codes cannot be read, or there is no memory for them.
pub fn read(stored: &StoredTensor, inputs: &[&dyn ReadAt]) -> Result<Tensor, String> {
    let codes = stored.keep(CodeStorage::Packed).ok_or("the tensor is too large")?;
    let bytes = made(&FilePlan { parts: vec![codes] }, inputs)?;
    let shape: Vec<usize> = stored.shape.iter().map(|&axis| axis as usize).collect();
    Tensor::from_bytes(stored.storage.element_type, shape, bytes).map_err(|error| error.to_string())
}

/// Makes the output of a plan in memory.
///
/// # Errors
/// The output cannot be made, or there is no memory for it.
pub fn made(plan: &FilePlan, inputs: &[&dyn ReadAt]) -> Result<Vec<u8>, String> {
    let size = plan.bytes().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).map_err(|_| format!("out of memory: {size} bytes are needed"))?;
    let made = files::write(plan, inputs, &StreamSettings::default(), &cpu::cast_counted, &mut |piece| {
        bytes.extend_from_slice(piece.bytes);
        Ok(())
    });
    made.map(|()| bytes).map_err(|error| error.to_string())
}

/// The header of a `.npy` file whose dtype has no element type, or no known one, and the size of its elements in bytes. `None`
/// for other files.
///
/// # Errors
/// The file cannot be read, or is no array.
pub fn npy_of_no_type(input: &Input, path: &Path) -> Result<Option<(NpyHeader, u64)>, Failure> {
    let fail = |error| Failure::at(path, told(&error));
    match NpyArray::read(input, None) {
        Err(error) if is_about_dtype(error.cause()) => {
            let size = input.size().map_err(|error| Failure::at(path, error))?;
            let header = NpyHeader::read(input).map_err(fail)?;
            let bytes = size.saturating_sub(header.data_offset);
            Ok(Some((header, bytes)))
        }
        Err(error) => Err(fail(error)),
        Ok(_) => Ok(None),
    }
}

/// Whether an array is right except that its dtype has no element type, or no known one.
pub fn is_about_dtype(cause: &FileCause) -> bool {
    matches!(cause, FileCause::DtypeNotSupported { .. } | FileCause::ElementTypeNeeded { .. })
}

fn boxed(input: Input) -> Box<dyn ReadAt> {
    Box::new(input)
}

fn npy(input: &dyn ReadAt, from: Option<ElementType>) -> Result<Found, FileError> {
    let array = NpyArray::read(input, from)?;
    Ok(match array.elements {
        NpyElements::Strings(_) => {
            Found::InMemory(NamedTensor { name: String::new(), tensor: array.read_strings(input)? })
        }
        _ => Found::Stored(array.stored("", 0)?),
    })
}

/// The text of an error. If an option helps, the text names it.
pub fn told(error: &FileError) -> String {
    with_option(error.cause()).unwrap_or_else(|| error.to_string())
}

/// The text of a cause with the option that helps; `None` if no option helps.
pub fn with_option(cause: &FileCause) -> Option<String> {
    match cause {
        FileCause::ElementTypeNeeded { given: None, .. } => Some(format!("{cause}: add --from TYPE")),
        FileCause::ElementTypeContradicted { dtype: Some(dtype), found, given, .. } => {
            Some(format!("dtype '{dtype}' is {found}, which contradicts --from {given}"))
        }
        _ => None,
    }
}
