//! `.npy` files. npyz parses and writes the headers.

mod dtype;
mod header;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use npyz::{DType, Order, WriteOptions, WriterBuilder};
use wgpu_cast::files::{CodeStorage, Part};
use wgpu_cast::{ElementType, Tensor};

use crate::failure::Failure;
use crate::output::counted;

/// Reads an array as a row-major tensor. `from` is the type of raw codes.
///
/// # Errors
/// The file cannot be read, is not a plain array of a type that `from` allows, or contains an invalid code.
pub fn read(path: &Path, from: Option<ElementType>) -> Result<Tensor, Failure> {
    let fail = |what: String| Failure::at(path, what);
    let mut file = File::open(path).map_err(|e| Failure::at(path, e))?;
    let (header, data_start) = header::read(&mut file).map_err(fail)?;
    let stored = dtype::Stored::new(&header.dtype(), from).map_err(fail)?;
    let shape = shape(header.shape()).map_err(fail)?;
    let (elements, size) = (header.len(), stored.size());

    // The size in the header is checked against the size of the file before memory is allocated.
    let takes = elements
        .checked_mul(size as u64)
        .ok_or_else(|| fail("the array is too large: its size in bytes overflows".to_owned()))?;
    let wrong = |held| {
        let comment = if held < takes { "truncated" } else { "extra bytes after the array" };
        fail(format!("{comment}: expected {} of data, got {held}", counted(takes, "byte")))
    };
    let metadata = file.metadata().map_err(|e| Failure::at(path, e))?;
    let held = metadata.len().saturating_sub(data_start);
    if metadata.is_file() && held != takes {
        return Err(wrong(held));
    }
    let mut bytes = Vec::new();
    // One byte more shows that there are too many. The limit matters for files without an end.
    file.take(takes.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| Failure::at(path, e))?;
    if bytes.len() as u64 != takes {
        return Err(wrong(bytes.len() as u64));
    }

    if stored.big_endian {
        swap_bytes(&mut bytes, size);
    }
    if header.order() == Order::Fortran {
        bytes = to_row_major(&bytes, size, &shape);
    }
    let (element_type, bits) = (stored.element_type, stored.element_type.bits().unwrap_or(0));
    if bits >= 8 {
        return Tensor::from_bytes(element_type, shape, bytes).map_err(|e| Failure::at(path, e));
    }
    if let Some(index) = bytes.iter().position(|byte| byte >> bits != 0) {
        let code = bytes[index];
        return Err(fail(format!("element {index} is out of range for {element_type} ({bits} bits): {code:#04x}")));
    }
    let codes = bytes.into_iter().map(u64::from);
    Tensor::from_codes(element_type, shape, codes).map_err(|e| Failure::at(path, e))
}

/// The parts of a file: its header, and the elements cast. Types of numpy are written as themselves, other types as raw
/// codes in unsigned integers.
///
/// # Errors
/// npyz cannot write the header.
pub fn parts(tensor: &Tensor, to: ElementType, cast: impl Fn(CodeStorage) -> Part) -> Result<Vec<Part>, Failure> {
    let shape: Vec<u64> = tensor.shape().iter().map(|&axis| axis as u64).collect();
    let header = WriteOptions::new_header_only()
        .dtype(DType::Plain(dtype::of(to)))
        .shape(&shape)
        .writer(Vec::new())
        .write_header_only()
        .map_err(|e| Failure::Work(e.to_string()))?;
    let codes = if to.bits() < Some(8) { CodeStorage::OnePerByte } else { CodeStorage::Packed };
    Ok(vec![Part::Bytes(header), cast(codes)])
}

fn shape(axes: &[u64]) -> Result<Vec<usize>, String> {
    axes.iter().map(|&axis| usize::try_from(axis).map_err(|e| format!("bad axis length {axis}: {e}"))).collect()
}

/// Reverses the bytes of each element.
fn swap_bytes(bytes: &mut [u8], size: usize) {
    match size {
        2 => bytes.chunks_exact_mut(2).for_each(<[u8]>::reverse),
        4 => bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse),
        _ => bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse),
    }
}

/// Reorders column-major elements to row-major order.
fn to_row_major(bytes: &[u8], size: usize, shape: &[usize]) -> Vec<u8> {
    let mut result = Vec::with_capacity(bytes.len());
    let Some((&last, outer)) = shape.split_last() else { return bytes.to_vec() };
    let stride = size * outer.iter().product::<usize>();
    let mut index = vec![0; outer.len()];
    let mut first = 0;
    while result.len() < bytes.len() {
        for step in 0..last {
            result.extend_from_slice(&bytes[first + step * stride..][..size]);
        }
        // The next row: increments the index of the outer axes, and `first` with it, in column-major bytes.
        for axis in (0..outer.len()).rev() {
            let step = size * outer[..axis].iter().product::<usize>();
            index[axis] += 1;
            first += step;
            if index[axis] < outer[axis] {
                break;
            }
            first -= step * outer[axis];
            index[axis] = 0;
        }
    }
    result
}
