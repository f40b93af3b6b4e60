//! Casts whose number of elements is in a buffer.

use super::slices::Sides;
use super::{Bound, Destination, Prepared, Source};
use crate::kernel::Access;
use crate::plan::{self, ByteRange, CountedDispatch, Offsets, PlanSettings};
use crate::types::conversion::Conversion;
use crate::types::error::Error;

impl Prepared {
    /// As [`bind`](Self::bind), for a number of elements that the device computes, such as the length of a result of
    /// NonZero. `count` is a slice with one little-endian 32-bit number. When the commands run, they read it and cast so
    /// many elements, but at most the prepared number. The destination's bits from there on stay as they are, also those
    /// in the same byte.
    ///
    /// The slices are those of a cast of the prepared number of elements. The first such casts compile kernels of their
    /// own. Each dispatch has as many workgroups as the prepared number needs.
    ///
    /// # Errors
    /// [`Error::CountSlice`] for an invalid `count`: its offset must be a multiple of 4, its buffer needs the usage
    /// STORAGE, and if that is the destination's buffer, its binding must not overlap those of the tensors. So an offset
    /// at least [`PlanLimits::offset_alignment`](crate::PlanLimits::offset_alignment) bytes away from them is safe. If
    /// both tensors are in that buffer, the count must not lie between them, because one binding may cover both.
    /// [`Error::View`] for a cast of a view; and as [`bind`](Self::bind).
    pub fn bind_counted(
        &self,
        source: Source<'_>,
        destination: Destination<'_>,
        count: wgpu::BufferSlice<'_>,
    ) -> Result<Bound, Error> {
        let (from, to) = (self.conversion.from, self.conversion.to);
        if self.view.is_some() {
            return Err(Error::View { from, to, reason: "a count needs elements that follow one another" });
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
        let (from, to, offset) = (conversion.from, conversion.to, self.slice.offset());
        let invalid = |reason| Error::CountSlice { from, to, offset, reason };
        if self.slice.size() != 4 {
            return Err(invalid("it must have 4 bytes"));
        }
        if offset % 4 != 0 {
            return Err(invalid("its offset must be a multiple of 4"));
        }
        if !self.slice.buffer().usage().contains(wgpu::BufferUsages::STORAGE) {
            return Err(invalid("its buffer lacks the usage STORAGE"));
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
            if written && bound.overlaps(dispatch.destination) || reads && bound.overlaps(dispatch.source) {
                return Err(invalid("its binding overlaps that of a tensor in the same buffer"));
            }
        }
        Ok((plan::counted(conversion, dispatches, settings), bound))
    }
}
