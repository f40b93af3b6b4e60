//! Where the two tensors of a cast lie in their buffers.

use super::dispatch::Offsets;
use super::limits::MOST_BYTES;
use crate::types::conversion::Conversion;
use crate::types::error::{BufferRange, CastFault, Error, SliceFault};
use crate::types::side::Side;

/// Where the source and the destination of a cast lie in their buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Placement {
    pub(crate) source: Position,
    pub(crate) destination: Position,
    pub(crate) one_buffer: bool,
    /// Whether both bindings are read-write even if the tensors are in two buffers.
    pub(crate) writable: bool,
}

/// Where one tensor lies in its buffer: as a whole tensor, or as a part of a larger packed tensor. Elements are packed
/// as in [`Tensor`](crate::Tensor).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// Bytes of the buffer before the packed tensor.
    pub(crate) offset: u64,
    /// Elements of the larger tensor before the part.
    pub(crate) first: Option<u64>,
}

impl Position {
    /// A whole tensor. Its packed bytes start at byte `offset` of the buffer.
    pub fn whole(offset: u64) -> Self {
        Self { offset, first: None }
    }

    /// The elements from `first` on of a larger packed tensor that starts at byte `offset` of the buffer. In a
    /// destination, the other elements of the larger tensor stay as they are, also those in the same byte.
    pub fn part(offset: u64, first: u64) -> Self {
        Self { offset, first: Some(first) }
    }

    /// The first bit of the tensor in its buffer, if it can be counted in 64 bits.
    fn bit(&self, code_bits: u64) -> Option<u64> {
        self.offset.checked_mul(8)?.checked_add(self.first.unwrap_or(0).checked_mul(code_bits)?)
    }
}

impl Placement {
    /// Source and destination in two buffers.
    pub fn two_buffers(source: Position, destination: Position) -> Self {
        Self { source, destination, one_buffer: false, writable: false }
    }

    /// Source and destination in two allocations, which may be in one buffer. This is for schedulers that bind each
    /// allocation as a whole and do not tell where it lies. The positions are relative to the allocations, and so are
    /// the ranges in [`PlannedDispatch::bindings`](crate::PlannedDispatch::bindings). Both bindings are read-write,
    /// because no buffer may be bound read-only and writable at once.
    pub fn two_allocations(source: Position, destination: Position) -> Self {
        Self { source, destination, one_buffer: false, writable: true }
    }

    /// Source and destination in one buffer. Tensors of types with different widths may overlap in any way. Tensors of
    /// types with the same width may overlap only if both start at the same bit. Views may not overlap.
    pub fn one_buffer(source: Position, destination: Position) -> Self {
        Self { source, destination, one_buffer: true, writable: false }
    }

    /// Checks that both tensors lie in buffers of at most `buffer_size` bytes, and gives their places in bits.
    /// `in_place` says whether they may overlap.
    pub(crate) fn offsets(
        &self,
        conversion: &Conversion,
        [source_len, destination_len]: [u64; 2],
        in_place: bool,
        buffer_size: u64,
    ) -> Result<Offsets, Error> {
        let allowed = buffer_size.min(MOST_BYTES);
        let (from, to) = (conversion.from, conversion.to);
        let mut ranges = [(0, 0); 2];
        let sides =
            [(Side::Source, from, self.source, source_len), (Side::Destination, to, self.destination, destination_len)];
        for (range, (side, element_type, position, len)) in ranges.iter_mut().zip(sides) {
            let bits = u64::from(element_type.code_bits());
            let (offset, alignment) = (position.offset, (bits / 8).max(1));
            if !offset.is_multiple_of(alignment) {
                let (side, fault) = (Some(side), SliceFault::Alignment { alignment });
                return Err(conversion.error(CastFault::Slice { side, offset, fault }));
            }
            let range_of = |start: u64| Some((start, start.checked_add(len.checked_mul(bits)?)?));
            *range = position.bit(bits).and_then(range_of).unwrap_or((0, u64::MAX));
            let needed = range.1.div_ceil(8);
            if needed > allowed {
                return Err(conversion.error(CastFault::Limit { limit: "max_buffer_size", needed, allowed }));
            }
        }
        let [source, mut destination] = ranges;
        let possible = in_place && (source.0 == destination.0 || from.code_bits() != to.code_bits());
        let keeps_rest = self.destination.first.is_some() && !destination.1.is_multiple_of(8);
        if !keeps_rest {
            destination.1 = destination.1.next_multiple_of(8);
        }
        let apart = source.1 <= destination.0 || destination.1 <= source.0;
        if self.one_buffer && !apart && !possible {
            let range = |side, bits: (u64, u64)| {
                let bytes = bits.0 / 8..bits.1.div_ceil(8);
                BufferRange { entry: None, side: Some(side), bytes }
            };
            let ranges = Box::new([range(Side::Source, source), range(Side::Destination, destination)]);
            return Err(conversion.error(CastFault::Overlap { ranges, is_view: !in_place }));
        }
        let (source, destination) = (source.0, destination.0);
        Ok(Offsets { source, destination, one_buffer: self.one_buffer, writable: self.writable, keeps_rest })
    }
}
