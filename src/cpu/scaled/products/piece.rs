//! The scales and zero points of a piece.

use super::STEP;
use crate::cpu::codes::{F32_INFINITY, F32_SIGN};
use crate::cpu::lanes::Lanes;
use crate::cpu::scaled::pieces::{GRANULE, RegisterFactors};
use crate::cpu::scaled::scales::{Rows, Scales, Segment};

/// The least elements of a block that is worth factors, or a table, in registers.
const LONG: usize = 4 * STEP;

/// What has a scale.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Unit {
    /// A block of several steps.
    Block,
    /// Both granules of a step have the same scale.
    Step,
    Granule,
}

/// The scales and zero points of a piece.
pub(super) struct Piece<'a> {
    pub rows: &'a Rows,
    /// The first element.
    pub at: usize,
    factors: &'a RegisterFactors,
    /// What `factors` has the scales and zero points of.
    pub unit: Unit,
    /// The codes of the least and of the greatest magnitude of the scales.
    pub magnitudes: [u32; 2],
}

impl<'a> Piece<'a> {
    /// A piece of `elements` elements from element `at` on, which begins a granule. Scales are multiplied by `factor`.
    /// `None` if a scale is not finite: then products can be NaN whose elements are not.
    pub(super) fn new<L: Lanes>(
        l: L,
        scales: &Scales<'_>,
        rows: &'a Rows,
        factor: f32,
        [at, elements]: [usize; 2],
        factors: &'a mut RegisterFactors,
    ) -> Option<Self> {
        let unit = match rows.begin_at_multiples_of(STEP) {
            true if rows.block >= LONG => Unit::Block,
            true => Unit::Step,
            false => Unit::Granule,
        };
        let mut magnitudes = [0; 2];
        l.run(
            #[inline(always)]
            || {
                // The elements of a unit, and the units of a block.
                let (size, each) =
                    if unit == Unit::Block { (rows.block, 1) } else { (GRANULE, rows.block.div_ceil(GRANULE)) };
                let mut done = 0;
                for segment in rows.segments(at, elements) {
                    let in_block = if unit == Unit::Block { segment.before } else { 0 };
                    let end = done + (in_block + segment.elements).div_ceil(size);
                    let before = (segment.before - in_block) / GRANULE;
                    spread(
                        &mut factors[0][done..end],
                        &scales.values[segment.scale..],
                        before,
                        each,
                        #[inline(always)]
                        |scale| scale * factor,
                    );
                    if !scales.zero_points.is_empty() {
                        spread(
                            &mut factors[1][done..end],
                            &scales.zero_points[segment.scale..],
                            before,
                            each,
                            #[inline(always)]
                            |point| point as f32,
                        );
                    }
                    done = end;
                }
                let (mut least, mut most) = (u32::MAX, 0);
                for scale in &factors[0][..done] {
                    let magnitude = scale.to_bits() & !F32_SIGN;
                    (least, most) = (least.min(magnitude), most.max(magnitude));
                }
                magnitudes = [least, most];
            },
        );
        // NaN is greater than ∞.
        (magnitudes[1] < F32_INFINITY).then_some(Self { rows, at, factors, unit, magnitudes })
    }

    #[inline(always)]
    pub(super) fn scales_are_between(&self, [least, most]: [f32; 2]) -> bool {
        least.to_bits() <= self.magnitudes[0] && self.magnitudes[1] <= most.to_bits()
    }

    /// The number of the block that has element `at` of the piece, counted from the piece's first block.
    pub(super) fn block(&self, at: usize) -> usize {
        let count = |segment: Segment| (segment.before + segment.elements).div_ceil(self.rows.block);
        self.rows.segments(self.at, at + 1).map(count).sum::<usize>() - 1
    }

    /// The scale and the zero point of the block of this number.
    #[inline(always)]
    pub(super) fn of_block(&self, block: usize) -> [f32; 2] {
        [self.factors[0][block], self.factors[1][block]]
    }

    /// The scales and the zero points of the two granules of each step, from element `at` of the piece on.
    #[inline(always)]
    pub(super) fn of_granules(&self, at: usize) -> [&[[f32; 2]]; 2] {
        let [scales, zero_points] = self.factors;
        [&scales.as_chunks().0[at / STEP..], &zero_points.as_chunks().0[at / STEP..]]
    }
}

/// Writes each of `values` to `each` units, the first one to `before` fewer.
#[inline(always)]
fn spread<T: Copy>(granules: &mut [f32], values: &[T], before: usize, each: usize, made: impl Fn(T) -> f32 + Copy) {
    let first = if before == 0 { 0 } else { granules.len().min(each - before) };
    let (lead, granules) = granules.split_at_mut(first);
    if before > 0 {
        lead.fill(made(values[0]));
    }
    let values = &values[usize::from(before > 0)..];
    match each {
        1 => spread_by::<1, T>(granules, values, made),
        2 => spread_by::<2, T>(granules, values, made),
        8 => spread_by::<8, T>(granules, values, made),
        _ => {
            for (granules, &value) in granules.chunks_mut(each).zip(values) {
                granules.fill(made(value));
            }
        }
    }
}

/// As above, by a constant: the compiler vectorises this loop.
#[inline(always)]
fn spread_by<const EACH: usize, T: Copy>(granules: &mut [f32], values: &[T], made: impl Fn(T) -> f32) {
    let (whole, rest) = granules.as_chunks_mut::<EACH>();
    for (granules, &value) in whole.iter_mut().zip(values) {
        *granules = [made(value); EACH];
    }
    if !rest.is_empty() {
        rest.fill(made(values[whole.len()]));
    }
}
