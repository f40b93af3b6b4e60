//! Casts from and to strings.

use numpy::PyUntypedArray;
use pyo3::prelude::*;
use wgpu_cast::{ElementType, Tensor, cpu};

use crate::bytes::{Destination, Source};
use crate::error::from_core;
use crate::how::How;
use crate::names::of_code;
use crate::threads::Pool;
use crate::work::item_size;

/// Casts strings into a contiguous array of codes.
#[pyfunction]
pub fn parse<'py>(
    strings: Vec<String>,
    destination: &Bound<'py, PyUntypedArray>,
    to: i32,
    how: &Bound<'py, PyAny>,
) -> PyResult<()> {
    let py = destination.py();
    let (to, how): (ElementType, How) = (of_code(py, to)?, How::new(how)?);
    let options = how.options(py, ElementType::STRING, to)?;
    let mut destination = Destination::new(destination)?;
    let destination = destination.bytes()?;
    let pool = Pool::get(py)?;
    let result = py.detach(|| {
        pool.run(|| {
            let tensor = Tensor::from_strings([strings.len()], strings)?;
            let result = cpu::cast(&tensor, to, &options)?;
            cpu::unpack_codes(to, result.bytes().unwrap_or_default(), destination)
        })
    });
    result.map_err(|error| from_core(py, &error))
}

/// The strings of the codes of a contiguous array.
#[pyfunction]
pub fn print<'py>(source: &Bound<'py, PyUntypedArray>, from: i32, how: &Bound<'py, PyAny>) -> PyResult<Vec<String>> {
    let py = source.py();
    let (from, how): (ElementType, How) = (of_code(py, from)?, How::new(how)?);
    let options = how.options(py, from, ElementType::STRING)?;
    let source = Source::new(source)?;
    let source = source.bytes()?;
    let pool = Pool::get(py)?;
    let result = py.detach(|| {
        pool.run(|| {
            let elements = source.len() / item_size(from);
            let mut packed = vec![0; from.packed_bytes(elements as u64).unwrap_or(0) as usize];
            cpu::pack_codes(from, source, &mut packed)?;
            let tensor = Tensor::from_bytes(from, [elements], packed)?;
            let result = cpu::cast(&tensor, ElementType::STRING, &options)?;
            Ok(result.strings().into_iter().flatten().map(str::to_owned).collect())
        })
    });
    result.map_err(|error: wgpu_cast::Error| from_core(py, &error))
}
