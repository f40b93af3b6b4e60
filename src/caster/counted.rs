//! Casts whose number of elements is in a buffer.

use super::slices::Sides;
use super::{Bound, Destination, Prepared, Source};
use crate::error::Error;
use crate::kernel::Access;
use crate::plan::{self, ByteRange};

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
    /// STORAGE, and if that is the destination's buffer, its binding must not overlap those of the tensors, so an offset
    /// at least [`PlanLimits::offset_alignment`](crate::PlanLimits::offset_alignment) bytes away from them is safe.
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
        let offset = count.offset();
        let invalid = |reason| Error::CountSlice { from, to, offset, reason };
        if count.size() != 4 {
            return Err(invalid("it must have 4 bytes"));
        }
        if offset % 4 != 0 {
            return Err(invalid("its offset must be a multiple of 4"));
        }
        if !count.buffer().usage().contains(wgpu::BufferUsages::STORAGE) {
            return Err(invalid("its buffer lacks the usage STORAGE"));
        }
        let settings = &self.caster.settings;
        let mut dispatches = plan::plan(&self.conversion, self.len, offsets, settings, None)?;
        let alignment = settings.limits.offset_alignment;
        let start = offset / alignment * alignment;
        let bound = ByteRange { offset: start, size: offset + 4 - start };
        let [source, destination] = sides.buffers();
        for dispatch in &mut dispatches {
            let written = count.buffer() == destination;
            if written && dispatch.access == Access::Separate {
                dispatch.access = Access::Writable;
            }
            let reads = count.buffer() == source && dispatch.access != Access::Separate;
            if written && bound.overlaps(dispatch.destination) || reads && bound.overlaps(dispatch.source) {
                return Err(invalid("its binding overlaps that of a tensor in the same buffer"));
            }
        }
        let commands = self.commands(&sides);
        let counted = plan::counted(&self.conversion, dispatches, settings);
        let command = |dispatch| commands.counted(dispatch, count, bound);
        let commands = counted.iter().map(command).collect::<Result<_, _>>()?;
        Ok(Bound::new(commands, offsets.in_order(&self.conversion, self.len), self.label.clone()))
    }
}
