//! Casts of codes, one in each byte or in whole bytes.

use pyo3::prelude::*;
use wgpu_cast::{CastSpec, CodeLayout, ElementType, Error, LossCounts, cpu};

use crate::devices;
use crate::error::from_core;
use crate::threads::Pool;

/// Casts of fewer bytes keep the GIL: giving it up takes longer.
const SHORT: usize = 1 << 15;

/// Casts of fewer elements use one thread (see `wgpu_cast::cpu`).
const ALONE: usize = 1 << 17;

/// The elements of a large cast between two looks at signals such as Ctrl-C.
const PIECE: usize = 1 << 26;

/// Arrays hold codes of fewer than 8 bits one in each byte, as ml_dtypes does.
const LAYOUT: CodeLayout = CodeLayout::OnePerByte;

/// The bytes that a code takes in an array.
pub fn item_size(element_type: ElementType) -> usize {
    element_type.bits().unwrap_or(8).div_ceil(8) as usize
}

/// Whether and how to count what is lost.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    No,
    Yes,
}

/// Casts all codes of `source`. Returns what is lost, if that is counted.
pub fn cast(
    py: Python<'_>,
    spec: &CastSpec,
    source: &[u8],
    destination: &mut [u8],
    counting: Counting,
    on_gpu: bool,
) -> PyResult<LossCounts> {
    let elements = source.len() / item_size(spec.from);
    let work = |source: &[u8], destination: &mut [u8]| -> Result<LossCounts, Error> {
        if on_gpu {
            devices::cast(spec, source, destination)?;
            return match counting {
                Counting::No => Ok(LossCounts::default()),
                Counting::Yes => cpu::count_lost_codes(spec, LAYOUT, source, source.len() / item_size(spec.from)),
            };
        }
        let (layouts, elements) = ([LAYOUT; 2], source.len() / item_size(spec.from));
        match counting {
            Counting::No => {
                cpu::cast_codes(spec, layouts, source, elements, destination).map(|()| LossCounts::default())
            }
            Counting::Yes => cpu::cast_codes_counted(spec, layouts, source, elements, destination),
        }
    };
    let result = if !on_gpu && source.len().max(destination.len()) < SHORT {
        work(source, destination)
    } else if !on_gpu && elements < ALONE {
        py.detach(|| work(source, destination))
    } else {
        let pool = Pool::get(py)?;
        let [read, written] = [spec.from, spec.to].map(|t| PIECE * item_size(t));
        let mut lost = LossCounts::default();
        for (source, destination) in source.chunks(read).zip(destination.chunks_mut(written)) {
            let counts = py.detach(|| pool.run(|| work(source, destination)));
            lost += counts.map_err(|error| from_core(py, &error))?;
            py.check_signals()?;
        }
        Ok(lost)
    };
    result.map_err(|error| from_core(py, &error))
}

/// Counts what a cast of all codes of `source` loses.
pub fn count(py: Python<'_>, spec: &CastSpec, source: &[u8]) -> PyResult<LossCounts> {
    let pool = Pool::get(py)?;
    let mut lost = LossCounts::default();
    for source in source.chunks(PIECE * item_size(spec.from)) {
        let counts =
            py.detach(|| pool.run(|| cpu::count_lost_codes(spec, LAYOUT, source, source.len() / item_size(spec.from))));
        lost += counts.map_err(|error| from_core(py, &error))?;
        py.check_signals()?;
    }
    Ok(lost)
}
