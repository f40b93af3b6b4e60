//! Merges the dispatches of many casts: those of one kernel between the same buffers become one dispatch with a table
//! of parameters.

use std::collections::{HashMap, HashSet};
use zerocopy::IntoBytes;

use crate::kernel::{Access, KernelKind, Units};
use crate::plan::dispatch::{ByteRange, Dispatch};
use crate::plan::limits::PlanSettings;
use crate::plan::params::Params;
use crate::types::conversion::Conversion;

/// The most merged dispatches of one kernel that are kept open for further casts.
const OPEN: usize = 4;

/// Dispatches of several casts as one.
#[derive(Debug)]
pub(crate) struct Merged {
    pub kind: KernelKind,
    pub access: Access,
    pub source: ByteRange,
    pub destination: ByteRange,
    buffers: usize,
    pub(in crate::plan) dispatches: Vec<Dispatch>,
    pub workgroups: u32,
    elements: u64,
    /// The words of the destination's buffer in which a cast starts or ends. Other casts may have elements in these
    /// words too, but not in the same dispatch, because kernels write whole words.
    ends: HashSet<u64>,
}

/// A dispatch that stays as it is, or several that became one.
#[derive(Debug)]
pub(crate) enum Merge {
    Single(usize, Dispatch),
    Merged(Merged),
}

/// Merges the dispatches of casts of one conversion that do not depend on each other. Each dispatch comes with a number
/// for its buffers, and whether it is one of several that must keep their order. Those that must are not merged.
pub(crate) fn merge(
    conversion: &Conversion,
    dispatches: impl IntoIterator<Item = (usize, bool, Dispatch)>,
    settings: &PlanSettings,
) -> Vec<Merge> {
    let mut merged: Vec<Merge> = Vec::new();
    let mut open: HashMap<(usize, KernelKind, Access), Vec<usize>> = HashMap::new();
    for (buffers, ordered, dispatch) in dispatches {
        let mergeable = !ordered && dispatch.kind.is_merged();
        if !mergeable || dispatch.workgroups[1] != 1 {
            merged.push(Merge::Single(buffers, dispatch));
            continue;
        }
        let places = open.entry((buffers, dispatch.kind, dispatch.access)).or_default();
        let (ends, elements) = (dispatch.end_words(), dispatch.elements(conversion, settings));
        let place = places.iter().position(|&place| match &mut merged[place] {
            Merge::Merged(group) => group.add(&dispatch, ends, elements, settings),
            Merge::Single(..) => false,
        });
        if place.is_none() {
            if places.len() == OPEN {
                places.remove(0);
            }
            places.push(merged.len());
            merged.push(Merge::Merged(Merged::new(buffers, dispatch, ends, elements)));
        }
    }
    merged.into_iter().map(Merge::without_table).collect()
}

impl Merge {
    /// The number that the caller gave to the buffers.
    pub(crate) fn buffers(&self) -> usize {
        match self {
            Merge::Single(buffers, _) => *buffers,
            Merge::Merged(group) => group.buffers,
        }
    }

    /// A group of one dispatch as a single dispatch, which needs no table.
    fn without_table(self) -> Self {
        match self {
            Merge::Merged(mut group) if group.dispatches.len() == 1 => {
                Merge::Single(group.buffers, group.dispatches.remove(0))
            }
            merge => merge,
        }
    }
}

impl Dispatch {
    fn elements(&self, conversion: &Conversion, settings: &PlanSettings) -> u64 {
        let unit = match self.kind {
            KernelKind::Blocks | KernelKind::Shifted => {
                Units::new(conversion, self.kind, self.access, settings.tuning.lookup).elements
            }
            _ => 1,
        };
        u64::from(self.params.count) * u64::from(unit)
    }

    /// The first and the last word of the destination's buffer that a dispatch of any range may write in part.
    fn end_words(&self) -> Option<[u64; 2]> {
        let first = self.destination.offset / 4 + u64::from(self.params.destination_word);
        let last = first + u64::from(self.params.destination_end.div_ceil(32)).max(1) - 1;
        (self.kind == KernelKind::Edge && self.params.destination_end != 0).then_some([first, last])
    }
}

impl Merged {
    fn new(buffers: usize, dispatch: Dispatch, ends: Option<[u64; 2]>, elements: u64) -> Self {
        let Dispatch { kind, access, source, destination, workgroups, .. } = dispatch;
        let ends = ends.into_iter().flatten().collect();
        let (dispatches, workgroups) = (vec![dispatch], workgroups[0]);
        Self { kind, access, source, destination, buffers, dispatches, workgroups, elements, ends }
    }

    /// Adds a dispatch if one binding on each side still holds all dispatches.
    fn add(
        &mut self,
        dispatch: &Dispatch,
        ends: Option<[u64; 2]>,
        elements: u64,
        PlanSettings { limits, tuning }: &PlanSettings,
    ) -> bool {
        let source = self.source.over(dispatch.source);
        let destination = self.destination.over(dispatch.destination);
        let workgroups = self.workgroups.saturating_add(dispatch.workgroups[0]);
        // Browsers refuse two writable bindings that overlap.
        let overlap = source.overlaps(destination);
        let fits = source.size.max(destination.size) <= limits.binding_size
            && workgroups <= limits.workgroups
            && self.elements + elements <= tuning.dispatch_elements
            && !(self.access == Access::Writable && overlap)
            && !ends.iter().flatten().any(|word| self.ends.contains(word));
        if fits {
            (self.source, self.destination, self.workgroups) = (source, destination, workgroups);
            self.elements += elements;
            self.ends.extend(ends.into_iter().flatten());
            self.dispatches.push(dispatch.clone());
        }
        fits
    }

    /// The parameters of each cast. Their `pitch` is the number of the cast's first workgroup.
    fn parameters(&self) -> Vec<Params> {
        let mut first = 0;
        let moved = |dispatch: &Dispatch| {
            // Bindings are at most 4 GiB, so words within them are counted in 32 bits.
            let source = ((dispatch.source.offset - self.source.offset) / 4) as u32;
            let destination = ((dispatch.destination.offset - self.destination.offset) / 4) as u32;
            let mut params = dispatch.params;
            params.source_word += source;
            params.source_last += source;
            params.destination_word += destination;
            params.pitch = first;
            first += dispatch.workgroups[0];
            params
        };
        self.dispatches.iter().map(moved).collect()
    }

    /// The index of the cast that each workgroup works on.
    fn cast_of_workgroup(&self) -> impl Iterator<Item = u32> {
        let numbered = (0u32..).zip(&self.dispatches);
        numbered.flat_map(|(cast, dispatch)| std::iter::repeat_n(cast, dispatch.workgroups[0] as usize))
    }

    /// The bytes of a buffer with the parameters and the casts of the workgroups, and the two ranges. Each starts at a
    /// multiple of the alignment.
    pub(crate) fn table(&self, alignment: u64) -> (Vec<u8>, [ByteRange; 2]) {
        let range = |offset: u64, bytes: &[u8]| ByteRange { offset, size: bytes.len() as u64 };
        let (parameters, casts) = (self.parameters(), self.cast_of_workgroup().collect::<Vec<_>>());
        let mut bytes = parameters.as_bytes().to_vec();
        let first = range(0, &bytes);
        bytes.resize(bytes.len().next_multiple_of(alignment as usize), 0);
        let second = range(bytes.len() as u64, casts.as_bytes());
        bytes.extend_from_slice(casts.as_bytes());
        (bytes, [first, second])
    }
}
