//! The plan of a cast on a device: its dispatches and their byte ranges, as data. Planning needs no device.

mod shape;
#[cfg(test)]
mod tests;
mod view;

pub(crate) use view::{View, plan_view};

use crate::conversion::Conversion;
use crate::error::Error;
use crate::kernel::{Access, Kind, VIEW_RANK};
use shape::{Shape, crosses_words, wide_units_suit};

/// The limits of dispatches. [`Caster::new`](crate::Caster::new) uses those of the device;
/// [`Caster::with_limits`](crate::Caster::with_limits) accepts smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanLimits {
    /// The maximum size of a storage binding, in bytes.
    pub binding_size: u64,
    /// The maximum size of a buffer, in bytes. Larger host tensors are cast in chunks.
    pub buffer_size: u64,
    /// The alignment of a binding's start, in bytes.
    pub offset_alignment: u64,
    /// The maximum number of workgroups in one dimension of a dispatch.
    pub workgroups: u32,
    /// The maximum number of elements per dispatch, for drivers that stop long dispatches. Rounded down as alignment
    /// requires.
    pub dispatch_elements: u64,
    /// The number of elements from which the main kernel is used; smaller tensors use only the edge kernel, which saves
    /// the compilation of the main kernel. `None` means the elements of one workgroup.
    pub blocks_from: Option<u64>,
    /// Whether sources of at most 8 bits are looked up in a table in workgroup memory. This is faster on GPUs and
    /// slower on software adapters.
    pub tables: bool,
}

impl Default for PlanLimits {
    /// The default limits of WebGPU, which every WebGPU device supports.
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
pub(crate) struct Bytes {
    pub offset: u64,
    pub size: u64,
}

/// Where source and destination start, in bytes of their buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    pub source: u64,
    pub destination: u64,
    /// Both lie in one buffer: apart, or at the same place with codes of the same width.
    pub one_buffer: bool,
}

/// The positions of the slices of future casts, for [`Caster::warm_up`](crate::Caster::warm_up) and
/// [`Caster::self_test`](crate::Caster::self_test). Each variant includes the variants before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slices {
    /// In two buffers, each starting at the device's `min_storage_buffer_offset_alignment`.
    #[default]
    Aligned,
    /// In two buffers, starting at any element.
    Anywhere,
    /// In one buffer or in two, starting at any element.
    OneBuffer,
    /// As `OneBuffer`; the source may also be a strided view.
    Views,
}

/// The kernels that casts of any length may take.
pub(crate) fn kernels(conversion: &Conversion, slices: Slices) -> impl Iterator<Item = (Kind, Access)> {
    let [from, to] = [conversion.from, conversion.to].map(|t| u64::from(t.code_bits()));
    let needed = move |kind: &Kind, access: Access| match (kind, access) {
        (Kind::Serial, Access::Shared) => from == to && crosses_words(to),
        (Kind::Serial, _) => false,
        (Kind::Blocks, Access::Shared) => wide_units_suit(from, to),
        (Kind::Shifted, _) => slices >= Slices::Anywhere,
        (Kind::Strided, _) => slices >= Slices::Views && from >= 8,
        _ => true,
    };
    // Two ranges of one buffer that are too far apart for one binding are compiled for when they are met.
    let accesses: &[Access] = match slices {
        Slices::Aligned | Slices::Anywhere => &[Access::Separate],
        Slices::OneBuffer | Slices::Views => &[Access::Separate, Access::Shared],
    };
    let kinds = [Kind::Blocks, Kind::Shifted, Kind::Edge, Kind::Serial, Kind::Strided];
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
    pub kind: Kind,
    pub access: Access,
    pub source: Bytes,
    pub destination: Bytes,
    pub params: Params,
    pub workgroups: [u32; 2],
}

/// The dispatches that cast `elements` from one place to another. With a sentinel, which is not for one buffer, the last
/// dispatch writes it to the word after the destination's last.
pub(crate) fn plan(
    conversion: &Conversion,
    elements: u64,
    places: Places,
    limits: &PlanLimits,
    sentinel: Option<u32>,
) -> Result<Vec<Dispatch>, Error> {
    let mut dispatches = Vec::new();
    if elements == 0 {
        return Ok(dispatches);
    }
    let shape = Shape::new(conversion, places, limits);
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
    let shape = Shape::new(conversion, Places::default(), limits);
    // The destination holds the sentinel as well.
    let buffer = limits.buffer_size.saturating_sub(8);
    shape.fit(buffer, "max_buffer_size").map(|most| shape.fit(bytes, "").unwrap_or(shape.step).min(most))
}

/// Most elements of a host tensor on their way at once: bounds the memory that a cast takes beside the tensors, and
/// how long a device works without an answer.
pub(crate) const HOST_ELEMENTS: u64 = 1 << 26;
