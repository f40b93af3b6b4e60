//! A tensor as an input stores it.

use wgpu_cast::CastOptions;

use super::plan::{CodeStorage, Part, SourceRange, TensorCast, TensorCodes, TensorStorage};
use crate::repack::code_bits;

/// A tensor of numbers whose elements are stored in one range of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTensor {
    /// The name, which may be empty.
    pub name: String,
    /// The number of elements along each axis; empty for a scalar.
    pub shape: Vec<u64>,
    /// The index of the input among those that [`write()`](super::write()) gets.
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

    /// All elements in row-major order, stored as `to` says. They are cast, unless `to` has the type of the tensor: then
    /// their codes stay as they are. `None` if the size of either side overflows.
    pub fn part(&self, to: TensorStorage, options: &CastOptions) -> Option<Part> {
        if to.element_type == self.storage.element_type {
            return self.keep(to.codes);
        }
        let elements = self.elements()?;
        self.bytes().and(to.bytes(elements))?;
        let (name, from, options, column_major) = (self.name.clone(), self.storage, *options, self.axes());
        let (input, offset) = (self.input, self.offset);
        let clamp = false;
        Some(Part::Cast(TensorCast { name, elements, input, offset, from, to, options, column_major, clamp }))
    }

    /// The codes of all elements as they are, in row-major order and stored as `to` says. The part is a copy where no
    /// byte can change. `None` if the size of either side overflows.
    pub fn keep(&self, to: CodeStorage) -> Option<Part> {
        let TensorStorage { element_type, codes: from } = self.storage;
        let elements = self.elements()?;
        let (input, offset, bytes) = (self.input, self.offset, self.bytes()?);
        TensorStorage { element_type, codes: to }.bytes(elements)?;
        // Bits that belong to no code are written as zeros, so an input that has such bits is not copied.
        let has_pad = from == CodeStorage::OnePerByte || elements % 8 * u64::from(code_bits(element_type)) % 8 != 0;
        if from == to && !has_pad && !self.is_column_major() {
            return Some(Part::Copy(SourceRange { input, offset, bytes }));
        }
        let (name, column_major) = (self.name.clone(), self.axes());
        Some(Part::Codes(TensorCodes { name, elements, input, offset, element_type, from, to, column_major }))
    }

    /// The lengths of the axes if the elements must be moved into row-major order; otherwise empty.
    fn axes(&self) -> Vec<u64> {
        if self.is_column_major() { self.shape.clone() } else { Vec::new() }
    }

    /// Whether the elements are in another order than row-major. The two orders are the same for an empty array, and for
    /// one with fewer than two axes longer than 1.
    pub(super) fn is_column_major(&self) -> bool {
        self.column_major && !self.shape.contains(&0) && self.shape.iter().filter(|&&axis| axis != 1).count() > 1
    }
}

/// The number of elements of a shape; `None` if it overflows.
pub(super) fn count(shape: &[u64]) -> Option<u64> {
    // An axis of length 0 means no elements, even where the product of the other axes would overflow.
    if shape.contains(&0) { Some(0) } else { shape.iter().try_fold(1u64, |count, &axis| count.checked_mul(axis)) }
}
