//! A tensor as it lies in an input.

use super::plan::{TensorCast, TensorStorage};
use crate::options::CastOptions;

/// A tensor of numbers whose elements are stored in one range of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTensor {
    /// The name, which may be empty.
    pub name: String,
    /// The number of elements along each axis; empty for a scalar.
    pub shape: Vec<u64>,
    /// The index of the input.
    pub input: usize,
    /// The first byte of the elements.
    pub offset: u64,
    /// How the elements are stored.
    pub storage: TensorStorage,
    /// Whether the first axis varies fastest instead of the last one.
    pub column_major: bool,
}

impl StoredTensor {
    /// The number of elements; `None` if it overflows.
    pub fn elements(&self) -> Option<u64> {
        count(&self.shape)
    }

    /// The size of the elements in bytes; `None` if it overflows.
    pub fn bytes(&self) -> Option<u64> {
        self.storage.bytes(self.elements()?)
    }

    /// The cast of all elements, written in row-major order; `None` if the size of either side overflows.
    pub fn cast(&self, to: TensorStorage, options: &CastOptions) -> Option<TensorCast> {
        let elements = self.elements()?;
        self.bytes().and(to.bytes(elements))?;
        let column_major = if self.is_column_major() { self.shape.clone() } else { Vec::new() };
        let (name, from, options) = (self.name.clone(), self.storage, *options);
        Some(TensorCast {
            name,
            elements,
            input: self.input,
            offset: self.offset,
            from,
            to,
            options,
            column_major,
            clamp: false,
        })
    }

    /// Whether the elements lie in another order than the row-major one.
    pub(super) fn is_column_major(&self) -> bool {
        self.column_major && !self.shape.contains(&0) && self.shape.iter().filter(|&&axis| axis != 1).count() > 1
    }
}

/// The elements of a shape; `None` if their number overflows.
pub(super) fn count(shape: &[u64]) -> Option<u64> {
    // An axis of length 0 means no elements, even where the product of the other axes would overflow.
    if shape.contains(&0) { Some(0) } else { shape.iter().try_fold(1u64, |count, &axis| count.checked_mul(axis)) }
}
