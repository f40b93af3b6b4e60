//! Packed codes, as in ONNX's `raw_data`.

use numpy::PyUntypedArray;
use pyo3::prelude::*;
use wgpu_cast::cpu;

use crate::bytes::{Destination, Source};
use crate::error::from_core;
use crate::names::of_code;

/// Packs the codes of an array into an array of bytes. Both are contiguous.
#[pyfunction]
pub fn pack_codes<'py>(
    codes: &Bound<'py, PyUntypedArray>,
    code: i32,
    packed: &Bound<'py, PyUntypedArray>,
) -> PyResult<()> {
    let py = codes.py();
    let element_type = of_code(py, code)?;
    let (codes, mut packed) = (Source::new(codes)?, Destination::new(packed)?);
    let (codes, packed) = (codes.bytes()?, packed.bytes()?);
    py.detach(|| cpu::pack_codes(element_type, codes, packed)).map_err(|error| from_core(py, &error))
}

/// The opposite of [`pack_codes`]. `name` is the caller's argument that `packed` is of.
#[pyfunction]
pub fn unpack_codes<'py>(
    packed: &Bound<'py, PyUntypedArray>,
    code: i32,
    codes: &Bound<'py, PyUntypedArray>,
    name: &str,
) -> PyResult<()> {
    let py = packed.py();
    let element_type = of_code(py, code)?;
    let (packed, mut codes) = (Source::of(packed, name)?, Destination::new(codes)?);
    let (packed, codes) = (packed.bytes()?, codes.bytes()?);
    py.detach(|| cpu::unpack_codes(element_type, packed, codes)).map_err(|error| from_core(py, &error))
}
