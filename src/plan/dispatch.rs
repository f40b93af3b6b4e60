//! One dispatch, and where the tensors of a cast start.

use super::params::{MoreParams, Params, UniformBlock, ViewParams};
use crate::kernel::{Access, KernelKind};
use crate::types::conversion::Conversion;

/// A range of bytes of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteRange {
    pub offset: u64,
    pub size: u64,
}

impl ByteRange {
    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.offset < other.offset + other.size && other.offset < self.offset + self.size
    }

    /// The range from the lower start to the higher end of two ranges.
    pub(crate) fn over(self, other: Self) -> Self {
        let offset = self.offset.min(other.offset);
        Self { offset, size: (self.offset + self.size).max(other.offset + other.size) - offset }
    }
}

/// Where source and destination start, in bits of their buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offsets {
    pub source: u64,
    pub destination: u64,
    /// Whether both tensors lie in one buffer. Then they have no bit in common, or start at the same bit with codes of
    /// the same width, or have codes of different widths (see [`in_place`]).
    pub one_buffer: bool,
    /// Whether both bindings are read-write even if the tensors are in two buffers.
    pub writable: bool,
    /// Whether the bits after the destination's last element stay as they are. Otherwise the rest of its last byte
    /// becomes zero.
    pub keeps_rest: bool,
}

impl Offsets {
    /// Whether the tensors overlap and their codes differ in width. Such a cast must keep an order.
    pub(crate) fn in_order(&self, conversion: &Conversion, elements: u64) -> bool {
        let [from, to] = [conversion.from, conversion.to].map(|t| u64::from(t.code_bits()));
        let (source, destination) = (self.source, self.destination);
        let overlap = source < self.destination_end(to, elements) && destination < source + elements * from;
        self.one_buffer && from != to && overlap
    }

    /// The end of the bits that a cast of `elements` codes of `bits` bits writes.
    pub(super) fn destination_end(&self, bits: u64, elements: u64) -> u64 {
        let end = self.destination + elements * bits;
        // The rest of the last byte becomes zero.
        if self.keeps_rest { end } else { end.next_multiple_of(8) }
    }
}

/// One dispatch. With shared access, both ranges are the same range, which is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dispatch {
    pub kind: KernelKind,
    pub access: Access,
    /// The index of its first element in the cast. It is 0 for views.
    pub first: u64,
    pub source: ByteRange,
    pub destination: ByteRange,
    pub params: Params,
    /// The further parameters of the kernels of views.
    pub view: Option<Box<ViewParams>>,
    /// Workgroups in two dimensions. The rows of workgroups follow one another. The exception is the dispatch of the
    /// elements before and after whole units.
    pub workgroups: [u32; 2],
}

impl Dispatch {
    pub(crate) fn uniform_block(&self) -> UniformBlock {
        let more = self.view.clone().map_or(MoreParams::None, MoreParams::View);
        UniformBlock { params: self.params, more }
    }
}
