//! `.pb` files: ONNX `TensorProto`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use wgpu_cast::onnx::{LONGEST_MESSAGE, NamedTensor};
use wgpu_cast::{ElementType, Kind, Tensor};

use crate::failure::Failure;

/// Reads a tensor. `from` is the type of raw codes.
///
/// # Errors
/// The file cannot be read, is not a `TensorProto`, or contains a type that cannot hold codes of `from`.
pub fn read(path: &Path, from: Option<ElementType>) -> Result<NamedTensor, Failure> {
    let read = NamedTensor::from_bytes(message(path)?, path.parent());
    let NamedTensor { name, tensor } = read.map_err(|e| Failure::at(path, e))?;
    let found = tensor.element_type();
    let wanted = from.unwrap_or(found);
    if wanted == found {
        return Ok(NamedTensor { name, tensor });
    }
    if found.kind() != (Kind::Int { signed: false }) || found.bits() != wanted.bits() {
        return Err(Failure::at(path, format!("contains {found}, which --from cannot read as {wanted}")));
    }
    let shape = tensor.shape().to_vec();
    let tensor = Tensor::from_bytes(wanted, shape, tensor.into_bytes().unwrap_or_default());
    Ok(NamedTensor { name, tensor: tensor.map_err(|e| Failure::at(path, e))? })
}

/// The bytes of a file that contains one message.
///
/// # Errors
/// The file cannot be read, or is longer than a message can be.
pub fn message(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    // The limit matters for files without an end.
    let limit = LONGEST_MESSAGE as u64 + 1;
    let read = File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes));
    read.map_err(|e| Failure::at(path, e))?;
    if bytes.len() as u64 == limit {
        return Err(Failure::at(path, "too large: protobuf messages must be smaller than 2 GiB"));
    }
    Ok(bytes)
}
