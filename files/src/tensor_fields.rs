//! The fields of a `TensorProto`, by onnx 1.23, and what all readers of it have in common.

use std::ops::Range;

use super::input::ReadAt;
use super::stored::count;
use super::wire::{Value, WireError, varints};
use crate::onnx::{MOST_DIMS, TensorFault};

pub(super) const DIMS: u32 = 1;
pub(super) const DATA_TYPE: u32 = 2;
pub(super) const SEGMENT: u32 = 3;
pub(super) const FLOAT_DATA: u32 = 4;
pub(super) const INT32_DATA: u32 = 5;
pub(super) const STRING_DATA: u32 = 6;
pub(super) const INT64_DATA: u32 = 7;
pub(super) const NAME: u32 = 8;
pub(super) const RAW_DATA: u32 = 9;
pub(super) const DOUBLE_DATA: u32 = 10;
pub(super) const UINT64_DATA: u32 = 11;
pub(super) const EXTERNAL_DATA: u32 = 13;
pub(super) const DATA_LOCATION: u32 = 14;

/// The fields that hold data, or say where it is.
pub(super) const HOLD_DATA: [u32; 9] =
    [FLOAT_DATA, INT32_DATA, STRING_DATA, INT64_DATA, RAW_DATA, DOUBLE_DATA, UINT64_DATA, EXTERNAL_DATA, DATA_LOCATION];

/// `TensorProto.DataLocation`.
pub(super) const EXTERNAL: u64 = 1;

/// The most entries of `external_data`, of which four are known.
pub(super) const MOST_ENTRIES: usize = 16;

/// The most places in which there are fields between those of the data.
const MOST_PLACES: usize = 64;

/// The dims while they are read. Those beyond the limit are only counted.
#[derive(Default)]
pub(super) struct Dims {
    dims: Vec<i64>,
    found: usize,
}

impl Dims {
    /// Reads a field; whether it has a wire type that dims can have.
    pub(super) fn read(&mut self, input: &dyn ReadAt, value: &Value) -> Result<bool, WireError> {
        match value {
            Value::Varint(dim) => self.add(*dim),
            Value::Bytes(packed) => {
                for dim in varints(input, packed.clone()) {
                    self.add(dim?);
                }
            }
            Value::Fixed32(_) | Value::Fixed64(_) => return Ok(false),
        }
        Ok(true)
    }

    fn add(&mut self, dim: u64) {
        self.found += 1;
        if self.found <= MOST_DIMS {
            self.dims.push(dim as i64);
        }
    }

    /// The sizes of the axes, and the number of elements.
    pub(super) fn checked(&self) -> Result<(Vec<u64>, u64), TensorFault> {
        if self.found > MOST_DIMS {
            return Err(TensorFault::Rank { found: self.found, limit: MOST_DIMS });
        }
        if let Some((axis, &dim)) = self.dims.iter().enumerate().find(|(_, dim)| **dim < 0) {
            return Err(TensorFault::NegativeDim { axis, dim });
        }
        let dims: Vec<u64> = self.dims.iter().map(|&dim| dim as u64).collect();
        let elements = count(&dims).ok_or_else(|| self.too_large())?;
        Ok((dims, elements))
    }

    pub(super) fn too_large(&self) -> TensorFault {
        TensorFault::TooLarge { dims: self.dims.clone() }
    }
}

/// The fields that are copied, while they are read. Those that follow one another are one range.
#[derive(Default)]
pub(super) struct Kept {
    ranges: Vec<Range<u64>>,
    is_scattered: bool,
}

impl Kept {
    pub(super) fn add(&mut self, field: Range<u64>) {
        let count = self.ranges.len();
        match self.ranges.last_mut() {
            Some(last) if last.end == field.start => last.end = field.end,
            _ if count < MOST_PLACES => self.ranges.push(field),
            _ => self.is_scattered = true,
        }
    }

    pub(super) fn checked(&self) -> Result<&[Range<u64>], TensorFault> {
        if self.is_scattered { Err(TensorFault::Scattered { limit: MOST_PLACES }) } else { Ok(&self.ranges) }
    }
}
