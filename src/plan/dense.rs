//! The dispatches of tensors whose elements lie one after the other: a head up to whole vectors, then chunks that fit
//! the limits. The number of dispatches is known before the first one is made.

use super::dispatch::{Dispatch, Offsets};
use super::in_place;
use super::limits::PlanSettings;
use super::limits::{MOST_DISPATCHES, check_dispatches};
use super::measures::Measures;
use crate::types::conversion::Conversion;
use crate::types::error::Error;

/// The dispatches that cast `elements` between two slices. If there is a sentinel, the last dispatch writes it to the
/// word after the destination's last word. Only casts between two buffers have a sentinel.
pub(crate) fn plan(
    conversion: &Conversion,
    elements: u64,
    offsets: Offsets,
    settings: &PlanSettings,
    sentinel: Option<u32>,
) -> Result<Vec<Dispatch>, Error> {
    plan_with(conversion, elements, offsets, settings, sentinel, Ends::Joined)
}

/// As [`plan`], with dispatches that can be merged with those of other casts: each casts all elements from its first to
/// its last.
#[cfg_attr(not(feature = "wgpu"), allow(dead_code, reason = "lists of casts are planned by it"))]
pub(crate) fn plan_apart(
    conversion: &Conversion,
    elements: u64,
    offsets: Offsets,
    settings: &PlanSettings,
) -> Result<Vec<Dispatch>, Error> {
    plan_with(conversion, elements, offsets, settings, None, Ends::Apart)
}

/// How the elements before and after the whole units are cast, if there are elements on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "wgpu"), allow(dead_code, reason = "lists of casts are planned by it"))]
pub(super) enum Ends {
    /// By one dispatch, if possible.
    Joined,
    /// By one dispatch each.
    Apart,
}

fn plan_with(
    conversion: &Conversion,
    elements: u64,
    offsets: Offsets,
    settings: &PlanSettings,
    sentinel: Option<u32>,
    ends: Ends,
) -> Result<Vec<Dispatch>, Error> {
    if elements == 0 {
        return Ok(Vec::new());
    }
    if offsets.in_order(conversion, elements) {
        return in_place::plan_in_order(conversion, elements, offsets, settings, ends);
    }
    let cast = Dense::new(conversion, elements, offsets, settings, sentinel, ends)?;
    if cast.may_be_long() {
        check_dispatches(conversion, cast.len())?;
    }
    cast.dispatches()
}

/// How a cast is divided: the elements before the first whole vector of the destination, then chunks of the others.
pub(super) struct Dense<'a> {
    measures: Measures<'a>,
    elements: u64,
    head: u64,
    chunk: u64,
    sentinel: Option<u32>,
    /// Whether one dispatch casts both the head and the elements after the whole units.
    joins: bool,
}

impl<'a> Dense<'a> {
    pub(super) fn new(
        conversion: &'a Conversion,
        elements: u64,
        offsets: Offsets,
        settings: &'a PlanSettings,
        sentinel: Option<u32>,
        ends: Ends,
    ) -> Result<Self, Error> {
        let measures = Measures::new(conversion, offsets, settings);
        measures.check_workgroups([1, 1])?;
        let chunk = measures.chunk(elements)?;
        let head = measures.head();
        // If too few elements for whole units follow the head, the edge kernel casts everything.
        let head = if elements.saturating_sub(head) < measures.blocks_from.max(1) { 0 } else { head };
        let one_piece = head > 0 && elements <= chunk && sentinel.is_none();
        let joins = ends == Ends::Joined && one_piece && measures.ends_can_join(elements);
        Ok(Self { measures, elements, head, chunk, sentinel, joins })
    }

    /// Whether the number of dispatches could exceed [`MOST_DISPATCHES`], so that they must be counted. A chunk has one
    /// dispatch for whole units, one for each full edge dispatch, and one for a rest. So there are at most three
    /// dispatches for each `chunk` or `edge_chunk` elements, whichever is less.
    fn may_be_long(&self) -> bool {
        self.elements / self.chunk.min(self.measures.edge_chunk) >= MOST_DISPATCHES / 4
    }

    /// The number of dispatches.
    pub(super) fn len(&self) -> u64 {
        if self.joined().is_some() {
            return 2;
        }
        let edges = |count: u64| count.div_ceil(self.measures.edge_chunk);
        let piece = |start: u64, count: u64| {
            let whole = self.measures.units(start, count).map_or(0, |(_, whole)| whole);
            (u64::from(whole > 0), edges(count - whole))
        };
        // All chunks but the last one have the same dispatches: they are whole units of every kernel, and start at the
        // same place of a vector.
        let rest = self.elements - self.head;
        let full = (rest - 1) / self.chunk;
        let (whole, edge) = if full == 0 { (0, 0) } else { piece(self.head, self.chunk) };
        let start = self.head + full * self.chunk;
        let (last_whole, last_edge) = piece(start, self.elements - start);
        let last_edge = if self.sentinel.is_some() { last_edge.max(1) } else { last_edge };
        edges(self.head) + full * (whole + edge) + last_whole + last_edge
    }

    pub(super) fn dispatches(&self) -> Result<Vec<Dispatch>, Error> {
        let dispatches = self.joined().unwrap_or_else(|| self.in_chunks());
        dispatches.iter().try_for_each(|dispatch| self.measures.check_workgroups(dispatch.workgroups))?;
        Ok(dispatches)
    }

    /// One dispatch for the elements before and after the whole units, then one for the whole units.
    fn joined(&self) -> Option<Vec<Dispatch>> {
        if !self.joins {
            return None;
        }
        let (units, whole) = self.measures.units(self.head, self.elements - self.head)?;
        Some(vec![self.measures.ends(self.head, self.head + whole, self.elements), units])
    }

    fn in_chunks(&self) -> Vec<Dispatch> {
        let (measures, mut dispatches) = (&self.measures, Vec::new());
        measures.edges(0, self.head, None, &mut dispatches);
        let mut start = self.head;
        while start < self.elements {
            let count = self.chunk.min(self.elements - start);
            let units = measures.units(start, count);
            let whole = units.as_ref().map_or(0, |(_, whole)| *whole);
            dispatches.extend(units.map(|(dispatch, _)| dispatch));
            let end = start + count;
            measures.edges(start + whole, end, self.sentinel.filter(|_| end == self.elements), &mut dispatches);
            start = end;
        }
        dispatches
    }
}
