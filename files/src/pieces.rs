//! The pieces in which an output is made.

use std::ops::Range;

use super::plan::{FilePlan, Part};

/// The elements of tensors are divided after a multiple of as many elements, so that every piece starts at a byte on
/// both sides.
const STEP: u64 = 64;

/// A piece of an output, from one or several parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The bytes of the output.
    pub output: Range<u64>,
    pub(super) fragments: Vec<Fragment>,
}

/// What a piece has of one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fragment {
    /// The index of the part.
    pub part: usize,
    /// The bytes of the part in the output, or the elements of a cast or of codes.
    pub range: Range<u64>,
    /// The bytes in the piece.
    pub bytes: Range<usize>,
    /// The bytes of the elements in the piece's input.
    pub source: Range<usize>,
}

/// Divides an output into pieces of at most `limit` bytes, of those that are written and those that are read for casts
/// and for codes. No size overflows on either side.
pub(super) fn pieces(plan: &FilePlan, limit: u64) -> impl Iterator<Item = Piece> {
    let (mut part, mut done, mut output) = (0, 0, 0);
    std::iter::from_fn(move || {
        let mut fragments: Vec<Fragment> = Vec::new();
        let (mut written, mut read) = (0u64, 0u64);
        while let Some(current) = plan.parts.get(part) {
            let (taken, units) = take(current, done, limit.saturating_sub(written + read), fragments.is_empty());
            if taken.is_empty() && !units.is_whole {
                break;
            }
            if !taken.is_empty() {
                let place = |start: u64, bytes: u64| start as usize..(start + bytes) as usize;
                let (bytes, source) = (place(written, units.written), place(read, units.read));
                (written, read) = (written + units.written, read + units.read);
                fragments.push(Fragment { part, range: taken.clone(), bytes, source });
            }
            if units.is_whole {
                (part, done) = (part + 1, 0);
            } else {
                done = taken.end;
                break;
            }
        }
        let start = output;
        output += written;
        (!fragments.is_empty()).then_some(Piece { output: start..output, fragments })
    })
}

/// The sizes of what is taken of a part.
struct Units {
    written: u64,
    read: u64,
    /// Whether this is the last of the part.
    is_whole: bool,
}

/// What of a part fits into `room` bytes, from `done` on. Where nothing is in the piece yet, it is at least one step.
fn take(part: &Part, done: u64, room: u64, is_first: bool) -> (Range<u64>, Units) {
    match part.elements() {
        None => {
            let rest = part.bytes().unwrap_or(u64::MAX) - done;
            let bytes = rest.min(room.max(is_first.into()));
            (done..done + bytes, Units { written: bytes, read: 0, is_whole: bytes == rest })
        }
        Some(elements) => {
            let rest = elements.count - done;
            let (read, written) = elements.sizes(STEP);
            let steps = (room / (read + written)).max(is_first.into());
            let count = rest.min(steps.saturating_mul(STEP));
            let (read, written) = elements.sizes(count);
            (done..done + count, Units { written, read, is_whole: count == rest })
        }
    }
}
