//! Takes the place of `devices.rs` in a build without wgpu.

use pyo3::prelude::*;
use wgpu_cast::{CastSpec, Error};

/// There is no GPU.
pub fn cast(_spec: &CastSpec, _source: &[u8], _destination: &mut [u8]) -> Result<(), Error> {
    "gpu".parse::<wgpu_cast::ElementType>().map(drop)
}

/// Nothing to check.
pub fn check(_py: Python<'_>) -> PyResult<()> {
    Ok(())
}

type Row = (String, String, String, String, bool, String);

/// No adapters.
#[pyfunction]
pub fn devices() -> Vec<Row> {
    Vec::new()
}
