//! The scales and zero points of a piece, one for every [`GRANULE`] elements.

use crate::cpu::codes::F32_SIGN;
use crate::cpu::scaled::pieces::REGISTER_PIECE;
use crate::cpu::scaled::scales::{Rows, Scales};

/// The smallest block of common formats. Blocks of a multiple of it begin at a granule.
pub(super) const GRANULE: usize = 16;

const COUNT: usize = REGISTER_PIECE / GRANULE;

/// The scales and zero points of the granules of a piece.
pub(super) struct Granules {
    pub scales: [f32; COUNT],
    pub zero_points: [f32; COUNT],
    /// The codes of the least and of the greatest magnitude of the scales. NaN is greater than ∞.
    pub magnitudes: [u32; 2],
}

impl Granules {
    pub(super) fn new() -> Self {
        Self { scales: [0.0; COUNT], zero_points: [0.0; COUNT], magnitudes: [0; 2] }
    }

    /// Replaces these by those of `elements` elements, at most a piece, from element `at` on, which begins a granule. Scales
    /// are multiplied by `factor`.
    #[inline(always)]
    pub(super) fn fill(&mut self, scales: &Scales<'_>, rows: &Rows, factor: f32, at: usize, elements: usize) {
        let count = elements.div_ceil(GRANULE);
        let (mut row, mut within, mut done) = (at / rows.len, at % rows.len, 0);
        while done < count {
            let first = rows.first_scale(row) + within / rows.block;
            let before = within % rows.block / GRANULE;
            let end = count.min(done + (rows.len - within).div_ceil(GRANULE));
            let each = rows.block.div_ceil(GRANULE);
            spread(
                &mut self.scales[done..end],
                &scales.values[first..],
                before,
                each,
                #[inline(always)]
                |scale| scale * factor,
            );
            if !scales.zero_points.is_empty() {
                spread(
                    &mut self.zero_points[done..end],
                    &scales.zero_points[first..],
                    before,
                    each,
                    #[inline(always)]
                    |point| point as f32,
                );
            }
            (row, within, done) = (row + 1, 0, end);
        }
        let (mut least, mut most) = (u32::MAX, 0);
        for scale in &self.scales[..count] {
            let magnitude = scale.to_bits() & !F32_SIGN;
            (least, most) = (least.min(magnitude), most.max(magnitude));
        }
        self.magnitudes = [least, most];
    }

    #[inline(always)]
    pub(super) fn scales_are_between(&self, [least, most]: [f32; 2]) -> bool {
        least.to_bits() <= self.magnitudes[0] && self.magnitudes[1] <= most.to_bits()
    }
}

/// Writes each of `values` to `each` granules, the first one to `before` fewer.
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
