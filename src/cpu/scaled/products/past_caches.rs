//! Stores products past the caches.

use zerocopy::{FromBytes, IntoBytes};

use crate::cpu::lanes::Lanes;
use crate::cpu::non_temporal::{LINE, Line};

/// The bytes of results that are made before their lines are stored.
pub(super) const BATCH: usize = 2048;

/// Fills `destination` in batches of [`BATCH`] bytes. `make` makes the batch of a number. The caller holds a fence.
pub(super) fn fill<L: Lanes>(l: L, destination: &mut [u8], mut make: impl FnMut(usize, &mut [u8])) {
    // The results lie in their lines as in those of the destination. One line more is for the end of the batch before.
    let mut lines = [Line::ZERO; BATCH / LINE + 1];
    let (mut start, mut stored) = (destination.as_ptr().addr() % LINE, 0);
    let mut end = start;
    for batch in 0..destination.len().div_ceil(BATCH) {
        let count = BATCH.min(destination.len() - batch * BATCH);
        let results = lines.as_mut_bytes();
        make(batch, &mut results[end..end + count]);
        end += count;
        if start > 0 {
            // The first line is not all of the destination's.
            let first = LINE.min(end);
            destination[..first - start].copy_from_slice(&results[start..first]);
            (start, stored) = (first, first - start);
        }
        let whole = (end - start) / LINE;
        let [first, rest] = [start / LINE, start / LINE + whole];
        if let Ok(places) = <[Line]>::mut_from_bytes(&mut destination[stored..][..whole * LINE]) {
            l.run(
                #[inline(always)]
                || l.store_past_caches(&lines[first..rest], places),
            );
        }
        stored += whole * LINE;
        lines[0] = lines[rest];
        (start, end) = (0, end - start - whole * LINE);
    }
    destination[stored..].copy_from_slice(&lines.as_bytes()[..end]);
}
