//! What is wrong with a slice of a buffer.

use std::fmt;

use super::text::counted;
use crate::types::element::ElementType;
use crate::types::side::Side;

/// What is wrong with a slice of a cast, or with its buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SliceFault {
    /// The slice does not start at a multiple of its element's size. The slice with the number of elements must start
    /// at a multiple of 4.
    #[non_exhaustive]
    Alignment {
        /// The multiple at which the slice must start, in bytes.
        alignment: u64,
    },
    /// The length of the slice is not that of the cast's elements. [`Source::part`](crate::Source::part) and
    /// [`Destination::part`](crate::Destination::part) take longer slices. The slice with the number of elements must have
    /// 4 bytes.
    #[non_exhaustive]
    Length {
        /// Bytes that the elements need. For a part of a larger tensor, the elements before the part count too. For a
        /// view, the bytes from the lowest to the highest element. `u64::MAX` if they do not fit in 64 bits.
        expected: u64,
        /// Bytes of the slice.
        found: u64,
    },
    /// The elements of the slice, rounded up to whole 32-bit words, end beyond the buffer.
    #[non_exhaustive]
    OutOfRange {
        /// End, in bytes, of the last 32-bit word that holds elements.
        end: u64,
        /// Size of the buffer in bytes.
        size: u64,
    },
    /// The buffer lacks a usage that the cast needs.
    #[non_exhaustive]
    MissingUsage {
        /// The missing usage.
        usage: &'static str,
    },
    /// The buffer belongs to another device than the caster. wgpu does not report buffers of another `Instance` in this
    /// way.
    ForeignBuffer,
    /// The buffer was destroyed before it was bound.
    DestroyedBuffer,
}

/// The text of a fault of a slice in a cast to `to`.
pub(super) struct SliceText<'a> {
    pub to: ElementType,
    pub side: Option<Side>,
    pub offset: u64,
    pub fault: &'a SliceFault,
}

impl fmt::Display for SliceText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = self.offset;
        let Some(side) = self.side else {
            write!(f, "invalid slice of the count at byte {offset}: ")?;
            return self.of_count(f);
        };
        match self.fault {
            SliceFault::Alignment { alignment } => {
                write!(f, "the {side} slice starts at byte {offset}, which is not a multiple of {alignment}")
            }
            SliceFault::Length { expected, found } => {
                let (bytes, longer) = (counted(*expected, "byte"), longer(side, self.to, expected < found));
                write!(f, "the {side} slice needs {bytes} to hold the cast's elements, got {found}{longer}")
            }
            SliceFault::OutOfRange { end, size } => write!(
                f,
                "the elements in the {side} slice at byte {offset} end at byte {end} (in whole 32-bit words), but the \
                 buffer has {size} bytes"
            ),
            SliceFault::MissingUsage { usage } => write!(f, "the {side} buffer lacks the usage {usage}"),
            SliceFault::ForeignBuffer => write!(f, "the {side} buffer belongs to another device than the caster"),
            SliceFault::DestroyedBuffer => write!(f, "the {side} buffer was destroyed"),
        }
    }
}

impl SliceText<'_> {
    /// What is wrong with the slice that holds the number of elements.
    fn of_count(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fault {
            SliceFault::Alignment { alignment } => write!(f, "its offset must be a multiple of {alignment}"),
            SliceFault::Length { expected, .. } => write!(f, "it must have {}", counted(*expected, "byte")),
            SliceFault::OutOfRange { end, size } => {
                write!(f, "it ends at byte {end}, but its buffer has {size} bytes")
            }
            SliceFault::MissingUsage { usage } => write!(f, "its buffer lacks the usage {usage}"),
            SliceFault::ForeignBuffer => f.write_str("its buffer belongs to another device than the caster"),
            SliceFault::DestroyedBuffer => f.write_str("its buffer was destroyed"),
        }
    }
}

/// Says how to give a slice that is longer than its elements, and what is different then.
fn longer(side: Side, to: ElementType, is_longer: bool) -> &'static str {
    match side {
        _ if !is_longer => "",
        Side::Source => "; a longer slice is given as Source::part(slice, 0)",
        Side::Destination if to.bits().is_some_and(|bits| bits < 8) => {
            "; a longer slice is given as Destination::part(slice, 0), which keeps the unused bits of the last byte \
             instead of zeroing them"
        }
        Side::Destination => "; a longer slice is given as Destination::part(slice, 0)",
    }
}
