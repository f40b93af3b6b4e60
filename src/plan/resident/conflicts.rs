//! Finds casts of a list that depend on each other: one writes what another one reads or writes.

use super::places::Places;
use crate::types::side::Side;

/// What an entry of a list of casts reads or writes in a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub entry: usize,
    /// The side of the cast; `None` for the number of elements.
    pub side: Option<Side>,
    pub places: Places,
}

impl Use {
    fn writes(&self) -> bool {
        self.side == Some(Side::Destination)
    }
}

/// Finds two uses of one buffer by different entries that conflict: the first one writes a bit of the other. In the
/// order of the buffer, they are the first such pair. The uses are sorted.
///
/// For n uses the time is proportional to n log n. Views that interleave add time for each pair of them.
pub(crate) fn conflict(uses: &mut [Use]) -> Option<[&Use; 2]> {
    if !uses.iter().any(Use::writes) {
        return None;
    }
    uses.sort_unstable_by_key(|found| {
        (found.places.start(), found.entry, found.side.map_or(u8::MAX, |side| side as u8))
    });
    let (mut read, mut written): (Vec<&Use>, Vec<&Use>) = (Vec::new(), Vec::new());
    for found in &*uses {
        let reaches = |before: &&Use| before.places.end() > found.places.start();
        let meets = |before: &&&Use| before.entry != found.entry && before.places.meet(&found.places);
        written.retain(reaches);
        if let Some(before) = written.iter().find(meets) {
            return Some(if found.writes() && found.entry < before.entry { [found, before] } else { [before, found] });
        }
        if found.writes() {
            read.retain(reaches);
            if let Some(before) = read.iter().find(meets) {
                return Some([found, before]);
            }
            written.push(found);
        } else {
            read.push(found);
        }
    }
    None
}
