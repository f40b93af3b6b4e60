//! The dispatches of views. A view is cut into pieces that fit the limits, and each piece uses the kernel that suits
//! it.

use super::dispatch::{Dispatch, Offsets};
use super::divisor::Divisor;
use super::limits::PlanSettings;
use super::limits::check_dispatches;
use super::measures::{Bindings, Measures, gcd};
use super::params::{Params, ViewParams};
use super::view::{Axis, Strided};
use crate::kernel::{Access, BLOCK, BLOCKS_SIZE, Block, FEW_AXES, KernelKind, VIEW_RANK, VIEW_SIZE, Window};
use crate::types::conversion::Conversion;
use crate::types::error::{CastFault, Error};

/// Kernels count the positions of a piece on each side in 32 bits. For codes of less than 32 bits, they count bits of
/// the destination.
const MOST_POSITIONS: u64 = 1 << 31;

/// The least size of both axes with which transposed rows use their own kernel.
const LEAST_TRANSPOSED: u64 = 8;

/// The dispatches that cast a view of at least one element.
pub(crate) fn plan_view(
    conversion: &Conversion,
    view: &Strided,
    offsets: Offsets,
    settings: &PlanSettings,
) -> Result<Vec<Dispatch>, Error> {
    let measures = Measures::new(conversion, offsets, settings);
    measures.check_workgroups([1, 1])?;
    let planner = Planner { conversion, measures, settings, offsets };
    planner.check_elements(view.axes())?;
    let whole = Piece { axes: view.axes().to_vec(), source: view.source_first as i64, destination: 0, last: true };
    let (mut left, mut dispatches) = (vec![whole], Vec::new());
    while let Some(mut piece) = left.pop() {
        piece.axes.retain(|axis| axis.size > 1);
        let parts = planner.aligned_parts(&piece);
        let whole_blocks = parts.is_some();
        if let Some(parts) = parts.filter(|parts| parts.len() > 1) {
            left.extend(parts);
            continue;
        }
        match planner.dispatches(&piece, view.pads && !offsets.keeps_rest, whole_blocks) {
            Ok(all) => {
                dispatches.extend(all);
                // Each remaining piece takes at least one more dispatch.
                check_dispatches(conversion, (dispatches.len() + left.len()) as u64)?;
            }
            Err(unfit) => {
                let [first, second] = piece.halves(unfit).ok_or_else(|| planner.limit(unfit))?;
                left.extend([second, first]);
            }
        }
    }
    Ok(dispatches)
}

/// A part of a view: some of the elements of each axis.
#[derive(Clone, Debug)]
struct Piece {
    axes: Vec<Axis>,
    /// The place of its first element, counted from the start of each slice.
    source: i64,
    destination: u64,
    /// Whether the piece contains the view's last element.
    last: bool,
}

/// Why a piece does not fit one dispatch.
#[derive(Clone, Copy, Debug)]
enum Unfit {
    /// The bytes that it spans on this side.
    Source(u64),
    Destination(u64),
    /// The number of its elements, or of their workgroups.
    Elements,
}

impl Piece {
    fn elements(&self) -> u64 {
        self.axes.iter().map(|axis| axis.size).product()
    }

    /// The index of the lowest element of the source.
    fn source_lowest(&self) -> u64 {
        let below = self.axes.iter().filter(|axis| axis.source < 0).map(Axis::source_span).sum::<u64>();
        (self.source - below as i64) as u64
    }

    fn source_extent(&self) -> u64 {
        self.axes.iter().map(Axis::source_span).sum::<u64>() + 1
    }

    fn destination_extent(&self) -> u64 {
        self.axes.iter().map(Axis::destination_span).sum::<u64>() + 1
    }

    /// Splits the piece along the axis that contributes most to `unfit`; `None` for a single element.
    fn halves(&self, unfit: Unfit) -> Option<[Self; 2]> {
        let share = |axis: &Axis| match unfit {
            Unfit::Source(_) => axis.source_span(),
            Unfit::Destination(_) => axis.destination_span(),
            Unfit::Elements => axis.size,
        };
        let candidates = self.axes.iter().enumerate().filter(|(_, axis)| axis.size > 1);
        let (index, _) = candidates.max_by_key(|(_, axis)| share(axis))?;
        let half = self.axes[index].size.div_ceil(2);
        Some(self.split(index, half))
    }

    /// Splits the piece before the element `at` of an axis.
    fn split(&self, index: usize, at: u64) -> [Self; 2] {
        let (mut first, mut second) = (self.clone(), self.clone());
        let axis = self.axes[index];
        first.axes[index].size = at;
        first.last = false;
        second.axes[index].size -= at;
        second.source += at as i64 * axis.source;
        second.destination += at * axis.destination;
        [first, second]
    }
}

struct Planner<'a> {
    conversion: &'a Conversion,
    measures: Measures<'a>,
    settings: &'a PlanSettings,
    offsets: Offsets,
}

impl Planner<'_> {
    /// Refuses a view that takes too many dispatches in every division. The elements of a destination do not overlap,
    /// so their number gives a lower bound.
    fn check_elements(&self, axes: &[Axis]) -> Result<(), Error> {
        let elements = axes.iter().map(|axis| axis.size).product::<u64>();
        let by_binding = self.settings.limits.binding_size.saturating_mul(8) / self.measures.destination_bits;
        let most = by_binding.min(MOST_POSITIONS).min(self.settings.tuning.dispatch_elements).max(1);
        check_dispatches(self.conversion, elements.div_ceil(most))
    }

    fn limit(&self, unfit: Unfit) -> Error {
        let (limit, allowed) = ("max_storage_buffer_binding_size", self.settings.limits.binding_size);
        let needed = match unfit {
            Unfit::Source(bytes) | Unfit::Destination(bytes) => bytes,
            Unfit::Elements => 1,
        };
        self.conversion.error(CastFault::Limit { limit, needed, allowed })
    }

    /// The dispatches of a piece, if it fits. If the view `pads` its last byte, zeros follow the last code up to the
    /// end of that byte.
    fn dispatches(&self, piece: &Piece, pads: bool, whole_blocks: bool) -> Result<Vec<Dispatch>, Unfit> {
        if piece.elements() > self.settings.tuning.dispatch_elements.max(1) {
            return Err(Unfit::Elements);
        }
        let bindings = self.bindings(piece)?;
        let mut params = bindings.params;
        if pads && piece.last && self.measures.destination_bits < 8 {
            let end = u64::from(params.destination_bit) + piece.destination_extent() * self.measures.destination_bits;
            params.destination_end = end.next_multiple_of(8) as u32;
        }
        let rows = Rows::new(piece, params, whole_blocks);
        let dispatch = |(kind, params, view): Step, workgroups: u64| {
            let limit = u64::from(self.settings.limits.workgroups).saturating_pow(2);
            if workgroups > limit.min(MOST_POSITIONS / u64::from(BLOCKS_SIZE)) {
                return Err(Unfit::Elements);
            }
            let workgroups = self.measures.grid(workgroups as u32);
            let params = Params { pitch: workgroups[0], ..params };
            let Bindings { access, source, destination, .. } = bindings;
            let view = Some(Box::new(view));
            Ok(Dispatch { kind, access, first: 0, source, destination, params, view, workgroups })
        };
        let (access, lookup) = (bindings.access, self.settings.tuning.lookup);
        let transposed = || rows.transposed(self.conversion, &Block::new(self.conversion, access, lookup)?);
        if let Some((view, workgroups)) = transposed() {
            return Ok(vec![dispatch((KernelKind::Transposed, rows.params, view), workgroups)?]);
        }
        let window = Window::new(self.conversion, access, lookup);
        let workgroups = |step: Step| {
            let invocations = u64::from(step.1.count) * u64::from(step.2.invocations.number);
            dispatch(step, invocations.div_ceil(VIEW_SIZE.into()))
        };
        rows.kernels(self.conversion, &window).into_iter().flatten().map(workgroups).collect()
    }

    /// Splits a piece of transposed rows so that its last part consists of whole blocks at whole vectors. Without such
    /// a split, the piece itself is the only part. `None` if no split aligns it.
    fn aligned_parts(&self, piece: &Piece) -> Option<Vec<Piece>> {
        let block = Block::new(self.conversion, Access::Separate, self.settings.tuning.lookup)?;
        let vectors = block.vectors?;
        let (column, row) = transposed_axes(&piece.axes)?;
        let (source_alignment, destination_alignment) =
            (i64::from(vectors.source_alignment), u64::from(vectors.destination_alignment));
        let aligned = |(index, axis): (usize, &Axis)| {
            (index == row || axis.destination.is_multiple_of(destination_alignment))
                && (index == column || axis.source % source_alignment == 0)
        };
        if !piece.axes.iter().enumerate().all(aligned) {
            return None;
        }
        let place = self.offsets.destination / self.measures.destination_bits + piece.destination;
        let position = (self.offsets.source / self.measures.source_bits) as i64 + piece.source;
        let row_head = place.next_multiple_of(destination_alignment) - place;
        let column_head = (-position).rem_euclid(source_alignment) as u64;
        let mut parts = Vec::new();
        let mut main = piece.clone();
        for (index, head) in [(row, row_head), (column, column_head)] {
            if head > 0 {
                let [first, rest] = main.split(index, head);
                parts.push(first);
                main = rest;
            }
            let whole = main.axes[index].size / u64::from(BLOCK) * u64::from(BLOCK);
            if whole < main.axes[index].size {
                let [rest, last] = main.split(index, whole);
                parts.push(last);
                main = rest;
            }
        }
        parts.push(main);
        Some(parts)
    }

    /// The bindings of a piece, if it fits them.
    fn bindings(&self, piece: &Piece) -> Result<Bindings, Unfit> {
        let measures = &self.measures;
        let (source_extent, destination_extent) = (piece.source_extent(), piece.destination_extent());
        let lowest = piece.source_lowest();
        let source = measures.range(self.offsets.source, measures.source_bits, lowest, source_extent);
        let destination =
            measures.range(self.offsets.destination, measures.destination_bits, piece.destination, destination_extent);
        let most = self.settings.limits.binding_size;
        // Bits are counted for codes that are narrower than a word, elements for others.
        let counted = if measures.destination_bits < 32 { measures.destination_bits } else { 1 };
        if source.size > most || source_extent > MOST_POSITIONS {
            return Err(Unfit::Source(source.size));
        }
        if destination.size > most || destination_extent * counted > MOST_POSITIONS {
            return Err(Unfit::Destination(destination.size));
        }
        let bindings = measures.bind(source, destination, piece.destination, lowest);
        if self.offsets.one_buffer && bindings.access == Access::Writable && source.overlaps(destination) {
            // Browsers refuse two writable bindings that overlap.
            let source_is_longer = source.size > destination.size;
            return Err(if source_is_longer {
                Unfit::Source(source.size)
            } else {
                Unfit::Destination(destination.size)
            });
        }
        Ok(bindings)
    }
}

/// The two axes of transposed rows, if both are long enough for blocks. Along the first, elements follow one another in
/// the source; along the second, which is the last axis, they follow one another in the destination.
fn transposed_axes(axes: &[Axis]) -> Option<(usize, usize)> {
    let (row, outer) = axes.split_last()?;
    let column = outer.iter().position(|axis| axis.source == 1 && axis.size >= LEAST_TRANSPOSED)?;
    let is_row = row.destination == 1 && row.source != 1 && row.size >= LEAST_TRANSPOSED;
    is_row.then_some((column, outer.len()))
}

/// A kernel that stores elements of a piece, with its parameters.
type Step = (KernelKind, Params, ViewParams);

/// The rows of a piece. A row is the innermost axis, if its elements lie one after the other in the destination.
/// Otherwise each element is a row.
struct Rows {
    outer: Vec<Axis>,
    row: Axis,
    params: Params,
    view: ViewParams,
    /// Whether the piece consists of whole blocks at whole vectors. It matters for transposed rows only.
    whole_blocks: bool,
}

impl Rows {
    fn new(piece: &Piece, params: Params, whole_blocks: bool) -> Self {
        let (outer, row) = match piece.axes.split_last() {
            Some((inner, outer)) if inner.destination == 1 => (outer, *inner),
            _ => (&piece.axes[..], Axis { size: 1, source: 1, destination: 1 }),
        };
        assert!(outer.len() <= VIEW_RANK);
        // The number of rows fits in 32 bits: it is at most that of positions in the destination.
        let count = outer.iter().map(|axis| axis.size).product::<u64>() as u32;
        let mut view = ViewParams {
            first: (piece.source - piece.source_lowest() as i64) as u32,
            axes: outer.len() as u32,
            row: row.size as u32,
            source_step: row.source as u32,
            shape: [Divisor::new(1); VIEW_RANK],
            ..ViewParams::default()
        };
        for (index, axis) in outer.iter().rev().enumerate() {
            view.shape[index] = Divisor::new(axis.size);
            view.source_strides[index] = axis.source as u32;
            view.destination_strides[index] = axis.destination as u32;
        }
        Self { outer: outer.to_vec(), row, params: Params { count, ..params }, view, whole_blocks }
    }

    /// The kernels that store the piece, in their order.
    fn kernels(&self, conversion: &Conversion, window: &Window) -> [Option<Step>; 2] {
        let bits = u64::from(conversion.to.code_bits());
        let cell_bits = bits.max(32);
        let place = u64::from(self.params.destination_bit);
        let windows = self.windows(conversion, window);
        let Some((kind, params, view)) = windows else {
            let cells = (self.most_before(cell_bits, place, bits) + self.row.size * bits).div_ceil(cell_bits);
            let view = ViewParams { invocations: Divisor::new(cells), ..self.view };
            return [Some((KernelKind::Strided, self.params, view)), None];
        };
        let (window_bits, place) = (u64::from(window.words) * 32, u64::from(params.destination_bit));
        let before = self.most_before(window_bits, place, bits);
        let whole = before == 0 && view.tail == 0 && (self.row.size * bits).is_multiple_of(window_bits);
        let (cells, tail) = (window.cells(conversion), u64::from(view.tail));
        let after = u64::from(cells) + (tail * bits).div_ceil(cell_bits);
        let ends = ViewParams { invocations: Divisor::new(u64::from(cells) + after), ..view };
        let invocations = Divisor::new(self.row.size * bits / window_bits);
        let rows = ViewParams { invocations, ..view };
        [Some((kind, params, rows)), (!whole).then_some((KernelKind::Ends, params, ends))]
    }

    /// The parameters of transposed rows and the number of their blocks, if the rows are transposed.
    fn transposed(&self, conversion: &Conversion, block: &Block) -> Option<(ViewParams, u64)> {
        let axes: Vec<Axis> = self.outer.iter().chain([&self.row]).copied().collect();
        let (index, _) = transposed_axes(&axes)?;
        if self.outer.len() > FEW_AXES || block.vectors.is_some() && !self.whole_blocks {
            return None;
        }
        let column = axes[index];
        // A row's first cell may begin before the row.
        let before = if conversion.to.code_bits() < 32 { 32 / conversion.to.code_bits() - 1 } else { 0 };
        let before = if block.vectors.is_some() { 0 } else { before };
        let along = (self.row.size + u64::from(before)).div_ceil(block.row.into());
        let column_blocks = column.size.div_ceil(block.columns.into());
        let view = ViewParams {
            invocations: Divisor::new(along),
            columns: column.size as u32,
            column_rows: Divisor::new(self.outer[index + 1..].iter().map(|axis| axis.size).product()),
            column_step: column.destination as u32,
            column_blocks: Divisor::new(column_blocks),
            ..self.view
        };
        let items = u64::from(self.params.count) / column.size;
        Some((view, (along * column_blocks).saturating_mul(items)))
    }

    /// The kernel and the parameters for whole windows, if the rows are long enough.
    fn windows(&self, conversion: &Conversion, window: &Window) -> Option<Step> {
        let [from, to] = [conversion.from, conversion.to].map(|t| i64::from(t.code_bits()));
        // Windows start at multiples of a vector.
        let back = self.params.destination_word % window.vector;
        let mut params = Params {
            destination_word: self.params.destination_word - back,
            destination_bit: self.params.destination_bit + 32 * back,
            ..self.params
        };
        if params.destination_end != 0 {
            params.destination_end += 32 * back;
        }
        // A window that is at a whole vector of the destination must be at a whole vector of the source too. This holds
        // for all rows if it holds for the first row, and if every stride keeps the distance of both sides modulo 128
        // bits.
        let place = i64::from(params.destination_bit) / to;
        let start =
            i64::from(params.source_word) * 32 + i64::from(params.source_bit) + i64::from(self.view.first) * from;
        let aligned = (start - place * from) % 128 == 0
            && self.outer.iter().all(|axis| (axis.source - axis.destination as i64) % 128 * from % 128 == 0);
        let kind = if self.row.source == 1 { KernelKind::Rows } else { KernelKind::Gathered };
        let tail = if aligned || kind == KernelKind::Gathered { 0 } else { window.tail };
        let least = 2 * u64::from(window.elements) + u64::from(tail);
        let whole_codes = i64::from(params.destination_bit) % to == 0;
        let suits = self.outer.len() <= FEW_AXES && self.row.size >= least && whole_codes;
        suits.then_some((kind, params, ViewParams { tail, ..self.view }))
    }

    /// The most bits between the start of a cell or window of `size` bits and the start of a row in it. Rows start at
    /// `place` plus sums of strides. Modulo `size`, these sums are multiples of `step`, so this is the largest start
    /// below `size`.
    fn most_before(&self, size: u64, place: u64, bits: u64) -> u64 {
        let step = self.outer.iter().fold(size, |step, axis| gcd(step, axis.destination % size * bits));
        size - step + place % step
    }
}
