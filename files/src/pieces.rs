//! The pieces in which an output is made.

use std::ops::Range;

use super::plan::{FilePlan, Part, STEP};

/// A piece of an output, from one or several parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where the piece lies in the output, in bytes.
    pub output: Range<u64>,
    pub(super) fragments: Vec<Fragment>,
}

/// What a piece contains of one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fragment {
    /// The index of the part.
    pub part: usize,
    /// A range of the part: of its elements for a cast or for codes, of its bytes otherwise.
    pub range: Range<u64>,
    /// Where the fragment lies in the piece, in bytes.
    pub bytes: Range<usize>,
    /// Where the elements lie in the buffer of what is read for the piece, in bytes.
    pub source: Range<usize>,
}

/// Divides an output into pieces. The bytes that a piece writes, those that it reads for casts and for codes, and the
/// memory for their scales are at most `limit` together, unless a single step takes more. The caller has checked that no
/// size overflows.
pub(super) fn pieces(plan: &FilePlan, limit: u64) -> impl Iterator<Item = Piece> {
    let (mut part, mut done, mut output) = (0, 0, 0);
    std::iter::from_fn(move || {
        let mut fragments: Vec<Fragment> = Vec::new();
        let (mut written, mut read, mut scales) = (0u64, 0u64, 0u64);
        while let Some(current) = plan.parts.get(part) {
            let room = limit.saturating_sub((written + read).saturating_add(scales));
            let (taken, units) = take(current, done, room, fragments.is_empty());
            if taken.is_empty() && !units.is_whole {
                break;
            }
            if !taken.is_empty() {
                let place = |start: u64, bytes: u64| start as usize..(start + bytes) as usize;
                let (bytes, source) = (place(written, units.written), place(read, units.read));
                (written, read) = (written + units.written, read + units.read);
                scales = scales.saturating_add(units.scales);
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

/// The size in bytes of what is taken from a part.
struct Units {
    written: u64,
    read: u64,
    /// The memory for scales.
    scales: u64,
    /// Whether the part ends here.
    is_whole: bool,
}

/// What fits into `room` bytes of a part from `done` on. The first fragment of a piece (`is_first`) has at least one
/// step or byte, so that every piece makes progress.
fn take(part: &Part, done: u64, room: u64, is_first: bool) -> (Range<u64>, Units) {
    match part.elements() {
        None => {
            let rest = part.bytes().unwrap_or(u64::MAX) - done;
            let bytes = rest.min(room.max(is_first.into()));
            (done..done + bytes, Units { written: bytes, read: 0, scales: 0, is_whole: bytes == rest })
        }
        Some(elements) => {
            let rest = elements.count - done;
            let (read, written) = elements.sizes(STEP);
            let steps = (room / read.saturating_add(written).saturating_add(elements.scales)).max(is_first.into());
            let count = rest.min(steps.saturating_mul(STEP));
            let (read, written) = elements.sizes(count);
            let scales = elements.scales.saturating_mul(count.div_ceil(STEP));
            (done..done + count, Units { written, read, scales, is_whole: count == rest })
        }
    }
}
