//! Slices of buffers that hold the tensors of a cast.

use super::placement::Position;
use crate::types::conversion::Conversion;
use crate::types::error::{CastFault, Error, SliceFault};
use crate::types::side::Side;
use crate::types::spec::CastSpec;

/// The slice of a buffer that holds a tensor of a cast, in numbers: what an engine that makes its own bind groups knows
/// of it.
///
/// [`check`](Self::check) tells before any work what [`Prepared::bind`](crate::Prepared::bind) would refuse.
/// [`Plan`](crate::Plan) checks how the slice starts, and whether two slices of one buffer overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlannedSlice {
    /// Where the tensor lies in the buffer. Its offset is the start of the slice.
    pub position: Position,
    /// Bytes of the slice.
    pub size: u64,
    /// Bytes of the buffer.
    pub buffer_size: u64,
    /// Whether the buffer has the usage STORAGE.
    pub has_storage: bool,
}

impl PlannedSlice {
    /// Checks that the slice holds `len` elements of one side of a cast and that its last word lies in its buffer. For a
    /// view, `len` is one of [`View::extents`](crate::View::extents).
    ///
    /// ```
    /// use wgpu_cast::{CastSpec, ElementType, PlannedSlice, Position, Side};
    ///
    /// let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
    /// let slice = PlannedSlice { position: Position::whole(256), size: 12, buffer_size: 264, has_storage: true };
    /// let error = slice.check(&spec, Side::Source, 3).unwrap_err().to_string();
    /// assert!(error.ends_with("end at byte 268 (in whole 32-bit words), but the buffer has 264 bytes"), "{error}");
    /// ```
    ///
    /// # Errors
    /// [`CastFault::Slice`](crate::CastFault::Slice), and [`CastFault::NoKernel`](crate::CastFault::NoKernel) if
    /// [`has_kernel`](crate::has_kernel) is false.
    pub fn check(&self, spec: &CastSpec, side: Side, len: u64) -> Result<(), Error> {
        self.check_with(&Conversion::new(spec.from, spec.to, &spec.options)?, side, len, 0)
    }

    /// As [`check`](Self::check), for a tensor that is followed by `further` bytes in whole words.
    pub(crate) fn check_with(&self, conversion: &Conversion, side: Side, len: u64, further: u64) -> Result<(), Error> {
        let Position { offset, first } = self.position;
        let element_type = if side == Side::Source { conversion.from } else { conversion.to };
        let elements = first.unwrap_or(0).checked_add(len);
        // No slice has a size that overflows.
        let sizes = elements.and_then(|elements| element_type.packed_bytes(elements)).and_then(|bytes| {
            let words = bytes.checked_next_multiple_of(4)?.checked_add(further)?;
            Some([bytes, words])
        });
        let ([expected, words], found) = (sizes.unwrap_or([u64::MAX; 2]), self.size);
        let invalid = |fault| conversion.error(CastFault::Slice { side: Some(side), offset, fault });
        let fits =
            sizes.is_some() && if first.is_some() { found >= expected } else { found == expected || found == words };
        if !fits {
            return Err(invalid(SliceFault::Length { expected, found }));
        }
        // The last word of the slice may reach beyond the buffer's end.
        let end = offset.saturating_add(expected).checked_next_multiple_of(4).unwrap_or(u64::MAX);
        let (end, size) = (end.saturating_add(further), self.buffer_size);
        if end > size {
            return Err(invalid(SliceFault::OutOfRange { end, size }));
        }
        if !self.has_storage {
            return Err(invalid(SliceFault::MissingUsage { usage: "STORAGE" }));
        }
        Ok(())
    }
}
