//! Casts between tensors that share memory and whose codes differ in width.
//!
//! Such a cast takes the elements in ranges. By the order of the ranges, no result overwrites a code that is still to
//! be read. The results of a range do not touch the codes of that range either. So each range is an ordinary cast
//! between two parts of one buffer.
//!
//! Take a narrowing whose destination starts at the source's first bit, and let r be the ratio of the two widths. The
//! results of the first r·n elements fill the memory of the codes of the first n elements. So when the first n elements
//! are done, the elements from n to r·n can be cast at once. The ranges grow, and their number grows with the logarithm
//! of the tensor's length.
//!
//! If both tensors were endless, there would be one element at which both start at the same bit. Before it, the results
//! lie on one side of their codes; after it, on the other. A narrowing goes from there to both ends, a widening from
//! both ends to there. The elements around it have no such range. One workgroup casts them: it reads all codes before
//! it writes.

use super::dense::{Dense, Ends};
use super::dispatch::{Dispatch, Offsets};
use super::limits::PlanSettings;
use super::limits::check_dispatches;
use super::measures::Measures;
use crate::kernel::{Access, BLOCKS_SIZE, KernelKind};
use crate::types::conversion::Conversion;
use crate::types::error::{CastFault, Error};

/// Plans the ranges in their order.
pub(super) fn plan_in_order(
    conversion: &Conversion,
    elements: u64,
    offsets: Offsets,
    settings: &PlanSettings,
    ends: Ends,
) -> Result<Vec<Dispatch>, Error> {
    let ranges = Ranges::new(conversion, elements, offsets, settings);
    let (mut parts, mut needed) = (Vec::new(), 0u64);
    for Range { start, end, apart } in ranges.in_order() {
        let place = Offsets {
            source: offsets.source + start * ranges.source_bits,
            destination: offsets.destination + start * ranges.destination_bits,
            one_buffer: true,
            writable: false,
            keeps_rest: offsets.keeps_rest || end < elements,
        };
        let part = match apart {
            true => Part::Apart(Dense::new(conversion, end - start, place, settings, None, ends)?),
            false => Part::Together(together(conversion, end - start, place, settings)?),
        };
        needed = needed.saturating_add(part.len());
        parts.push((start, part));
    }
    check_dispatches(conversion, needed)?;
    let mut dispatches = Vec::new();
    for (start, part) in parts {
        let planned = part.dispatches()?.into_iter();
        dispatches.extend(planned.map(|dispatch| Dispatch { first: dispatch.first + start, ..dispatch }));
    }
    Ok(dispatches)
}

/// The dispatches of a range.
enum Part<'a> {
    Apart(Dense<'a>),
    Together(Dispatch),
}

impl Part<'_> {
    fn len(&self) -> u64 {
        match self {
            Part::Apart(cast) => cast.len(),
            Part::Together(_) => 1,
        }
    }

    fn dispatches(self) -> Result<Vec<Dispatch>, Error> {
        match self {
            Part::Apart(cast) => cast.dispatches(),
            Part::Together(dispatch) => Ok(vec![dispatch]),
        }
    }
}

/// Elements that are cast together.
struct Range {
    start: u64,
    end: u64,
    /// Whether the results of the range do not touch its codes. Otherwise one workgroup casts the range.
    apart: bool,
}

struct Ranges {
    elements: u64,
    offsets: Offsets,
    source_bits: u64,
    destination_bits: u64,
    /// Elements before the destination is at a multiple of 16 bytes. It is so again after every 64 elements.
    head: u64,
    /// The most elements that one workgroup casts.
    together: u64,
}

impl Ranges {
    fn new(conversion: &Conversion, elements: u64, offsets: Offsets, settings: &PlanSettings) -> Self {
        let measures = Measures::new(conversion, offsets, settings);
        let (source_bits, destination_bits) = (measures.source_bits, measures.destination_bits);
        // An invocation writes a word, or an element of at least a word. Of the first word, it may write only a part.
        let size = u64::from(BLOCKS_SIZE);
        let together = if destination_bits < 32 { (32 * size - 31) / destination_bits } else { size };
        Self { elements, offsets, source_bits, destination_bits, head: measures.head(), together }
    }

    /// All ranges, in the order in which they are cast.
    fn in_order(&self) -> Vec<Range> {
        let [low, high] = self.middle();
        let middle = (low < high).then_some(Range { start: low, end: high, apart: false });
        let (mut upwards, mut downwards) = (Vec::new(), Vec::new());
        if self.source_bits > self.destination_bits {
            self.ascending(high, self.elements, &mut upwards);
            self.descending(0, low, &mut downwards);
            middle.into_iter().chain(upwards).chain(downwards).collect()
        } else {
            self.ascending(0, low, &mut upwards);
            self.descending(high, self.elements, &mut downwards);
            upwards.into_iter().chain(downwards).chain(middle).collect()
        }
    }

    /// The elements around the one at which both tensors start at the same bit, at most those that one workgroup casts.
    /// The range is empty if all elements lie before or after that one.
    fn middle(&self) -> [u64; 2] {
        let [source, destination] = [self.offsets.source, self.offsets.destination].map(i128::from);
        let [source_bits, destination_bits] = [self.source_bits, self.destination_bits].map(i128::from);
        // Both tensors start at the same bit at element `distance / by`.
        let (distance, by) = match source_bits > destination_bits {
            true => (destination - source, source_bits - destination_bits),
            false => (source - destination, destination_bits - source_bits),
        };
        let elements = i128::from(self.elements);
        if distance < 0 {
            return [0, 0];
        }
        if distance >= elements * by {
            return [self.elements; 2];
        }
        // The distance of two offsets fits.
        let (distance, by) = (distance as u64, by as u64);
        let (before, behind) = (distance / by, distance.div_ceil(by));
        let low = if behind <= self.floor(self.together.min(self.elements)) { 0 } else { self.floor(before) };
        [low, self.floor((low + self.together).min(self.elements))]
    }

    /// Adds the ranges of elements whose results lie before their codes, from the first to the last.
    fn ascending(&self, mut start: u64, end: u64, ranges: &mut Vec<Range>) {
        while start < end {
            // After the last result, the rest of its byte may be zeroed. So the results must end before the byte of the
            // next code.
            let code = (self.offsets.source + start * self.source_bits) / 8 * 8;
            let before = code.saturating_sub(self.offsets.destination);
            let reached = self.floor((before / self.destination_bits).min(end));
            let most = (start + self.together).min(end);
            let apart = reached >= most;
            let next = if apart { reached } else { self.floor(most) };
            ranges.push(Range { start, end: next, apart });
            start = next;
        }
    }

    /// Adds the ranges of elements whose results lie after their codes, from the last to the first.
    fn descending(&self, start: u64, mut end: u64, ranges: &mut Vec<Range>) {
        while start < end {
            let before = (self.offsets.source + end * self.source_bits).saturating_sub(self.offsets.destination);
            let reached = self.ceil(before.div_ceil(self.destination_bits)).max(start);
            let least = end.saturating_sub(self.together).max(start);
            let apart = reached <= least;
            let next = if apart { reached } else { self.ceil(least) };
            ranges.push(Range { start: next, end, apart });
            end = next;
        }
    }

    /// The last index up to `index` at which the destination is at a multiple of 16 bytes, or an end of the tensor.
    fn floor(&self, index: u64) -> u64 {
        if index == self.elements || index < self.head { index } else { index - (index - self.head) % 64 }
    }

    /// The first index from `index` on at which the destination is at a multiple of 16 bytes, or the start of the
    /// tensor.
    fn ceil(&self, index: u64) -> u64 {
        if index == 0 { 0 } else { self.head + index.saturating_sub(self.head).next_multiple_of(64) }
    }
}

/// The dispatch of one workgroup.
fn together(
    conversion: &Conversion,
    elements: u64,
    offsets: Offsets,
    settings: &PlanSettings,
) -> Result<Dispatch, Error> {
    let measures = Measures::new(conversion, offsets, settings);
    measures.check_workgroups([1, 1])?;
    let mut dispatch = measures.edge(0, elements, None);
    if dispatch.access != Access::Shared {
        let (limit, allowed) = ("max_storage_buffer_binding_size", settings.limits.binding_size);
        let end = |range: super::dispatch::ByteRange| range.offset + range.size;
        let first = dispatch.source.offset.min(dispatch.destination.offset);
        let needed = end(dispatch.source).max(end(dispatch.destination)) - first;
        return Err(conversion.error(CastFault::Limit { limit, needed, allowed }));
    }
    dispatch.kind = KernelKind::Together;
    dispatch.workgroups = [1, 1];
    dispatch.params.pitch = 1;
    Ok(dispatch)
}
