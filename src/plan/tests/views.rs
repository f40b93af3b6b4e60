//! Checks plans of views by doing what the kernels do: each element is cast once, and no index leaves its binding.

use std::collections::HashMap;

use super::*;
use crate::kernel::{BLOCK, VIEW_SIZE, Window};
use crate::types::spec::CastSpec;

/// The work of a dispatch: for each element, the bits of the buffers where its codes start.
struct Casts<'a> {
    conversion: &'a Conversion,
    dispatch: &'a Dispatch,
    view: &'a ViewParams,
    window: Window,
    block: Option<Block>,
    done: Vec<(u64, u64)>,
}

impl Casts<'_> {
    /// The width of a code, and of a cell, in places of the destination.
    fn step_and_cell(&self) -> (u32, u32) {
        let bits = self.conversion.to.code_bits();
        if bits < 32 { (bits, 32) } else { (1, 1) }
    }

    /// `row_at` of `shaders/entry/view.wgsl`.
    fn row_at(&self, row: u32) -> (u32, u32) {
        let params = &self.dispatch.params;
        let (mut rest, mut source, mut destination) = (row, self.view.first, 0u32);
        let few = self.dispatch.kind != KernelKind::Strided;
        assert!(!few || self.view.axes <= 4);
        for axis in 0..if few { 4 } else { self.view.axes as usize } {
            let left = self.view.shape[axis].divide(rest);
            // The last of four axes takes what is left.
            let index = if few && axis == 3 { rest } else { rest - left * self.view.shape[axis].number };
            rest = left;
            source = source.wrapping_add(index.wrapping_mul(self.view.source_strides[axis]));
            destination += index * self.view.destination_strides[axis];
        }
        let (step, _) = self.step_and_cell();
        (source, params.destination_bit / (self.conversion.to.code_bits() / step) + destination * step)
    }

    fn run(&mut self) {
        match self.dispatch.kind {
            KernelKind::Transposed => self.run_transposed(),
            _ => self.run_rows(),
        }
    }

    /// `main` of `view_tiles.wgsl` or of `view_blocks.wgsl`.
    fn run_transposed(&mut self) {
        let params = self.dispatch.params;
        let (step, cell_size) = self.step_and_cell();
        let block = self.block.unwrap();
        for number in 0..self.dispatch.workgroups[0] * self.dispatch.workgroups[1] {
            let rest = self.view.invocations.divide(number);
            let item = self.view.column_blocks.divide(rest);
            let (outer, rows) = (self.view.column_rows.divide(item), self.view.column_rows.number);
            let (along, column) =
                (number - rest * self.view.invocations.number, rest - item * self.view.column_blocks.number);
            let column = column * block.columns;
            let row = (outer * self.view.columns + column) * rows + (item - outer * rows);
            if row >= params.count {
                continue;
            }
            let at = self.row_at(row);
            let position = |element: u32, beside: u32| {
                at.0.wrapping_add(element.wrapping_mul(self.view.source_step)).wrapping_add(beside)
            };
            let along = along * block.row;
            let columns = block.columns.min(self.view.columns - column);
            if let Some(vectors) = block.vectors {
                assert_eq!((self.view.row % BLOCK, self.view.columns % BLOCK), (0, 0));
                for element in along..(along + block.row).min(self.view.row) {
                    for beside in 0..columns {
                        let place = at.1 + element * step + beside * self.view.column_step * step;
                        if beside % BLOCK == 0 && element % BLOCK == 0 {
                            // Vectors of the source and of the destination start here.
                            let bit = self.source_bit(position(element, beside), BLOCK);
                            let bits = u64::from(vectors.source_alignment * self.conversion.from.code_bits());
                            assert_eq!((bit - self.dispatch.source.offset * 8) % bits, 0);
                            let bits = self.conversion.to.code_bits();
                            let bit = params.destination_word * 32 + place * (bits / step);
                            assert_eq!(bit % (vectors.destination_alignment * bits), 0);
                        }
                        self.element(position(element, beside), place);
                    }
                }
                continue;
            }
            let before = cell_size / step - 1;
            let cells = block.row * step / cell_size;
            for (beside, cell) in (0..columns).flat_map(|beside| (0..cells).map(move |cell| (beside, cell))) {
                let start = at.1 + beside * self.view.column_step * step;
                let end = start + self.view.row * step;
                let cell = start / cell_size + along * step / cell_size + cell;
                let place = cell * cell_size;
                if place >= start && place + cell_size <= end {
                    let first = (place - start) / step;
                    assert!(first + before >= along && first + cell_size / step <= along + block.row);
                    for element in first..first + cell_size / step {
                        self.element(position(element, beside), start + element * step);
                    }
                } else if place < end {
                    self.cell(row + beside * rows, (position(0, beside), start), cell);
                }
            }
        }
    }

    /// `main` of `view_cells.wgsl`, of `view_windows.wgsl` or of `view_ends.wgsl`.
    fn run_rows(&mut self) {
        let params = self.dispatch.params;
        let (step, cell_size) = self.step_and_cell();
        let invocations = self.dispatch.workgroups[0] * self.dispatch.workgroups[1] * VIEW_SIZE;
        assert!(invocations >= params.count * self.view.invocations.number);
        for invocation in 0..invocations {
            let row = self.view.invocations.divide(invocation);
            if row >= params.count {
                continue;
            }
            let at = self.row_at(row);
            let end = at.1 + self.view.row * step;
            let index = invocation - row * self.view.invocations.number;
            let cells = self.window.cells(self.conversion);
            let size = cells * cell_size;
            if matches!(self.dispatch.kind, KernelKind::Rows | KernelKind::Gathered) {
                let window = at.1.div_ceil(size) + index;
                if (window + 1) * size + self.view.tail * step <= end {
                    assert_eq!((window * size - at.1) % step, 0);
                    let along = ((window * size - at.1) / step).wrapping_mul(self.view.source_step);
                    self.window(at.0.wrapping_add(along), window * size, self.view.tail);
                }
                continue;
            }
            let mut cell = at.1 / cell_size + index;
            if self.dispatch.kind == KernelKind::Ends {
                if index >= cells {
                    cell = (end - self.view.tail * step) / size * cells + (index - cells);
                } else if cell >= at.1.div_ceil(size) * cells {
                    continue;
                }
            }
            let place = cell * cell_size;
            if cell_size % step == 0 && place >= at.1 && place + cell_size <= end {
                for lane in 0..cell_size / step {
                    let element = (place - at.1) / step + lane;
                    self.element(at.0.wrapping_add(element.wrapping_mul(self.view.source_step)), place + lane * step);
                }
            } else if place < end {
                self.cell(row, at, cell);
            }
        }
    }

    /// Casts a whole window. The loads of its vectors must stay inside the binding.
    fn window(&mut self, position: u32, place: u32, tail: u32) {
        let elements = self.window.elements;
        if self.dispatch.kind == KernelKind::Rows && self.window.source_vector == 4 {
            let first = self.source_bit(position, elements);
            let bit = first - self.dispatch.source.offset * 8;
            let words = u64::from(elements * self.conversion.from.code_bits() / 32);
            let vectors = words / 4 + u64::from(!bit.is_multiple_of(128));
            assert!(tail > 0 || bit.is_multiple_of(128));
            assert!((bit / 128 + vectors) * 16 <= self.dispatch.source.size);
        }
        assert_eq!(self.dispatch.params.destination_word % self.window.vector, 0);
        let (step, _) = self.step_and_cell();
        for element in 0..elements {
            let along = element.wrapping_mul(self.view.source_step);
            self.element(position.wrapping_add(along), place + element * step);
        }
    }

    /// `store_cell` of `view_lanes.wgsl` or of `view_words.wgsl`.
    fn cell(&mut self, row: u32, at: (u32, u32), cell: u32) {
        let params = self.dispatch.params;
        let (step, size) = self.step_and_cell();
        assert_eq!(size, 32);
        let base = cell * 32;
        if row > 0 && base < at.1 && self.row_at(row - 1).1 + self.view.row * step > base {
            return;
        }
        let word = params.destination_word + cell;
        assert!(u64::from(word) * 4 < self.dispatch.destination.size);
        let begin = params.destination_bit;
        let (mut current, mut here) = (row, at);
        let last = (base + 32 - begin.min(base + 32)).div_ceil(step);
        for index in (base.max(begin) - begin) / step..last {
            let bit = begin + index * step;
            if current < params.count && bit >= here.1 + self.view.row * step {
                current += 1;
                here = self.row_at(current);
            }
            // A code of 6 bits is stored in two words.
            if current < params.count && bit >= here.1 && bit >= base {
                let position = here.0.wrapping_add(((bit - here.1) / step).wrapping_mul(self.view.source_step));
                self.element(position, bit);
            }
        }
    }

    /// The bit where the code at a position starts. All `count` codes from there on must lie in the binding.
    fn source_bit(&self, position: u32, count: u32) -> u64 {
        let Dispatch { source, params, .. } = self.dispatch;
        let bits = u64::from(self.conversion.from.code_bits());
        let bit = u64::from(params.source_word) * 32 + u64::from(params.source_bit) + u64::from(position) * bits;
        assert!(bit + u64::from(count) * bits <= source.size * 8);
        source.offset * 8 + bit
    }

    fn element(&mut self, position: u32, place: u32) {
        let Dispatch { destination, params, .. } = self.dispatch;
        let bits = u64::from(self.conversion.to.code_bits());
        let (step, _) = self.step_and_cell();
        let bit = u64::from(params.destination_word) * 32 + u64::from(place) * (bits / u64::from(step));
        assert!(bit + bits <= destination.size * 8);
        self.done.push((self.source_bit(position, 1), destination.offset * 8 + bit));
    }
}

/// Where each element of a view starts on both sides, found by a loop over its axes.
fn expected(conversion: &Conversion, view: &View<'_>, shape: &[u64], offsets: Offsets) -> HashMap<u64, u64> {
    let (source, destination) = view.sides();
    let mut places = vec![(view.source_first() as i64, view.destination_first() as i64)];
    for (axis, &size) in shape.iter().enumerate() {
        let strides = (source[axis], destination[axis]);
        places = places
            .iter()
            .flat_map(|place| (0..size as i64).map(move |i| (place.0 + i * strides.0, place.1 + i * strides.1)))
            .collect();
    }
    let [from, to] = [conversion.from, conversion.to].map(|t| u64::from(t.code_bits()));
    let place = |&(s, d): &(i64, i64)| (offsets.destination + d as u64 * to, offsets.source + s as u64 * from);
    places.iter().map(place).collect()
}

pub(super) fn check_view(
    conversion: &Conversion,
    view: &View<'_>,
    shape: &[u64],
    offsets: Offsets,
    settings: &PlanSettings,
) -> Vec<Dispatch> {
    let (strided, elements) = Strided::new(view, conversion).unwrap();
    let dispatches = plan_view(conversion, &strided, offsets, settings).unwrap();
    let limits = &settings.limits;
    let mut left = expected(conversion, view, shape, offsets);
    assert_eq!(left.len() as u64, elements);
    for dispatch in &dispatches {
        let params = dispatch.view.as_deref().unwrap();
        let context = || format!("{} to {}, {view:?} at {offsets:?}: {dispatch:?}", conversion.from, conversion.to);
        for range in [dispatch.source, dispatch.destination] {
            assert_eq!(range.offset % limits.offset_alignment, 0, "{}", context());
            assert!(range.size % 4 == 0 && range.size <= limits.binding_size, "{}", context());
        }
        let (source, destination) = (dispatch.source, dispatch.destination);
        let overlap =
            source.offset < destination.offset + destination.size && destination.offset < source.offset + source.size;
        assert!(dispatch.access != Access::Writable || !overlap, "{}", context());
        let [x, y] = dispatch.workgroups;
        assert!((1..=limits.workgroups).contains(&x) && (1..=limits.workgroups).contains(&y), "{}", context());
        assert_eq!(dispatch.params.pitch, x, "{}", context());
        assert!(params.shape[..params.axes as usize].iter().all(|axis| axis.number > 1), "{}", context());
        let window = Window::new(conversion, dispatch.access, settings.tuning.lookup);
        let block = Block::new(conversion, dispatch.access, settings.tuning.lookup);
        let mut casts = Casts { conversion, dispatch, view: params, window, block, done: Vec::new() };
        casts.run();
        assert!(casts.done.len() as u64 <= settings.tuning.dispatch_elements.max(1), "{}", context());
        for (source, destination) in casts.done {
            assert_eq!(left.remove(&destination), Some(source), "{}", context());
        }
    }
    let context = || format!("{} to {}, {view:?} at {offsets:?}", conversion.from, conversion.to);
    assert!(left.is_empty(), "{}", context());
    // The last byte is filled with zeros if the view pads it.
    let bits = u64::from(conversion.to.code_bits());
    let end = (offsets.destination + strided.destination_extent * bits).next_multiple_of(8);
    let with_ends = dispatches.iter().filter(|dispatch| dispatch.params.destination_end != 0);
    let ends: Vec<_> = with_ends
        .map(|Dispatch { destination, params, .. }| {
            destination.offset * 8 + u64::from(params.destination_word) * 32 + u64::from(params.destination_end)
        })
        .collect();
    assert_eq!(!ends.is_empty(), strided.pads && !offsets.keeps_rest && bits < 8, "{}", context());
    assert!(ends.iter().all(|&at| at == end), "{}", context());
    dispatches
}

#[test]
fn views_whose_elements_follow_one_another_are_dense() {
    use ElementType::{FLOAT, FLOAT16, INT4};
    let is_dense = |view: View<'_>, to: ElementType| {
        let conversion = Conversion::new(FLOAT, to, &CastOptions::default()).unwrap();
        Strided::new(&view, &conversion).unwrap().0.is_dense(to.code_bits())
    };
    for shape in [&[][..], &[1, 1], &[5], &[2, 3]] {
        assert!(is_dense(View::new(shape), INT4), "{shape:?}");
    }
    let (row, matrix) = (View::new(&[5]), View::new(&[2, 3]));
    assert!(!is_dense(matrix.with_source_strides(&[4, 1]), FLOAT16), "rows with gaps");
    for strides in [[2], [-1]] {
        assert!(!is_dense(row.with_source_strides(&strides), FLOAT16), "{strides:?}");
        assert!(!is_dense(row.with_destination_strides(&strides), FLOAT16), "{strides:?}");
    }
    // With strides of its own, a destination keeps the bits after its last element.
    assert!(is_dense(row.with_destination_strides(&[1]), FLOAT16));
    assert!(is_dense(matrix.with_destination_strides(&[3, 1]), INT4), "three bytes");
    assert!(!is_dense(row.with_destination_strides(&[1]), INT4), "half a byte is left");
}

/// Two axes are merged if all steps of the inner axis together are one step of the outer one, on both sides.
#[test]
fn neighbouring_axes_are_merged_where_both_sides_allow_it() {
    let conversion = Conversion::new(ElementType::FLOAT, ElementType::FLOAT16, &CastOptions::default()).unwrap();
    for (source, destination, axes) in [
        ([24, 6, 1], [24, 6, 1], 1),
        ([48, 12, 2], [24, 6, 1], 1),
        ([24, 7, 1], [24, 6, 1], 3),
        ([24, 6, 1], [48, 7, 1], 3),
        ([25, 6, 1], [24, 6, 1], 2),
        ([24, 6, 1], [25, 6, 1], 2),
        ([-24, -6, -1], [24, 6, 1], 1),
        ([0, 0, 0], [24, 6, 1], 1),
    ] {
        let view = View::new(&[3, 4, 6]).with_source_strides(&source).with_destination_strides(&destination);
        let (strided, _) = Strided::new(&view, &conversion).unwrap();
        assert_eq!(strided.axes().len(), axes, "{source:?} to {destination:?}");
    }
}

/// Sizes that are not whole words are rounded down, and an alignment that is no power of two is rounded up.
#[test]
fn views_are_planned_within_limits_of_any_size() {
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
    let view = View::new(&[60, 100]).with_source_strides(&[1, 60]);
    let ranges = |binding_size, offset_alignment| {
        let limits = PlanLimits { binding_size, offset_alignment, ..PlanLimits::default() };
        let placement = Placement::two_buffers(Position::whole(0), Position::whole(0));
        let plan = Plan::view(&spec, &view, &placement, &PlanSettings { limits, ..PlanSettings::default() }).unwrap();
        let bindings = plan.dispatches().iter().flat_map(|planned| planned.bindings());
        bindings.map(|binding| (binding.offset, binding.size)).collect::<Vec<_>>()
    };
    assert!(ranges(2048, 32).len() > 2);
    for (binding_size, offset_alignment) in [(2048, 20), (2049, 32), (2050, 31), (2051, 17)] {
        assert_eq!(ranges(binding_size, offset_alignment), ranges(2048, 32), "{binding_size}, {offset_alignment}");
    }
}

#[test]
fn dense_views_are_planned_as_tensors_and_others_are_not() {
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
    let (placement, settings) =
        (Placement::two_buffers(Position::whole(0), Position::whole(0)), PlanSettings::default());
    let tensor = Plan::new(&spec, 6000, &placement, &settings).unwrap();
    let of_view = |view: View<'_>| Plan::view(&spec, &view, &placement, &settings).unwrap();
    let matrix = View::new(&[60, 100]);
    assert_eq!(of_view(matrix), tensor);
    assert_ne!(of_view(matrix.with_source_strides(&[1, 60])), tensor);
    let empty = of_view(View::new(&[60, 0]).with_source_strides(&[1, 60]));
    assert!(empty.kernels().is_empty() && empty.dispatches().is_empty());
}

#[test]
fn views_cast_each_element_once_and_stay_inside_their_bindings() {
    let small = PlanLimits { binding_size: 2 << 10, offset_alignment: 32, ..PlanLimits::default() };
    let computed = PlanTuning { lookup: CodeLookup::Computed, ..PlanTuning::default() };
    let watchdog = PlanTuning { dispatch_elements: 300, ..computed };
    let few = PlanLimits { workgroups: 2, ..PlanLimits::default() };
    let all = [
        PlanSettings::default(),
        PlanSettings { tuning: computed, ..PlanSettings::default() },
        PlanSettings { limits: small, tuning: watchdog },
        PlanSettings { limits: few, ..PlanSettings::default() },
    ];
    let shapes: [(&[u64], &[i64], &[i64]); 15] = [
        (&[1], &[9], &[1]),
        (&[5], &[0], &[-3]),
        (&[3, 7], &[1, 3], &[7, 1]),
        (&[10, 71], &[75, 1], &[71, 1]),
        (&[4, 131], &[131, 1], &[-140, 1]),
        (&[5, 128], &[-128, 1], &[128, 1]),
        (&[3, 128], &[192, 1], &[256, 1]),
        (&[9, 41], &[1, 9], &[41, 1]),
        (&[12, 2, 40], &[1, 800, 16], &[-40, 480, 1]),
        (&[5, 128], &[133, 1], &[131, 1]),
        (&[9, 64], &[1, 9], &[65, 1]),
        (&[2, 14, 41], &[800, 1, 16], &[704, 44, 1]),
        (&[2, 36, 3, 37], &[1, 2, 4000, 72], &[8000, 40, 1600, 1]),
        (&[2, 1, 3, 70], &[1, 50, 2, -6], &[1, 9, 600, 8]),
        (&[1, 2, 3, 4, 1, 2, 3], &[1, 1, 0, 4, 1, 2, 9], &[1, 1, -2, 6, 5, 60, 120]),
    ];
    for conversion in conversions() {
        for (shape, source, destination) in shapes {
            let view = View::new(shape).with_source_strides(source).with_destination_strides(destination);
            let size = |t: ElementType| u64::from(t.code_bits() / 8).max(1);
            let unit = size(conversion.from).max(size(conversion.to));
            let apart = |start: u64, distance: u64| Offsets::one_buffer(start * unit, (start + distance) * unit);
            let mut offsets = offsets(&conversion);
            offsets.extend([apart(3, 8000), apart(0, 1 << 28)]);
            for (index, &offsets) in offsets.iter().enumerate() {
                check_view(&conversion, &view, shape, offsets, &all[index % all.len()]);
            }
            check_moved(&conversion, &view);
        }
    }
}

/// A destination without strides of its own ends with a whole byte.
#[test]
fn views_fill_the_last_byte_of_a_destination_without_strides() {
    for conversion in conversions() {
        for (shape, source) in [(&[3, 7][..], &[1, 3][..]), (&[5, 131], &[-140, 1]), (&[2, 36, 37], &[1, 2, 72])] {
            let view = View::new(shape).with_source_strides(source);
            for offsets in offsets(&conversion) {
                check_view(&conversion, &view, shape, offsets, &PlanSettings::default());
            }
        }
    }
}

/// A view is one dispatch if its bindings fit and its positions can be counted. Positions are elements of either side,
/// and bits of a destination with narrow codes.
#[test]
fn views_are_cut_where_positions_are_too_many() {
    let dispatches = |from, to, source: [i64; 2], destination: [i64; 2], binding_size| {
        let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
        let view = View::new(&[2, 3]).with_source_strides(&source).with_destination_strides(&destination);
        let limits = PlanLimits { binding_size, ..PlanLimits::default() };
        let (strided, _) = Strided::new(&view, &conversion).unwrap();
        let settings = PlanSettings { limits, ..PlanSettings::default() };
        plan_view(&conversion, &strided, Offsets::default(), &settings).unwrap().len()
    };
    use ElementType::{FLOAT, INT2, INT4, INT8};
    let most = u64::from(u32::MAX) & !3;
    // The second row's last element is at the row's stride plus two.
    let last = |elements: i64| elements - 3;
    for (from, to, source, destination) in
        [(INT2, INT8, 1 << 31, 100), (INT8, INT4, 100, 1 << 29), (INT8, INT2, 100, 1 << 30)]
    {
        for (more, expected) in [(0, 1), (1, 2)] {
            let row = |elements| if elements > 100 { last(elements) + more } else { elements };
            let made = dispatches(from, to, [row(source), 1], [row(destination), 1], most);
            assert_eq!(made, expected, "{from} to {to}");
        }
    }
    assert_eq!(dispatches(INT8, FLOAT, [100, 1], [1 << 27, 1], most), 1);
    for (from, to) in [(FLOAT, INT8), (INT8, FLOAT)] {
        let strides = |t| [if t == FLOAT { last(1024) } else { 8 }, 1];
        assert_eq!(dispatches(from, to, strides(from), strides(to), 4096), 1, "{from} to {to}");
        assert_eq!(dispatches(from, to, strides(from), strides(to), 4092), 2, "{from} to {to}");
    }
}

/// Dispatches that were moved bind what those of a plan for the slices bind, up to the alignment.
fn check_moved(conversion: &Conversion, view: &View<'_>) {
    let settings = PlanSettings::default();
    let (strided, _) = Strided::new(view, conversion).unwrap();
    for offsets in offsets(conversion) {
        let plan = |offsets| plan_view(conversion, &strided, offsets, &settings).unwrap();
        let moved: Option<Vec<_>> =
            plan(Offsets::default()).iter().map(|dispatch| dispatch.moved(offsets, &settings.limits)).collect();
        if let Some(mut moved) = moved {
            // Views have no sentinel.
            moved.iter_mut().for_each(|dispatch| dispatch.params.sentinel_word = 0);
            assert_eq!(moved, plan(offsets), "{offsets:?}");
        }
    }
}

#[test]
fn long_rows_take_whole_windows() {
    let conversion = Conversion::new(ElementType::FLOAT, ElementType::FLOAT16, &CastOptions::default()).unwrap();
    let kinds = |shape: &[u64], source: &[i64], destination: &[i64]| {
        let view = View::new(shape).with_source_strides(source).with_destination_strides(destination);
        let dispatches = check_view(&conversion, &view, shape, Offsets::default(), &PlanSettings::default());
        dispatches.iter().map(|dispatch| (dispatch.kind, dispatch.view.as_ref().unwrap().tail)).collect::<Vec<_>>()
    };
    use KernelKind::*;
    // Rows that start at whole vectors on both sides and fill them need nothing else.
    assert_eq!(kinds(&[9, 64], &[128, 1], &[64, 1]), [(Rows, 0)]);
    assert_eq!(kinds(&[9, 64], &[-64, 1], &[72, 1]), [(Rows, 0)]);
    assert_eq!(kinds(&[9, 63], &[64, 1], &[64, 1]), [(Rows, 0), (Ends, 0)]);
    assert_eq!(kinds(&[9, 63], &[64, 1], &[63, 1]), [(Rows, 4), (Ends, 4)]);
    assert_eq!(kinds(&[9, 63], &[64, 2], &[63, 1]), [(Gathered, 0), (Ends, 0)]);
    assert_eq!(kinds(&[64, 9], &[9, 1], &[10, 1]), [(Strided, 0)]);
}
