//! Ranges of one buffer that overlap.

use std::fmt;
use std::ops::Range;

use crate::types::side::Side;

/// Bytes of a buffer that a cast reads or writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct BufferRange {
    /// Index of the cast in a list of casts, if casts of the list overlap.
    pub entry: Option<usize>,
    /// The tensor with these bytes; `None` if they hold the number of elements.
    pub side: Option<Side>,
    /// The bytes; for a view, from the lowest to the highest. If one of the two ranges holds a number of elements,
    /// these are the bytes that are bound.
    pub bytes: Range<u64>,
}

impl fmt::Display for BufferRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.side {
            Some(side) => write!(f, "the {side}")?,
            None => f.write_str("the count")?,
        }
        if let Some(entry) = self.entry {
            write!(f, " of entry {entry}")?;
        }
        write!(f, " at bytes {}..{}", self.bytes.start, self.bytes.end)
    }
}

/// The text of an overlap, and what is allowed instead.
pub(super) struct OverlapText<'a> {
    pub ranges: &'a [BufferRange; 2],
    pub is_view: bool,
}

impl fmt::Display for OverlapText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, other] = self.ranges;
        if one.entry.is_none() && [one, other].iter().any(|range| range.side.is_none()) {
            return write!(
                f,
                "the bindings of {one} and {other} of one buffer overlap; a binding starts at the device's alignment, and \
                 one over both tensors has all that lies between them"
            );
        }
        let allowed = match one.entry {
            Some(_) => "the casts of a list run in no order",
            None if self.is_view => "source and destination of a view must be apart",
            None => "tensors of types of the same width must start at the same bit, or be apart",
        };
        write!(f, "{one} and {other} of one buffer overlap; {allowed}")
    }
}
