//! Where the two tensors of a cast lie. Each side has a type of its own, so that the sides cannot be swapped by
//! accident.

use crate::plan::{Offsets, Placement, PlannedSlice, Position};
use crate::types::conversion::Conversion;
use crate::types::error::Error;
use crate::types::side::Side;

/// The tensor that a cast reads: a whole tensor in a slice of a buffer, or a part of a larger tensor. [`Position`] has
/// the same meaning for plans, which know no buffers.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a>(pub(super) Slice<'a>);

/// The tensor that a cast writes: a whole tensor in a slice of a buffer, or a part of a larger tensor. [`Position`] has
/// the same meaning for plans, which know no buffers.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a>(pub(super) Slice<'a>);

/// A slice, and which of its elements belong to the cast.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice<'a> {
    pub(super) slice: wgpu::BufferSlice<'a>,
    /// The number of elements before the first one of the cast, if the slice holds a larger tensor.
    pub(super) first: Option<u64>,
}

impl Slice<'_> {
    pub(super) fn position(&self) -> Position {
        let offset = self.slice.offset();
        self.first.map_or_else(|| Position::whole(offset), |first| Position::part(offset, first))
    }

    /// Checks that a slice holds `len` elements and lies in its buffer.
    fn check(&self, conversion: &Conversion, side: Side, len: u64, sentinel: bool) -> Result<(), Error> {
        let buffer = self.slice.buffer();
        let slice = PlannedSlice {
            position: self.position(),
            size: self.slice.size(),
            buffer_size: buffer.size(),
            has_storage: buffer.usage().contains(wgpu::BufferUsages::STORAGE),
        };
        slice.check_with(conversion, side, len, if sentinel { 4 } else { 0 })
    }
}

/// Both slices of a cast.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sides<'a> {
    pub source: Slice<'a>,
    pub destination: Slice<'a>,
}

impl<'a> Sides<'a> {
    pub(super) fn new(source: Source<'a>, destination: Destination<'a>) -> Self {
        Self { source: source.0, destination: destination.0 }
    }

    pub(super) fn buffers(&self) -> [&'a wgpu::Buffer; 2] {
        [self.source.slice.buffer(), self.destination.slice.buffer()]
    }

    /// Where the slices start, in bytes.
    pub(super) fn starts(&self) -> [u64; 2] {
        [self.source.slice.offset(), self.destination.slice.offset()]
    }

    /// Checks the slices for their numbers of elements, and for a sentinel after the destination. `in_place` says
    /// whether the tensors may overlap.
    pub(super) fn offsets(
        &self,
        conversion: &Conversion,
        [source_len, destination_len]: [u64; 2],
        sentinel: bool,
        in_place: bool,
    ) -> Result<Offsets, Error> {
        self.source.check(conversion, Side::Source, source_len, false)?;
        self.destination.check(conversion, Side::Destination, destination_len, sentinel)?;
        let [source, destination] = self.buffers();
        let placement = Placement {
            source: self.source.position(),
            destination: self.destination.position(),
            one_buffer: source == destination,
            writable: false,
        };
        // The slices lie in their buffers, so the limits of the plan do not matter here.
        placement.offsets(conversion, [source_len, destination_len], in_place, u64::MAX)
    }
}

impl<'a> Source<'a> {
    /// A slice with the packed bytes of the source, optionally rounded up to whole 32-bit words. For a longer slice,
    /// such as one of an allocator that rounds sizes up, use `Source::part(slice, 0)`.
    pub fn whole(slice: wgpu::BufferSlice<'a>) -> Self {
        Self(Slice { slice, first: None })
    }

    /// The elements from `first` on of the larger packed tensor in the slice. The slice may be longer than that tensor.
    ///
    /// Elements of 2, 4 or 6 bits may start and end inside a byte.
    pub fn part(slice: wgpu::BufferSlice<'a>, first: u64) -> Self {
        Self(Slice { slice, first: Some(first) })
    }
}

impl<'a> Destination<'a> {
    /// A slice for the packed bytes of the destination, optionally rounded up to whole 32-bit words. Unused bits of the
    /// tensor's last byte become zero.
    ///
    /// For a longer slice, such as one of an allocator that rounds sizes up, use `Destination::part(slice, 0)`. Then
    /// those bits stay as they are.
    pub fn whole(slice: wgpu::BufferSlice<'a>) -> Self {
        Self(Slice { slice, first: None })
    }

    /// The elements from `first` on of the larger packed tensor in the slice. The slice may be longer than that tensor.
    /// All its other bits stay as they are.
    ///
    /// Elements of 2, 4 or 6 bits may start and end inside a byte; the other elements in that byte stay as they are.
    pub fn part(slice: wgpu::BufferSlice<'a>, first: u64) -> Self {
        Self(Slice { slice, first: Some(first) })
    }
}
