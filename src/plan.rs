//! What a cast comes to on a device, as data: which dispatches over which byte ranges. No device is needed to plan.

mod shape;
#[cfg(test)]
mod tests;
mod view;

pub(crate) use view::{View, plan_view};

use crate::conversion::Conversion;
use crate::error::Error;
use crate::kernel::{Access, KernelKind, VIEW_RANK};
use shape::{LEAST_ALIGNMENT, Shape, crosses_words, wide_units_suit};

/// What bounds and shapes dispatches. [`Caster::new`](crate::Caster::new) takes the device's own;
/// [`Caster::with_limits`](crate::Caster::with_limits) takes smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanLimits {
    /// Most bytes of one storage binding.
    pub binding_size: u64,
    /// Most bytes of one buffer. Host tensors are cast in chunks beyond it.
    pub buffer_size: u64,
    /// A binding starts at a multiple of this many bytes.
    pub offset_alignment: u64,
    /// Most workgroups along one dimension of a dispatch.
    pub workgroups: u32,
    /// Most elements of one dispatch, for drivers with a watchdog. Rounded down to what alignment allows.
    pub dispatch_elements: u64,
    /// Fewest elements for which the blocks kernel is worth its compilation; `None` is a workgroup's worth of them.
    pub blocks_from: Option<u64>,
    /// Whether sources of at most 8 bits go through a table in workgroup memory. It pays on GPUs; a software adapter's
    /// workgroup memory is slower than computing.
    pub tables: bool,
}

impl Default for PlanLimits {
    /// WebGPU's default limits, which every WebGPU device has.
    fn default() -> Self {
        Self {
            binding_size: 128 << 20,
            buffer_size: 256 << 20,
            offset_alignment: 256,
            workgroups: 65_535,
            dispatch_elements: u64::MAX,
            blocks_from: None,
            tables: true,
        }
    }
}

/// A range of bytes of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteRange {
    pub offset: u64,
    pub size: u64,
}

/// Where source and destination start, in bytes of their buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offsets {
    pub source: u64,
    pub destination: u64,
    /// Both lie in one buffer: apart, or at the same place with codes of the same width.
    pub one_buffer: bool,
}

/// Where the slices of casts will lie, for [`Caster::warm_up`](crate::Caster::warm_up) and
/// [`Caster::self_test`](crate::Caster::self_test). Each includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slices {
    /// In two buffers, each starting at the device's `min_storage_buffer_offset_alignment`.
    #[default]
    Aligned,
    /// In two buffers, starting at any element.
    Anywhere,
    /// In one buffer or in two, starting at any element.
    OneBuffer,
    /// The same, and the source may be a view with strides.
    Views,
}

/// The kernels that casts of any length may take.
pub(crate) fn kernels(conversion: &Conversion, slices: Slices) -> impl Iterator<Item = (KernelKind, Access)> {
    let [from, to] = [conversion.from, conversion.to].map(|t| u64::from(t.code_bits()));
    let needed = move |kind: &KernelKind, access: Access| match (kind, access) {
        (KernelKind::Serial, Access::Shared) => from == to && crosses_words(to),
        (KernelKind::Serial, _) => false,
        (KernelKind::Blocks, Access::Shared) => wide_units_suit(from, to),
        (KernelKind::Shifted, _) => slices >= Slices::Anywhere,
        (KernelKind::Strided, _) => slices >= Slices::Views && from >= 8,
        _ => true,
    };
    // Two ranges of one buffer that are too far apart for one binding are compiled for when they are met.
    let accesses: &[Access] = match slices {
        Slices::Aligned | Slices::Anywhere => &[Access::Separate],
        Slices::OneBuffer | Slices::Views => &[Access::Separate, Access::Shared],
    };
    let kinds = [KernelKind::Blocks, KernelKind::Shifted, KernelKind::Edge, KernelKind::Serial, KernelKind::Strided];
    accesses
        .iter()
        .flat_map(move |&access| kinds.into_iter().map(move |kind| (kind, access)))
        .filter(move |(kind, access)| needed(kind, *access))
}

/// What a dispatch is told: `Params` of `shaders/entry/params.wgsl`, padded to 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct Params {
    pub count: u32,
    pub source_word: u32,
    pub source_bit: u32,
    pub source_last: u32,
    pub destination_word: u32,
    pub destination_bit: u32,
    pub pitch: u32,
    pub sentinel_word: u32,
    pub sentinel: u32,
    pub first: u32,
    pub padding: [u32; 2],
    pub shape: [u32; VIEW_RANK],
    pub strides: [u32; VIEW_RANK],
}

/// One dispatch. With shared access both ranges are the one that is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dispatch {
    pub kind: KernelKind,
    pub access: Access,
    pub source: ByteRange,
    pub destination: ByteRange,
    pub params: Params,
    pub workgroups: [u32; 2],
}

impl Dispatch {
    /// A dispatch that was planned for the start of two buffers, on slices that start elsewhere in two buffers: at multiples of
    /// 16 bytes, so that no element moves within a vector. `None` for other slices, and where a binding has no room for the bytes
    /// between an aligned offset and the slice; those need a plan of their own.
    pub(crate) fn moved(&self, offsets: Offsets, limits: &PlanLimits) -> Option<Self> {
        let suits = |offset: u64| offset.is_multiple_of(LEAST_ALIGNMENT);
        if offsets.one_buffer || !suits(offsets.source) || !suits(offsets.destination) {
            return None;
        }
        let moved = |range: ByteRange, by: u64| {
            let first = range.offset + by;
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
        Some(Self { source, destination, params, ..*self })
    }
}

/// The dispatches that cast `elements` from one place to another. With a sentinel, which is not for one buffer, the last
/// dispatch writes it to the word after the destination's last.
pub(crate) fn plan(
    conversion: &Conversion,
    elements: u64,
    offsets: Offsets,
    limits: &PlanLimits,
    sentinel: Option<u32>,
) -> Result<Vec<Dispatch>, Error> {
    let mut dispatches = Vec::new();
    if elements == 0 {
        return Ok(dispatches);
    }
    let shape = Shape::new(conversion, offsets, limits);
    let chunk = shape.chunk(elements)?;
    let head = shape.head();
    // A head that is followed by too little for units is no head.
    let head = if elements.saturating_sub(head) < shape.blocks_from.max(1) { 0 } else { head };
    shape.edges(0, head, None, &mut dispatches);
    let mut start = head;
    while start < elements {
        let count = chunk.min(elements - start);
        let whole = shape.units(start, count, &mut dispatches);
        let end = start + count;
        shape.edges(start + whole, end, sentinel.filter(|_| end == elements), &mut dispatches);
        start = end;
    }
    Ok(dispatches)
}

/// The most elements of a host tensor that take at most so many bytes on either side and fit the device's buffers, of
/// which every piece but the last starts at a whole byte on both sides.
pub(crate) fn host_chunk(conversion: &Conversion, limits: &PlanLimits, bytes: u64) -> Result<u64, Error> {
    let shape = Shape::new(conversion, Offsets::default(), limits);
    // The destination holds the sentinel as well.
    let buffer = limits.buffer_size.saturating_sub(8);
    shape.fit(buffer, "max_buffer_size").map(|most| shape.fit(bytes, "").unwrap_or(shape.step).min(most))
}

/// Most elements of a host tensor on their way at once: bounds the memory that a cast takes beside the tensors, and
/// how long a device works without an answer.
pub(crate) const HOST_ELEMENTS: u64 = 1 << 26;
