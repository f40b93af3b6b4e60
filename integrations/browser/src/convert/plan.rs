//! What an output consists of, by the format of its file.

use wasm_bindgen::JsValue;
use wgpu_cast::{CastOptions, ElementType, Kind};
use wgpu_cast_files::{
    FilePlan, NpyArray, NpyOrder, SafetensorsFile, SourceRange, StoredTensor, TensorData, TensorMessage, TensorStorage,
    npy_plan, raw_plan, raw_tensor, tensor_proto_plan,
};

use super::scales;
use crate::error;
use crate::input::Input;

/// The plan of an output in the format of its input, and what it reads.
///
/// # Errors
/// `FileError`.
pub fn plan(
    input: Input,
    format: &str,
    from: Option<ElementType>,
    to: ElementType,
    options: CastOptions,
) -> Result<(FilePlan, Vec<Input>), JsValue> {
    match format {
        "npy" => {
            let tensor = NpyArray::read(&input, from).and_then(|array| array.stored("", 0)).map_err(error::file)?;
            let plan = npy_plan(&tensor, to, &options, NpyOrder::Keep).map_err(error::file)?;
            Ok((plan, vec![input]))
        }
        "safetensors" => {
            let file = SafetensorsFile::read(&input).map_err(error::file)?;
            // As the program `cast` does: floats become the type, the rest stays.
            let is_cast = |from: ElementType| matches!(from.kind(), Kind::Float(_)) && from != to;
            if let Some(reason) = scales::refused(&file, is_cast) {
                return Err(error::file(reason));
            }
            let target = |from: Option<ElementType>| from.filter(|&from| is_cast(from)).map(|_| (to, options));
            let plan = file.plan(0, &mut |tensor| target(tensor.element_type)).map_err(error::file)?;
            Ok((plan, vec![input]))
        }
        "bin" => {
            let from = from.ok_or_else(|| error::file("a .bin file does not tell its element type: choose it"))?;
            let tensor = raw_tensor(&input, 0, from, None).map_err(error::file)?;
            Ok((raw_plan(&tensor, to, &options).map_err(error::file)?, vec![input]))
        }
        "pb" => tensor_proto(input, from, to, options),
        _ => Err(error::file("only .npy, .safetensors, .pb and .bin files are converted here")),
    }
}

/// A `TensorProto`. Data in typed fields is read into memory.
fn tensor_proto(
    input: Input,
    from: Option<ElementType>,
    to: ElementType,
    options: CastOptions,
) -> Result<(FilePlan, Vec<Input>), JsValue> {
    let message = TensorMessage::read(&input).map_err(error::file)?;
    let kept: Vec<_> = message
        .kept
        .iter()
        .map(|range| SourceRange { input: 0, offset: range.start, bytes: range.end - range.start })
        .collect();
    let mut inputs = vec![];
    let stored = match message.data {
        TensorData::Inline(offset) => message.stored(0, offset, from).map_err(error::file)?,
        TensorData::External => return Err(error::file("the data of this tensor is in another file")),
        _ => {
            let read = message.read_tensor(&input, from).map_err(error::file)?;
            let (name, tensor) = (read.name, read.tensor);
            if !tensor.element_type().is_numeric() {
                return Err(error::file("strings are not cast in a browser"));
            }
            let shape = tensor.shape().iter().map(|&axis| axis as u64).collect();
            let storage = TensorStorage::packed(tensor.element_type());
            inputs.push(Input::Memory(tensor.into_bytes().unwrap_or_default()));
            StoredTensor { name, shape, input: 1, offset: 0, storage, column_major: false }
        }
    };
    inputs.insert(0, input);
    Ok((tensor_proto_plan(&stored, to, &options, &kept).map_err(error::file)?, inputs))
}
