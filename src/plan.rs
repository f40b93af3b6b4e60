//! The plan of a cast on a device: its dispatches and their byte ranges, as data. Planning needs no device.

mod cast_plan;
mod conflicts;
mod counted;
mod dense;
mod divisor;
mod in_place;
mod limits;
mod measures;
mod merge;
mod params;
mod pieces;
mod placement;
mod places;
#[cfg(test)]
mod tests;
mod view;

pub use cast_plan::{Plan, PlannedBinding, PlannedDispatch};
pub(crate) use conflicts::{Use, conflict};
pub(crate) use counted::{CountedDispatch, counted};
pub(crate) use dense::{plan, plan_apart};
pub use limits::{CodeLookup, PlanLimits, PlanSettings, PlanTuning};
pub(crate) use merge::{Merge, Merged, merge};
#[cfg(test)]
pub(crate) use params::CountParams;
pub(crate) use params::{MoreParams, Params, UniformBlock, ViewParams};
pub(crate) use pieces::plan_view;
pub use placement::{Placement, Position};
pub(crate) use places::Places;
pub(crate) use view::Strided;
pub use view::View;

use crate::conversion::Conversion;
use crate::error::Error;
use crate::kernel::{Access, Block, KernelKind};
use measures::{LEAST_ALIGNMENT, Measures, crosses_words, wide_units_suit};

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

    /// The range from where the first of two starts to where the last ends.
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
    /// Whether both lie in one buffer: without a bit in common, at the same offset with codes of the same width, or
    /// as [`in_place`] says with codes of different widths.
    pub one_buffer: bool,
    /// Whether both bindings are read-write also in two buffers.
    pub writable: bool,
    /// Whether the bits after the last element of the destination stay as they are. Otherwise those of its last byte
    /// become zero.
    pub keeps_rest: bool,
}

impl Offsets {
    /// Whether the tensors overlap and their codes differ in width, so that the cast keeps an order.
    pub(crate) fn in_order(&self, conversion: &Conversion, elements: u64) -> bool {
        let [from, to] = [conversion.from, conversion.to].map(|t| u64::from(t.code_bits()));
        let (source, destination) = (self.source, self.destination);
        let overlap = source < self.destination_end(to, elements) && destination < source + elements * from;
        self.one_buffer && from != to && overlap
    }

    /// The bit after the last one that a cast of so many elements with codes of so many bits writes.
    fn destination_end(&self, bits: u64, elements: u64) -> u64 {
        let end = self.destination + elements * bits;
        // The rest of the last byte becomes zero.
        if self.keeps_rest { end } else { end.next_multiple_of(8) }
    }

    /// Whole bytes, in two buffers.
    pub(crate) fn two_buffers(source: u64, destination: u64) -> Self {
        Self { source: 8 * source, destination: 8 * destination, ..Self::default() }
    }

    /// Whole bytes, in one buffer.
    pub(crate) fn one_buffer(source: u64, destination: u64) -> Self {
        Self { one_buffer: true, ..Self::two_buffers(source, destination) }
    }
}

/// Which kernels of casts are compiled ([`Caster::warm_up`](crate::Caster::warm_up)) or tested
/// ([`Caster::self_test`](crate::Caster::self_test)), by where the tensors of future casts may lie. Each variant includes the
/// variants before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Coverage {
    /// In two buffers, each starting at the device's `min_storage_buffer_offset_alignment`.
    #[default]
    Aligned,
    /// In two buffers, starting at any element.
    Anywhere,
    /// In one buffer or in two, starting at any element.
    OneBuffer,
    /// As `OneBuffer`; source and destination may also have strides ([`View`]).
    Views,
}

impl Coverage {
    pub(crate) fn includes(self, other: Self) -> bool {
        self as u8 >= other as u8
    }
}

/// The kernels that casts of any length may take.
pub(crate) fn kernels(
    conversion: &Conversion,
    coverage: Coverage,
    settings: &PlanSettings,
) -> impl Iterator<Item = (KernelKind, Access)> {
    let PlanSettings { limits, tuning } = *settings;
    let [from, to] = [conversion.from, conversion.to].map(|t| u64::from(t.code_bits()));
    let transposes = Block::new(conversion, Access::Separate, tuning.lookup).is_some();
    let needed = move |kind: &KernelKind, access: Access| match (kind, access) {
        (KernelKind::Together, Access::Shared) => from != to || crosses_words(to),
        (KernelKind::Together, _) => false,
        (KernelKind::Blocks, Access::Shared) => wide_units_suit(from, to),
        (KernelKind::Shifted, _) => coverage.includes(Coverage::Anywhere),
        (KernelKind::Transposed, _) => transposes && coverage.includes(Coverage::Views),
        (kind, _) => !kind.is_of_views() || coverage.includes(Coverage::Views),
    };
    let accesses: &[Access] = match coverage {
        Coverage::Aligned | Coverage::Anywhere => &[Access::Separate],
        // Ranges of one buffer are too far apart for one binding only if buffers are larger than bindings.
        _ if limits.buffer_size <= limits.binding_size => &[Access::Separate, Access::Shared],
        Coverage::OneBuffer | Coverage::Views => &[Access::Separate, Access::Shared, Access::Writable],
    };
    let kinds = KernelKind::ALL;
    accesses
        .iter()
        .flat_map(move |&access| kinds.into_iter().map(move |kind| (kind, access)))
        .filter(move |(kind, access)| needed(kind, *access))
}

/// One dispatch. With shared access, both ranges are the one range that is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dispatch {
    pub kind: KernelKind,
    pub access: Access,
    /// The index of its first element in the cast. Not kept for views.
    pub first: u64,
    pub source: ByteRange,
    pub destination: ByteRange,
    pub params: Params,
    /// The further parameters of the kernels of views.
    pub view: Option<Box<ViewParams>>,
    /// Their rows follow one another, but for a dispatch of the elements before and behind whole units.
    pub workgroups: [u32; 2],
}

impl Dispatch {
    pub(crate) fn uniform_block(&self) -> UniformBlock {
        let more = self.view.clone().map_or(MoreParams::None, MoreParams::View);
        UniformBlock { params: self.params, more }
    }

    /// A dispatch that was planned for the start of two buffers, on slices that start elsewhere in two buffers: at
    /// multiples of 16 bytes, so that no element moves within a vector. `None` for other slices, and where a binding
    /// has no room for the bytes between an aligned offset and the slice; those need a plan of their own.
    pub(crate) fn moved(&self, offsets: Offsets, limits: &PlanLimits) -> Option<Self> {
        let suits = |bit: u64| bit.is_multiple_of(8 * LEAST_ALIGNMENT);
        if offsets.one_buffer || offsets.keeps_rest || !suits(offsets.source) || !suits(offsets.destination) {
            return None;
        }
        let moved = |range: ByteRange, by: u64| {
            let first = range.offset + by / 8;
            let offset = first / limits.offset_alignment * limits.offset_alignment;
            let size = range.size + (first - offset);
            // Bindings are at most 4 GiB, so that words within them are counted in 32 bits.
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

/// Checks that the largest buffer holds so many elements of the source and of the destination.
pub(crate) fn check_sizes(conversion: &Conversion, lens: [u64; 2], limits: &PlanLimits) -> Result<(), Error> {
    let (from, to, limit, allowed) = (conversion.from, conversion.to, "max_buffer_size", limits.buffer_size);
    for (element_type, len) in [from, to].into_iter().zip(lens) {
        // After this check, a tensor's bits are counted in 64 bits without overflow.
        let needed = element_type.packed_bytes(len).unwrap_or(u64::MAX);
        if needed > allowed {
            return Err(Error::Limit { from, to, limit, needed, allowed });
        }
    }
    Ok(())
}

/// The most elements of a host tensor that take at most so many bytes on either side and fit the device's buffers, of
/// which every piece but the last starts at a whole byte on both sides.
pub(crate) fn host_chunk(conversion: &Conversion, settings: &PlanSettings, bytes: u64) -> Result<u64, Error> {
    let measures = Measures::new(conversion, Offsets::default(), settings);
    // The destination buffer also holds the sentinel.
    let buffer = settings.limits.buffer_size.saturating_sub(8);
    measures.fit(buffer, "max_buffer_size").map(|most| measures.fit(bytes, "").unwrap_or(measures.step).min(most))
}

/// Most elements of a host tensor in one submission. It bounds the memory that a cast takes beside the tensors, and how
/// long a device works without an answer.
pub(crate) const HOST_ELEMENTS: u64 = 1 << 26;
