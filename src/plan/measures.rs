//! The arithmetic of planning: the bytes in which a piece of a cast lies, and the number of elements that fit
//! somewhere.

use super::dispatch::{ByteRange, Dispatch, Offsets};
use super::limits::{LEAST_ALIGNMENT, PlanSettings};
use super::params::Params;
use crate::kernel::{Access, BLOCKS_SIZE, EDGE_SIZE, KernelKind, Units};
use crate::types::conversion::Conversion;
use crate::types::error::{CastFault, Error};

/// The most elements of an edge dispatch. With it, the bit positions of 64-bit codes can be counted in 32 bits.
const EDGE_ELEMENTS: u64 = 1 << 24;

/// The numbers of a conversion that planning needs.
pub(super) struct Measures<'a> {
    conversion: &'a Conversion,
    offsets: Offsets,
    settings: &'a PlanSettings,
    alignment: u64,
    pub(super) source_bits: u64,
    pub(super) destination_bits: u64,
    /// The number of elements after which both sides are aligned as before. It is a multiple of every kernel's unit.
    pub(super) step: u64,
    /// Whether source and destination are the same bits of a buffer.
    in_place: bool,
    pub(super) blocks_from: u64,
    pub(super) edge_chunk: u64,
}

/// The bindings of a dispatch for a piece of a cast, and the place of the piece in them.
pub(super) struct Bindings {
    pub(super) access: Access,
    pub(super) source: ByteRange,
    pub(super) destination: ByteRange,
    pub(super) params: Params,
}

impl<'a> Measures<'a> {
    pub(super) fn new(conversion: &'a Conversion, offsets: Offsets, settings: &'a PlanSettings) -> Self {
        let limits = &settings.limits;
        let alignment = limits.offset_alignment.max(LEAST_ALIGNMENT);
        let (source_bits, destination_bits) =
            (u64::from(conversion.from.code_bits()), u64::from(conversion.to.code_bits()));
        let units = Units::new(conversion, KernelKind::Blocks, Access::Separate, settings.tuning.lookup);
        let aligned = |bits: u64| {
            let alignment = alignment * 8;
            alignment / gcd(alignment, bits)
        };
        // The elements of a unit are a power of two, at most 64.
        let step = lcm(lcm(aligned(source_bits), aligned(destination_bits)), 64);
        let bits = source_bits.max(destination_bits);
        // A binding starts at most one alignment before its first element, and ends with the sentinel.
        let room = limits.binding_size.saturating_sub(alignment + 8);
        let by_binding = room.saturating_mul(8) / bits;
        let by_workgroups = u64::from(limits.workgroups).saturating_pow(2).saturating_mul(u64::from(EDGE_SIZE));
        let in_place = offsets.one_buffer && offsets.source == offsets.destination && source_bits == destination_bits;
        Self {
            conversion,
            offsets,
            settings,
            alignment,
            source_bits,
            destination_bits,
            step,
            in_place,
            blocks_from: match in_place && crosses_words(destination_bits) {
                // One workgroup must be able to cast the elements that whole units leave.
                true => u64::from(units.elements),
                false => settings.tuning.blocks_from.unwrap_or(u64::from(units.per_workgroup())),
            },
            // `step` is longer than this only with an alignment far beyond that of any device.
            edge_chunk: (EDGE_ELEMENTS.min(by_binding).min(by_workgroups) / step * step).max(step.min(EDGE_ELEMENTS)),
        }
    }

    /// The most elements that take at most `bytes` on either side, as a multiple of `step`.
    pub(super) fn fit(&self, bytes: u64, limit: &'static str) -> Result<u64, Error> {
        let bits = self.source_bits.max(self.destination_bits);
        let elements = bytes.saturating_mul(8) / bits / self.step * self.step;
        if elements == 0 {
            let (needed, allowed) = (self.step * bits / 8, bytes);
            return Err(self.conversion.error(CastFault::Limit { limit, needed, allowed }));
        }
        Ok(elements)
    }

    /// The number of elements between two changes of bindings.
    pub(super) fn chunk(&self, elements: u64) -> Result<u64, Error> {
        let units = |access| Units::new(self.conversion, KernelKind::Blocks, access, self.settings.tuning.lookup);
        let per_invocation = |units: Units| u64::from(units.elements * units.repeat);
        let least = per_invocation(units(Access::Separate)).min(per_invocation(units(Access::Shared)));
        let invocations =
            u64::from(self.settings.limits.workgroups).saturating_pow(2).saturating_mul(u64::from(BLOCKS_SIZE));
        let by_workgroups = invocations.saturating_mul(least);
        let most = by_workgroups.min(self.settings.tuning.dispatch_elements);
        let limit = "max_storage_buffer_binding_size";
        if self.offsets.one_buffer {
            // If one binding cannot cover both sides, each side gets half a binding. Then the bindings of two pieces do
            // not overlap.
            let fits = self.whole_range(elements).is_some_and(|range| range.size <= self.settings.limits.binding_size);
            if fits && elements <= most {
                return Ok(elements);
            }
            let half = self.fit((self.settings.limits.binding_size / 2).saturating_sub(self.alignment + 8), limit)?;
            return Ok((most.min(half) / self.step * self.step).max(self.step));
        }
        // After a head, each side may start anywhere between two aligned offsets.
        let aligned =
            [self.offsets.source, self.offsets.destination].iter().all(|bit| bit.is_multiple_of(8 * self.alignment));
        let lead = if aligned { 0 } else { self.alignment };
        let bits = u128::from(self.source_bits.max(self.destination_bits));
        let needed = (u128::from(elements) * bits).div_ceil(32) * 4 + u128::from(lead) + 4;
        if needed <= u128::from(self.settings.limits.binding_size) && elements <= most {
            return Ok(elements);
        }
        let by_binding = self.fit(self.settings.limits.binding_size.saturating_sub(lead + 4), limit)?;
        Ok((most.min(by_binding) / self.step * self.step).max(self.step))
    }

    /// The number of elements before the destination is at a multiple of 16 bytes.
    pub(super) fn head(&self) -> u64 {
        let start = self.offsets.destination;
        let aligned = |head: &u64| (start + head * self.destination_bits).is_multiple_of(128);
        // 64 elements of any width are a multiple of 128 bits, so a head is shorter.
        (0..64).find(aligned).unwrap_or(0)
    }

    /// The bytes of a buffer that hold elements of a tensor. `first` is the tensor's first bit. The range starts at an
    /// aligned offset and consists of whole words.
    pub(super) fn range(&self, first: u64, bits: u64, start: u64, count: u64) -> ByteRange {
        let offset = (first + start * bits) / 8 / self.alignment * self.alignment;
        let end = (first + (start + count) * bits).div_ceil(32) * 4;
        ByteRange { offset, size: end.saturating_sub(offset) }
    }

    /// The range over both sides of the whole cast, if its size does not overflow.
    fn whole_range(&self, elements: u64) -> Option<ByteRange> {
        elements.checked_mul(self.source_bits.max(self.destination_bits))?;
        let (source, destination) = self.ranges(0, elements);
        Some(source.over(destination))
    }

    fn ranges(&self, start: u64, count: u64) -> (ByteRange, ByteRange) {
        let source = self.range(self.offsets.source, self.source_bits, start, count);
        (source, self.range(self.offsets.destination, self.destination_bits, start, count))
    }

    fn bindings(&self, start: u64, count: u64) -> Bindings {
        let (source, destination) = self.ranges(start, count);
        self.bind(source, destination, start, start)
    }

    /// The bindings of two ranges, and the place in them of one element of the destination and one of the source.
    pub(super) fn bind(
        &self,
        mut source: ByteRange,
        mut destination: ByteRange,
        start: u64,
        source_start: u64,
    ) -> Bindings {
        let last = source.offset + source.size;
        let mut access = if self.offsets.writable { Access::Writable } else { Access::Separate };
        if self.offsets.one_buffer {
            let both = source.over(destination);
            access = if both.size <= self.settings.limits.binding_size { Access::Shared } else { Access::Writable };
            if access == Access::Shared {
                (source, destination) = (both, both);
            }
        }
        let within = |first: u64, bit: u64, range: ByteRange| {
            let bit = first + bit - range.offset * 8;
            ((bit / 32) as u32, (bit % 32) as u32)
        };
        let (source_word, source_bit) = within(self.offsets.source, source_start * self.source_bits, source);
        let (destination_word, destination_bit) =
            within(self.offsets.destination, start * self.destination_bits, destination);
        let source_last = ((last - source.offset) / 4).saturating_sub(1) as u32;
        let params =
            Params { source_word, source_bit, source_last, destination_word, destination_bit, ..Params::default() };
        Bindings { access, source, destination, params }
    }

    /// The dispatch of the whole units of a piece, and the number of their elements, if there are enough units.
    pub(super) fn units(&self, start: u64, count: u64) -> Option<(Dispatch, u64)> {
        let Bindings { access, source, destination, mut params } = self.bindings(start, count);
        let aligned = |word: u32, bit: u32| word.is_multiple_of(4) && bit == 0;
        let suits = access != Access::Shared || wide_units_suit(self.source_bits, self.destination_bits);
        let kind = if suits && aligned(params.source_word, params.source_bit) {
            KernelKind::Blocks
        } else {
            KernelKind::Shifted
        };
        let units = Units::new(self.conversion, kind, access, self.settings.tuning.lookup);
        let whole = count / u64::from(units.elements);
        let elements = whole * u64::from(units.elements);
        if elements < self.blocks_from || elements == 0 || !aligned(params.destination_word, params.destination_bit) {
            return None;
        }
        params.count = whole as u32;
        let workgroups = self.grid((whole as u32).div_ceil(BLOCKS_SIZE * units.repeat));
        params.pitch = workgroups[0];
        // The dispatch binds only the bytes that it reads and writes, not the rest of the chunk.
        let (source, destination) = match access {
            Access::Shared => (source, destination),
            Access::Separate | Access::Writable => self.ranges(start, elements),
        };
        let source_last = ((source.size / 4).saturating_sub(1) as u32).min(params.source_last);
        params.source_last = source_last;
        let dispatch = Dispatch { kind, access, first: start, source, destination, params, view: None, workgroups };
        Some((dispatch, elements))
    }

    /// Adds the dispatches for any range of elements.
    pub(super) fn edges(&self, start: u64, end: u64, sentinel: Option<u32>, dispatches: &mut Vec<Dispatch>) {
        let mut at = start;
        while at < end || sentinel.is_some() {
            let count = (end - at).min(self.edge_chunk);
            let last = at + count == end;
            dispatches.push(self.edge(at, count, sentinel.filter(|_| last)));
            at += count;
            if last {
                break;
            }
        }
    }

    /// Whether [`ends`](Self::ends) suits a cast. In place it would convert elements twice.
    pub(super) fn ends_can_join(&self, elements: u64) -> bool {
        // Kernels count bits in 32 bits, from the word in which the tensor starts.
        let bits = elements.saturating_mul(self.source_bits.max(self.destination_bits));
        !self.in_place && bits < (1 << 32) - 32 && self.settings.limits.workgroups >= 2
    }

    /// A dispatch of the elements before `head` and of those from `rest` on. Whole units lie between them.
    ///
    /// It is the edge dispatch of all elements, with two rows of workgroups. The distance of the rows is that of head
    /// and rest. The rows are longer than head and rest, so some of the elements between them are cast again, to the
    /// same codes.
    pub(super) fn ends(&self, head: u64, rest: u64, end: u64) -> Dispatch {
        if rest == end {
            return self.edge(0, head, None);
        }
        let mut dispatch = self.edge(0, end, None);
        let (bit, bits) = (u64::from(dispatch.params.destination_bit), self.destination_bits);
        // Whole units start and end at whole words.
        let invocations = |elements: u64| if bits < 32 { (bit + elements * bits).div_ceil(32) } else { elements };
        let size = u64::from(EDGE_SIZE);
        let pitch = invocations(rest) / size;
        let columns = invocations(head).max(invocations(end) - pitch * size).div_ceil(size);
        // If there are few units between, one row reaches from the head to the rest.
        if pitch > columns {
            dispatch.workgroups = [columns as u32, 2];
            dispatch.params.pitch = pitch as u32;
        }
        dispatch
    }

    pub(super) fn edge(&self, start: u64, count: u64, sentinel: Option<u32>) -> Dispatch {
        // A dispatch that writes only the sentinel binds the last element. The tensor then fills whole words.
        let start = if count == 0 { start - 1 } else { start };
        let Bindings { access, source, mut destination, mut params } = self.bindings(start, count.max(1));
        params.count = count as u32;
        if self.destination_bits < 32 {
            let end = params.destination_bit + params.count * self.destination_bits as u32;
            params.destination_end = if self.offsets.keeps_rest { end } else { end.next_multiple_of(8) };
        }
        if count == 0 {
            (params.destination_word, params.destination_bit) = ((destination.size / 4) as u32, 0);
            params.destination_end = 0;
        }
        if let Some(sentinel) = sentinel {
            params.sentinel = sentinel;
            params.sentinel_word = (destination.size / 4) as u32;
            destination.size += 4;
        }
        // In place, a code that lies across two words is read by two invocations. One of them may overwrite a part
        // before the other reads it.
        let together = self.in_place && crosses_words(self.destination_bits);
        let (kind, size) = if together { (KernelKind::Together, BLOCKS_SIZE) } else { (KernelKind::Edge, EDGE_SIZE) };
        let invocations = match self.destination_bits < 32 {
            true => (u64::from(params.destination_bit) + count * self.destination_bits).div_ceil(32),
            false => count,
        };
        let workgroups = self.grid((invocations as u32).div_ceil(size).max(1));
        params.pitch = workgroups[0];
        Dispatch { kind, access, first: start, source, destination, params, view: None, workgroups }
    }

    /// Checks that the device can dispatch `workgroups`. One step of a cast cannot be split further.
    pub(super) fn check_workgroups(&self, workgroups: [u32; 2]) -> Result<(), Error> {
        let (needed, allowed) = (workgroups[0].max(workgroups[1]), self.settings.limits.workgroups);
        let limit = "max_compute_workgroups_per_dimension";
        let fault = CastFault::Limit { limit, needed: needed.into(), allowed: allowed.into() };
        if needed > allowed { Err(self.conversion.error(fault)) } else { Ok(()) }
    }

    /// Divides a number of workgroups into one or two dimensions.
    pub(super) fn grid(&self, workgroups: u32) -> [u32; 2] {
        let rows = workgroups.div_ceil(self.settings.limits.workgroups);
        [workgroups.div_ceil(rows), rows]
    }
}

/// Whether units of whole 16 bytes on both sides have few enough elements.
pub(super) fn wide_units_suit(source_bits: u64, destination_bits: u64) -> bool {
    source_bits.min(destination_bits) >= 8
}

/// Whether codes of this width can lie across two words.
pub(super) fn crosses_words(bits: u64) -> bool {
    32 % bits != 0 && bits < 32
}

pub(super) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn lcm(a: u64, b: u64) -> u64 {
    a / gcd(a, b) * b
}
