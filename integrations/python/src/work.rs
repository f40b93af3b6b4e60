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

/// The bytes of a source and its new result that are cast at once. The CPU path does not store results of this size past
/// the caches, which is slower into new memory: 16 Mi FLOAT values to FLOAT16 had 6 GB/s at once, and 10 GB/s in pieces.
const NEW_PIECE: usize = 24 << 20;

/// Each new array of so many bytes gets new pages from the system, since glibc gives them back when an array is freed.
pub const MAPPED_BYTES: usize = if cfg!(target_os = "linux") { 32 << 20 } else { usize::MAX };

/// Arrays hold codes of fewer than 8 bits one in each byte, as ml_dtypes does.
pub const LAYOUT: CodeLayout = CodeLayout::OnePerByte;

/// The bytes that a code takes in an array.
pub fn item_size(element_type: ElementType) -> usize {
    element_type.bits().unwrap_or(8).div_ceil(8) as usize
}

/// A cast of the codes of an array.
pub struct Work<'a> {
    pub spec: &'a CastSpec,
    /// Whether to count what is lost.
    pub counts: bool,
    pub on_gpu: bool,
    /// Whether the memory of the result has not been used before.
    pub is_new: bool,
}

impl Work<'_> {
    /// Casts all codes of `source`. Returns what is lost, if that is counted.
    pub fn cast(&self, py: Python<'_>, source: &[u8], destination: &mut [u8]) -> PyResult<LossCounts> {
        let elements = source.len() / item_size(self.spec.from);
        let result = if !self.on_gpu && source.len().max(destination.len()) < SHORT {
            self.cast_piece(source, destination)
        } else if !self.on_gpu && elements < ALONE {
            py.detach(|| self.cast_piece(source, destination))
        } else {
            return self.cast_in_pieces(py, source, destination);
        };
        result.map_err(|error| from_core(py, &error))
    }

    fn cast_in_pieces(&self, py: Python<'_>, source: &[u8], destination: &mut [u8]) -> PyResult<LossCounts> {
        let pool = Pool::get(py)?;
        let sizes = [self.spec.from, self.spec.to].map(item_size);
        let new_piece = (NEW_PIECE / sizes.iter().sum::<usize>()).next_multiple_of(ALONE);
        let piece = if self.is_new && !self.on_gpu { new_piece } else { PIECE };
        let [read, written] = sizes.map(|size| piece * size);
        let mut lost = LossCounts::default();
        for (source, destination) in source.chunks(read).zip(destination.chunks_mut(written)) {
            let counts = py.detach(|| pool.run(|| self.cast_piece(source, destination)));
            lost += counts.map_err(|error| from_core(py, &error))?;
            py.check_signals()?;
        }
        Ok(lost)
    }

    fn cast_piece(&self, source: &[u8], destination: &mut [u8]) -> Result<LossCounts, Error> {
        let (spec, layouts, elements) = (self.spec, [LAYOUT; 2], source.len() / item_size(self.spec.from));
        match (self.on_gpu, self.counts) {
            (false, true) => return cpu::cast_codes_counted(spec, layouts, source, elements, destination),
            (false, false) => cpu::cast_codes(spec, layouts, source, elements, destination)?,
            (true, counts) => {
                devices::cast(spec, source, destination)?;
                if counts {
                    return cpu::count_lost_codes(spec, LAYOUT, source, elements);
                }
            }
        }
        Ok(LossCounts::default())
    }
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
