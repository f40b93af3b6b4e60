//! The two slices of a cast. They have two types, so that they cannot be swapped by accident.

use crate::plan::Position;

/// The slice that a cast reads.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a>(pub(super) Slice<'a>);

/// The slice that a cast writes.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a>(pub(super) Slice<'a>);

/// A slice, and which of its elements belong to the cast.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice<'a> {
    pub(super) slice: wgpu::BufferSlice<'a>,
    /// Elements before the first one of the cast, where the slice holds a larger tensor.
    pub(super) first: Option<u64>,
}

impl Slice<'_> {
    pub(super) fn position(&self) -> Position {
        let offset = self.slice.offset();
        self.first.map_or_else(|| Position::whole(offset), |first| Position::part(offset, first))
    }
}

impl<'a> Source<'a> {
    /// A slice with the packed bytes of the source, optionally rounded up to whole 32-bit words.
    pub fn new(slice: wgpu::BufferSlice<'a>) -> Self {
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
    pub fn new(slice: wgpu::BufferSlice<'a>) -> Self {
        Self(Slice { slice, first: None })
    }

    /// The elements from `first` on of the larger packed tensor in the slice. The slice may be longer than that tensor.
    /// All its other bits stay as they are.
    ///
    /// Elements of 2, 4 or 6 bits may start and end inside a byte, whose other elements stay as they are.
    pub fn part(slice: wgpu::BufferSlice<'a>, first: u64) -> Self {
        Self(Slice { slice, first: Some(first) })
    }
}
