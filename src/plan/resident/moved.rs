//! Dispatches that were planned once, for slices at other places.

use crate::plan::dispatch::{ByteRange, Dispatch, Offsets};
use crate::plan::limits::{LEAST_ALIGNMENT, PlanLimits};

impl Offsets {
    /// Offsets in whole bytes, in two buffers.
    pub(crate) fn two_buffers(source: u64, destination: u64) -> Self {
        Self { source: 8 * source, destination: 8 * destination, ..Self::default() }
    }

    /// Offsets in whole bytes, in one buffer.
    pub(crate) fn one_buffer(source: u64, destination: u64) -> Self {
        Self { one_buffer: true, ..Self::two_buffers(source, destination) }
    }
}

impl Dispatch {
    /// Moves a dispatch that was planned for the start of two buffers to slices that start elsewhere in two buffers.
    /// They must start at multiples of 16 bytes, so that no element moves within a vector. `None` for other slices, and
    /// if a binding has no room for the bytes between an aligned offset and the slice. Such casts need a plan of their
    /// own.
    pub(crate) fn moved(&self, offsets: Offsets, limits: &PlanLimits) -> Option<Self> {
        let suits = |bit: u64| bit.is_multiple_of(8 * LEAST_ALIGNMENT);
        if offsets.one_buffer || offsets.keeps_rest || !suits(offsets.source) || !suits(offsets.destination) {
            return None;
        }
        let moved = |range: ByteRange, by: u64| {
            let first = range.offset + by / 8;
            let offset = first / limits.offset_alignment * limits.offset_alignment;
            let size = range.size + (first - offset);
            // Bindings are at most 4 GiB, so words within them are counted in 32 bits.
            (size <= limits.binding_size).then_some((ByteRange { offset, size }, ((first - offset) / 4) as u32))
        };
        let (source, source_words) = moved(self.source, offsets.source)?;
        let (destination, destination_words) = moved(self.destination, offsets.destination)?;
        let mut params = self.params;
        params.source_word += source_words;
        params.source_last += source_words;
        params.destination_word += destination_words;
        params.sentinel_word += destination_words;
        Some(Self { source, destination, params, view: self.view.clone(), ..*self })
    }
}
