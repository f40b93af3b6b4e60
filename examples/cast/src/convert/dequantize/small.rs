//! Small tensors that belong to codes, which are read before any work.

use std::path::Path;

use wgpu_cast::{CastSpec, ElementType, cpu};
use wgpu_cast_files::{ReadAt, SafetensorsTensor};

use super::located::Place;
use crate::convert::inputs;
use crate::convert::report::count;
use crate::text::printable;

/// The bytes of a small tensor.
pub(super) fn read(place: &Place, most: u64) -> Result<Vec<u8>, String> {
    let SafetensorsTensor { name, offset, bytes, .. } = &place.tensor;
    let failed = |what: String| format!("{}: {what}", printable(name));
    if *bytes > most {
        return Err(failed(format!("it has {bytes} bytes, and at most {most} were expected")));
    }
    if place.file == Path::new("-") {
        return Err(failed("it is needed before any work, and is not read from a pipe (give a file)".to_owned()));
    }
    let mut read = vec![0; *bytes as usize];
    let input = inputs::open_regular(&place.file).map_err(|failure| failure.to_string())?;
    input.read_exact_at(*offset, &mut read).map_err(|error| failed(error.to_string()))?;
    Ok(read)
}

/// The only element of a tensor of floats.
pub(super) fn number(name: &str, place: &Place) -> Result<f32, String> {
    let (shown, found) = (printable(name), place.tensor.element_type);
    let floats = [ElementType::FLOAT, ElementType::BFLOAT16, ElementType::FLOAT16];
    let Some(stored) = found.filter(|found| floats.contains(found)) else {
        return Err(format!(
            "its scale {shown} is {}, and a float was expected",
            found.map_or("complex", |f| f.name())
        ));
    };
    if count(&place.tensor.shape) != 1 {
        return Err(format!("its scale {shown} has the shape {:?}, and one element was expected", place.tensor.shape));
    }
    let mut float = [0; 4];
    let cast = cpu::cast_bytes(&CastSpec::new(stored, ElementType::FLOAT), &read(place, 8)?, 1, &mut float);
    cast.map_err(|error| error.to_string())?;
    match f32::from_le_bytes(float) {
        number if number.is_finite() => Ok(number),
        number => Err(format!("its scale {shown} is {number}")),
    }
}

/// The two sizes in a tensor of integers.
pub(super) fn sizes(name: &str, place: &Place) -> Result<Vec<u64>, String> {
    let (shown, tensor) = (printable(name), &place.tensor);
    let width = match tensor.element_type {
        Some(ElementType::INT64) => 8,
        Some(ElementType::INT32) => 4,
        _ => 0,
    };
    if width == 0 || count(&tensor.shape) != 2 {
        return Err(format!("{shown}: two sizes of int64 or int32 were expected"));
    }
    let number = |code: &[u8]| {
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(code);
        u64::from_le_bytes(bytes)
    };
    Ok(read(place, 16)?.chunks_exact(width).map(number).collect())
}
