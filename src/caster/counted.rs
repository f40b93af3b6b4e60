//! Casts whose number of elements is in a buffer.

use super::slices::Sides;
use super::{Bound, Destination, Prepared, Source};
use crate::kernel::Access;
use crate::plan::{self, ByteRange, CountedDispatch, Offsets, PlanSettings};
use crate::types::conversion::Conversion;
use crate::types::error::{BufferRange, CastFault, Error, SliceFault};
use crate::types::side::Side;

impl Prepared {
    /// As [`bind`](Self::bind), for a number of elements that the device computes, such as the length of a result of
    /// NonZero. `count` is a slice with one little-endian 32-bit number. The commands read it when they run. They cast
    /// that many elements, but at most the prepared number. The destination's bits after these elements stay as they
    /// are, also those in the same byte.
    ///
    /// The slices are those of a cast of the prepared number of elements. The first casts of this kind compile kernels
    /// of their own, unless [`warm_up_counted`](crate::Caster::warm_up_counted) did. Each dispatch has the workgroups that the
    /// prepared number needs.
    ///
    /// # Errors
    /// [`CastFault::Slice`] for an invalid `count`: it must have 4 bytes, its offset must be a multiple of 4, and its buffer
    /// needs the usage STORAGE. [`CastFault::Overlap`] if `count` is in the destination's buffer and its binding overlaps
    /// those of the tensors. An offset at least
    /// [`PlanLimits::offset_alignment`](crate::PlanLimits::offset_alignment) bytes away from them is safe. If both tensors
    /// are in that buffer, `count` must not lie between them, because one binding may cover both. [`CastFault::NoKernel`]
    /// for a cast of a view. Other errors as [`bind`](Self::bind).
    pub fn bind_counted(
        &self,
        source: Source<'_>,
        destination: Destination<'_>,
        count: wgpu::BufferSlice<'_>,
    ) -> Result<Bound, Error> {
        if self.view.is_some() {
            return Err(self.conversion.error(CastFault::NoKernel));
        }
        if self.steps.is_empty() {
            return Ok(Bound::new(Vec::new(), false, None));
        }
        let sides = Sides::new(source, destination);
        let offsets = sides.offsets(&self.conversion, [self.len, self.len], false, true)?;
        let count = Count { slice: count };
        let settings = &self.caster.settings;
        let (dispatches, word) = count.plan(&self.conversion, self.len, &sides, offsets, settings)?;
        let commands = self.commands(&sides);
        let command = |dispatch| commands.counted(dispatch, count.slice, word);
        let commands = dispatches.iter().map(command).collect::<Result<_, _>>()?;
        Ok(Bound::new(commands, offsets.in_order(&self.conversion, self.len), self.label.clone()))
    }
}

/// The slice with the number of elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count<'a> {
    pub(super) slice: wgpu::BufferSlice<'a>,
}

impl Count<'_> {
    /// The dispatches of a cast of at most `most` elements, and the range of the count's buffer that they bind.
    pub(super) fn plan(
        &self,
        conversion: &Conversion,
        most: u64,
        sides: &Sides<'_>,
        offsets: Offsets,
        settings: &PlanSettings,
    ) -> Result<(Vec<CountedDispatch>, ByteRange), Error> {
        let (offset, found) = (self.slice.offset(), self.slice.size());
        let invalid = |fault| conversion.error(CastFault::Slice { side: None, offset, fault });
        if found != 4 {
            return Err(invalid(SliceFault::Length { expected: 4, found }));
        }
        if offset % 4 != 0 {
            return Err(invalid(SliceFault::Alignment { alignment: 4 }));
        }
        if !self.slice.buffer().usage().contains(wgpu::BufferUsages::STORAGE) {
            return Err(invalid(SliceFault::MissingUsage { usage: "STORAGE" }));
        }
        let mut dispatches = plan::plan_apart(conversion, most, offsets, settings)?;
        let alignment = settings.limits.offset_alignment;
        let start = offset / alignment * alignment;
        let bound = ByteRange { offset: start, size: offset + 4 - start };
        let [source, destination] = sides.buffers();
        for dispatch in &mut dispatches {
            let written = self.slice.buffer() == destination;
            if written && dispatch.access == Access::Separate {
                dispatch.access = Access::Writable;
            }
            let reads = self.slice.buffer() == source && dispatch.access != Access::Separate;
            for (side, is_bound, tensor) in
                [(Side::Destination, written, dispatch.destination), (Side::Source, reads, dispatch.source)]
            {
                if is_bound && bound.overlaps(tensor) {
                    let range = |side, ByteRange { offset, size }| BufferRange {
                        entry: None,
                        side,
                        bytes: offset..offset + size,
                    };
                    let ranges = Box::new([range(None, bound), range(Some(side), tensor)]);
                    return Err(conversion.error(CastFault::Overlap { ranges, is_view: false }));
                }
            }
        }
        Ok((plan::counted(conversion, dispatches, settings), bound))
    }
}
