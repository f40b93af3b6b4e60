//! Where the slices of a tested cast lie, and in which order the cast reads its source.

use super::codes::ELEMENTS;
use crate::caster::{Caster, Prepared};
use crate::plan::{Coverage, Offsets, PlanLimits};
use crate::types::conversion::Conversion;
use crate::types::element::ElementType;
use crate::types::error::Error;
use crate::types::spec::CastSpec;

/// The shapes of views: transposed rows that are whole blocks, rows that are not whole windows, and rows shorter than a
/// window.
const TRANSPOSED: [usize; 2] = [8, 8192];
const UNEVEN: [usize; 2] = [7, ELEMENTS / 7];
const SHORT: [usize; 2] = [ELEMENTS / 3, 3];

/// Bytes around slices that must stay as they are.
pub(super) const GUARD: u64 = 64;

/// The order in which a cast reads its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Dense,
    /// As the transpose of a matrix.
    Transposed,
    /// As the transpose of a matrix with too few columns for the kernel of transposed views.
    Gathered,
    /// The rows of a matrix from the last to the first.
    Upwards,
    /// The rows of such a matrix, which are too short for whole windows, from the last to the first.
    ShortUpwards,
}

impl Order {
    /// The orders of a coverage. Together, the orders of views take every kernel of views.
    pub(super) fn of(coverage: Coverage) -> &'static [Self] {
        const ALL: [Order; 5] = [Order::Dense, Order::Transposed, Order::Gathered, Order::Upwards, Order::ShortUpwards];
        if coverage.includes(Coverage::Views) { &ALL } else { &ALL[..1] }
    }

    /// The view's shape.
    pub(super) fn shape(self) -> [usize; 2] {
        match self {
            Order::Dense => [1, ELEMENTS],
            Order::Transposed => TRANSPOSED,
            Order::Gathered | Order::Upwards => UNEVEN,
            Order::ShortUpwards => SHORT,
        }
    }

    /// The view's strides of the source.
    pub(super) fn strides(self) -> [i64; 2] {
        let [rows, columns] = self.shape().map(|size| size as i64);
        match self {
            Order::Dense => [columns, 1],
            Order::Transposed | Order::Gathered => [1, rows],
            Order::Upwards | Order::ShortUpwards => [-columns, 1],
        }
    }

    /// The number of elements of the result.
    pub(super) fn elements(self) -> usize {
        self.shape().iter().product()
    }

    /// The index of the source element for an element of the result.
    pub(super) fn source_index(self, index: usize) -> usize {
        let [rows, columns] = self.shape();
        let (row, column) = (index / columns, index % columns);
        match self {
            Order::Dense => index,
            Order::Transposed | Order::Gathered => row + column * rows,
            Order::Upwards | Order::ShortUpwards => (rows - 1 - row) * columns + column,
        }
    }
}

/// Where the slices of one cast lie, and the order in which it reads its source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrangement {
    pub offsets: Offsets,
    pub order: Order,
    /// The largest binding, if it is smaller than the device's. The slices are then too far apart for one binding.
    pub binding_size: Option<u64>,
}

impl Arrangement {
    pub(super) fn prepare(&self, caster: &Caster, spec: &CastSpec) -> Result<Prepared, Error> {
        let caster = caster.within(self.limits(caster.limits()));
        match self.order {
            Order::Dense => caster.prepare(spec, ELEMENTS as u64),
            order => caster.prepare_strided(spec, &order.shape().map(|size| size as u64), &order.strides()),
        }
    }

    pub(super) fn limits(&self, limits: &PlanLimits) -> PlanLimits {
        PlanLimits { binding_size: self.binding_size.unwrap_or(limits.binding_size), ..*limits }
    }
}

/// Arrangements that together use every kernel of a coverage and an order, except those that casts of host tensors use.
pub(super) fn arrangements(
    conversion: &Conversion,
    coverage: Coverage,
    limits: &PlanLimits,
    order: Order,
) -> Vec<Arrangement> {
    let size = |t: ElementType| u64::from(t.code_bits() / 8).max(1);
    let (from, to) = (conversion.from, conversion.to);
    let after = (GUARD + from.packed_bytes(ELEMENTS as u64).unwrap_or(0)).next_multiple_of(16) + GUARD;
    let (two, one) = (Offsets::two_buffers, Offsets::one_buffer);
    let dense = order == Order::Dense;
    let mut offsets = Vec::new();
    if !dense {
        offsets.extend([two(0, 0), one(GUARD, after)]);
    }
    if dense && coverage.includes(Coverage::Anywhere) {
        offsets.extend([two(size(from), 0), two(0, size(to))]);
    }
    if dense && coverage.includes(Coverage::OneBuffer) {
        offsets.extend([one(GUARD, after), one(GUARD + size(from), after + 2 * size(to))]);
        // In place, also between types of different widths.
        let start = GUARD + size(from).max(size(to));
        offsets.push(one(start, start));
    }
    let arranged = |offsets| Arrangement { offsets, order, binding_size: None };
    let mut all: Vec<_> = offsets.into_iter().map(arranged).collect();
    if coverage.includes(Coverage::OneBuffer) && limits.buffer_size > limits.binding_size {
        // A binding has room for one tensor in each half, and the slices are farther apart than a binding is long.
        let longest = [from, to].map(|t| t.packed_bytes(ELEMENTS as u64).unwrap_or(0)).into_iter().max().unwrap_or(0);
        let half = (longest + 2 * (GUARD + limits.offset_alignment)).next_multiple_of(16);
        let binding_size = (2 * half).min(limits.binding_size);
        let far = after + binding_size;
        let apart = |offsets| Arrangement { offsets, order, binding_size: Some(binding_size) };
        all.push(apart(one(GUARD, far)));
        if dense {
            all.push(apart(one(GUARD + size(from), far + 2 * size(to))));
        }
    }
    all
}
