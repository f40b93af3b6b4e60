//! Casts between tensors that share memory and whose codes differ in width.
//!
//! Such a cast goes through the elements in an order in which no result overwrites a code that is still to be read, in
//! ranges whose results do not touch their own codes either. Each range is a cast like any other between two parts of
//! one buffer. With r the ratio of the wider code to the narrower one, a narrowing that starts at the source's first bit
//! can take the elements from n to r·n at once, because they go where the codes of the first r·n/r = n elements were; so
//! the ranges grow, and their number with the logarithm of the tensor's length. What has no such range, such as the
//! first elements, is cast by one workgroup, which reads all codes before it writes.

use std::cmp::Ordering;

use super::measures::Measures;
use super::{Dispatch, Offsets, PlanSettings, plan};
use crate::conversion::Conversion;
use crate::error::Error;
use crate::kernel::{Access, BLOCKS_SIZE, KernelKind};

/// The order in which a cast goes through its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Ascending,
    Descending,
}

/// The first bit of a tensor, and the bit after its last one.
pub(super) type Bits = (u64, u64);

/// The order in which no code is overwritten before it is read. There is none if the narrower tensor lies inside the
/// wider one with more bits to spare on either side than the widths differ by.
pub(super) fn order(conversion: &Conversion, source: Bits, destination: Bits) -> Option<Order> {
    let bits = [conversion.from, conversion.to].map(|t| u64::from(t.code_bits()));
    // Of two neighbours, the result of one may touch its own code, but not the other's.
    let spare = bits[0].abs_diff(bits[1]);
    let (starts_before, ends_after) = (destination.0 <= source.0 + spare, destination.1 + spare >= source.1);
    let (starts_after, ends_before) = (destination.0 + spare >= source.0, destination.1 <= source.1 + spare);
    match bits[0].cmp(&bits[1]) {
        Ordering::Equal => None,
        Ordering::Greater if starts_before => Some(Order::Ascending),
        Ordering::Greater => ends_after.then_some(Order::Descending),
        Ordering::Less if starts_after => Some(Order::Descending),
        Ordering::Less => ends_before.then_some(Order::Ascending),
    }
}

/// Plans ranges in their order.
pub(super) fn plan_in_order(
    conversion: &Conversion,
    elements: u64,
    offsets: Offsets,
    settings: &PlanSettings,
    order: Order,
) -> Result<Vec<Dispatch>, Error> {
    let ranges = Ranges::new(conversion, elements, offsets, settings);
    let mut dispatches = Vec::new();
    let (mut start, mut end) = (0, elements);
    while start < end {
        let (from, to, apart) = match order {
            Order::Ascending => ranges.first(start),
            Order::Descending => ranges.last(end),
        };
        let part = Offsets {
            source: offsets.source + from * ranges.source_bits,
            destination: offsets.destination + from * ranges.destination_bits,
            one_buffer: true,
            writable: false,
            keeps_rest: offsets.keeps_rest || to < elements,
        };
        let first = dispatches.len();
        if apart {
            dispatches.extend(plan(conversion, to - from, part, settings, None)?);
        } else {
            dispatches.push(together(conversion, to - from, part, settings)?);
        }
        dispatches[first..].iter_mut().for_each(|dispatch| dispatch.first += from);
        match order {
            Order::Ascending => start = to,
            Order::Descending => end = from,
        }
    }
    Ok(dispatches)
}

struct Ranges {
    elements: u64,
    offsets: Offsets,
    source_bits: u64,
    destination_bits: u64,
    /// Elements before the destination is at whole 16 bytes, as it is again after every 64 elements.
    head: u64,
    /// The most elements that one workgroup casts.
    together: u64,
}

impl Ranges {
    fn new(conversion: &Conversion, elements: u64, offsets: Offsets, settings: &PlanSettings) -> Self {
        let measures = Measures::new(conversion, offsets, settings);
        let (source_bits, destination_bits) = (measures.source_bits, measures.destination_bits);
        // An invocation writes a word, the first one perhaps in part, or an element of at least a word.
        let size = u64::from(BLOCKS_SIZE);
        let together = if destination_bits < 32 { (32 * size - 31) / destination_bits } else { size };
        Self { elements, offsets, source_bits, destination_bits, head: measures.head(), together }
    }

    /// The next range from `start` on, and whether its results and its codes are apart.
    fn first(&self, start: u64) -> (u64, u64, bool) {
        let before = (self.offsets.source + start * self.source_bits).saturating_sub(self.offsets.destination);
        let end = self.floor((before / self.destination_bits).min(self.elements));
        if end >= (start + self.together).min(self.elements) {
            return (start, end, true);
        }
        (start, self.floor((start + self.together).min(self.elements)), false)
    }

    /// The next range up to `end`, and whether its results and its codes are apart.
    fn last(&self, end: u64) -> (u64, u64, bool) {
        let before = (self.offsets.source + end * self.source_bits).saturating_sub(self.offsets.destination);
        let start = self.ceil(before.div_ceil(self.destination_bits));
        if start <= end.saturating_sub(self.together) {
            return (start, end, true);
        }
        (self.ceil(end.saturating_sub(self.together)), end, false)
    }

    /// The last element up to `index` at which the destination is at whole 16 bytes, or a side of the tensor.
    fn floor(&self, index: u64) -> u64 {
        if index == self.elements || index < self.head { index } else { index - (index - self.head) % 64 }
    }

    /// The first such element from `index` on.
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
        let (from, to, limit) = (conversion.from, conversion.to, "max_storage_buffer_binding_size");
        let end = |range: super::ByteRange| range.offset + range.size;
        let first = dispatch.source.offset.min(dispatch.destination.offset);
        let needed = end(dispatch.source).max(end(dispatch.destination)) - first;
        return Err(Error::Limit { from, to, limit, needed, allowed: settings.limits.binding_size });
    }
    dispatch.kind = KernelKind::Together;
    dispatch.workgroups = [1, 1];
    dispatch.params.pitch = 1;
    Ok(dispatch)
}
