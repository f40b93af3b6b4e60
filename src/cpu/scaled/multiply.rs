//! Multiplies FLOATs by the scales of their blocks.

use super::pieces::PIECE;
use super::scales::{Rows, Scales};
use crate::cpu::codes::{F32_NAN, F32_SIGN};
use crate::cpu::isa::Isa;

/// Blocks of at least this number of elements are multiplied one by one. The scales of shorter ones are written to an
/// array first: the compiler vectorises the product of two arrays for blocks of any size.
const LONG: usize = 64;

/// The scales that are written at a time: a vector of AVX-512, and the smallest block of common formats.
const GROUP: usize = 16;

/// The scale and the zero point of each element of a piece. A block that is not a multiple of [`GROUP`] is written beyond
/// its end, before the next one.
pub(super) struct Factors {
    scales: [f32; PIECE + GROUP],
    zero_points: [f32; PIECE + GROUP],
}

impl Factors {
    pub(super) fn new() -> Self {
        Self { scales: [0.0; PIECE + GROUP], zero_points: [0.0; PIECE + GROUP] }
    }

    /// Replaces each FLOAT of `numbers`, at most a piece, by `(number − zero point) · scale`. The first one is element
    /// `at` of the tensor. If not `can_be_nan`, no element is NaN or infinite.
    pub(super) fn multiply(
        &mut self,
        isa: Isa,
        scales: &Scales<'_>,
        rows: &Rows,
        can_be_nan: bool,
        at: usize,
        numbers: &mut [u8],
    ) {
        let (numbers, _) = numbers.as_chunks_mut::<4>();
        // Zero points of floats are 0. Subtracting would change NaN on some processors.
        let has_zero_points = !scales.zero_points.is_empty() && !can_be_nan;
        isa.run(
            #[inline(always)]
            || {
                let (mut has_special, mut done) = (false, 0);
                for segment in rows.segments(at, numbers.len()) {
                    let (mut index, mut in_block) = (segment.scale, rows.block - segment.before);
                    let end_of_row = done + segment.elements;
                    // The scales of a row lie as its elements: blocks of a column have no vectors of equal scales.
                    if rows.block == 1 {
                        let range = segment.scale..segment.scale + segment.elements;
                        let of_row = &scales.values[range.clone()];
                        for &scale in of_row {
                            has_special |= is_special(scale);
                        }
                        self.scales[done..end_of_row].copy_from_slice(of_row);
                        if has_zero_points {
                            let points = &mut self.zero_points[done..end_of_row];
                            for (to, &from) in points.iter_mut().zip(&scales.zero_points[range]) {
                                *to = from as f32;
                            }
                        }
                        done = end_of_row;
                    }
                    while done < end_of_row {
                        let end = done + in_block.min(end_of_row - done);
                        let scale = scales.values[index];
                        let zero_point = if has_zero_points { scales.zero_points[index] as f32 } else { 0.0 };
                        if rows.block >= LONG {
                            let block = &mut numbers[done..end];
                            if has_zero_points {
                                subtract(
                                    block,
                                    #[inline(always)]
                                    |_| zero_point,
                                );
                            }
                            multiply_by(
                                block,
                                can_be_nan,
                                is_special(scale),
                                #[inline(always)]
                                |_| scale,
                            );
                        } else {
                            has_special |= is_special(scale);
                            write(&mut self.scales, done, end, scale);
                            if has_zero_points {
                                write(&mut self.zero_points, done, end, zero_point);
                            }
                        }
                        (done, index, in_block) = (end, index + 1, rows.block);
                    }
                }
                if rows.block < LONG {
                    let (factors, points) = (&self.scales[..numbers.len()], &self.zero_points[..numbers.len()]);
                    if has_zero_points {
                        subtract(
                            numbers,
                            #[inline(always)]
                            |i| points[i],
                        );
                    }
                    multiply_by(
                        numbers,
                        can_be_nan,
                        has_special,
                        #[inline(always)]
                        |i| factors[i],
                    );
                }
            },
        );
    }
}

/// Whether the scale can give NaN with an infinite number, or with any.
#[inline(always)]
fn is_special(scale: f32) -> bool {
    !scale.is_finite() || scale == 0.0
}

/// Writes a number from `start` on, to `end` or beyond it.
#[inline(always)]
fn write(factors: &mut [f32; PIECE + GROUP], start: usize, end: usize, factor: f32) {
    let mut at = start;
    while at < end {
        factors[at..at + GROUP].copy_from_slice(&[factor; GROUP]);
        at += GROUP;
    }
}

/// Subtracts the zero point of each number.
#[inline(always)]
fn subtract(numbers: &mut [[u8; 4]], zero_point: impl Fn(usize) -> f32) {
    for i in 0..numbers.len() {
        numbers[i] = (f32::from_le_bytes(numbers[i]) - zero_point(i)).to_le_bytes();
    }
}

/// Multiplies each number by its scale, of which any or none is special.
#[inline(always)]
fn multiply_by(numbers: &mut [[u8; 4]], can_be_nan: bool, has_special: bool, scale: impl Fn(usize) -> f32) {
    if has_special {
        for i in 0..numbers.len() {
            numbers[i] = any_product(u32::from_le_bytes(numbers[i]), scale(i)).to_le_bytes();
        }
    } else if can_be_nan {
        for i in 0..numbers.len() {
            numbers[i] = finite_product(u32::from_le_bytes(numbers[i]), scale(i)).to_le_bytes();
        }
    } else {
        for i in 0..numbers.len() {
            numbers[i] = (f32::from_le_bytes(numbers[i]) * scale(i)).to_le_bytes();
        }
    }
}

/// The product of a number and a scale that is finite and not 0.
#[inline(always)]
fn finite_product(code: u32, scale: f32) -> u32 {
    let product = f32::from_bits(code) * scale;
    if product.is_nan() { code & F32_SIGN | F32_NAN } else { product.to_bits() }
}

/// The product of any number and any scale. Processors give NaNs of different signs and payloads, so that the NaN is
/// chosen here.
#[inline(always)]
fn any_product(code: u32, scale: f32) -> u32 {
    let product = f32::from_bits(code) * scale;
    // 0 · ∞ is positive.
    let of_scale = if scale.is_nan() { scale.to_bits() } else { 0 };
    let sign = if f32::from_bits(code).is_nan() { code } else { of_scale };
    if product.is_nan() { sign & F32_SIGN | F32_NAN } else { product.to_bits() }
}
