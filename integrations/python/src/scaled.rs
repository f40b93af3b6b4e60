//! Casts of scaled elements.

use numpy::prelude::*;
use numpy::{PyArray1, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use wgpu_cast::cpu::{self, Scales};
use wgpu_cast::{CastSpec, ElementType, LossCounts};

use crate::bytes::{Destination, Source};
use crate::cast::{counts, refusal};
use crate::error::{from_core, loss_error};
use crate::how::How;
use crate::names::of_code;
use crate::threads::Pool;
use crate::work::LAYOUT;

/// Casts the scaled codes of an array into those of another one. Both are contiguous, in row-major order, and have the same
/// shape. With `strict`, the other one is not the caller's: it is written before an error. Returns the counts of what is
/// lost, if `losses` is wanted.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "what Python gives")]
pub fn cast_scaled<'py>(
    source: &Bound<'py, PyUntypedArray>,
    from: i32,
    destination: &Bound<'py, PyUntypedArray>,
    to: i32,
    block: &Bound<'py, PyAny>,
    scales: &Bound<'py, PyArray1<f32>>,
    zero_points: Option<&Bound<'py, PyArray1<i32>>>,
    how: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let py = source.py();
    let how = How::new(how)?;
    let (from, to) = (of_code(py, from)?, of_code(py, to)?);
    let spec = CastSpec::new(from, to).with_options(how.options(py, ElementType::FLOAT, to)?);
    let shape = source.shape();
    let fault = |error| from_core(py, &error);
    let block: Vec<usize> = block.extract()?;
    let values = scales.try_readonly()?;
    let zero_points = zero_points.map(|zero_points| zero_points.try_readonly()).transpose()?;
    let mut scales = Scales::new(shape, &block, values.as_slice()?).map_err(fault)?;
    if let Some(zero_points) = &zero_points {
        scales = scales.with_zero_points(zero_points.as_slice()?).map_err(fault)?;
    }
    let source = Source::new(source)?;
    let source = source.bytes()?;
    let mut destination = Destination::new(destination)?;
    let destination = destination.bytes()?;
    let pool = Pool::get(py)?;
    let work = || match how.strict || how.losses {
        true => cpu::cast_scaled_codes_counted(&spec, &scales, [LAYOUT; 2], source, destination),
        false => {
            cpu::cast_scaled_codes(&spec, &scales, [LAYOUT; 2], source, destination).map(|()| LossCounts::default())
        }
    };
    let lost = py.detach(|| pool.run(work)).map_err(fault)?;
    if how.strict && lost.total() > 0 {
        return Err(loss_error(py, refusal(&spec, &lost), counts(&lost)));
    }
    how.losses.then(|| PyTuple::new(py, counts(&lost))).transpose()
}
