//! Multiplies FLOATs by the scales of their blocks.

use super::PIECE;
use super::scales::{Rows, Scales};
use crate::cpu::codes::{F32_NAN, F32_SIGN};
use crate::cpu::isa::{Baseline, Instructions, Isa};

/// The scales that are written at a time: a vector of AVX-512, and the smallest block of common formats.
const GROUP: usize = 16;

/// The scale and the zero point of each element of a piece. The compiler vectorises the product of two arrays for blocks
/// of any size. A block that is not a multiple of [`GROUP`] is written beyond its end, before the next one.
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
        match isa {
            Isa::Portable => self.multiply_on(Baseline, scales, rows, can_be_nan, at, numbers),
            #[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
            Isa::Avx2(simd) => self.multiply_on(simd, scales, rows, can_be_nan, at, numbers),
            #[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
            Isa::Avx512(simd) => self.multiply_on(simd, scales, rows, can_be_nan, at, numbers),
        }
    }

    fn multiply_on<I: Instructions>(
        &mut self,
        instructions: I,
        scales: &Scales<'_>,
        rows: &Rows,
        can_be_nan: bool,
        at: usize,
        numbers: &mut [u8],
    ) {
        let (numbers, _) = numbers.as_chunks_mut::<4>();
        instructions.run(
            #[inline(always)]
            || {
                let is_any = self.fill(scales, rows, at, numbers.len());
                let (factors, points) = (&self.scales[..numbers.len()], &self.zero_points[..numbers.len()]);
                // Those of floats are 0. Subtracting would change NaN on some processors.
                if !scales.zero_points.is_empty() && !can_be_nan {
                    for i in 0..numbers.len() {
                        numbers[i] = (f32::from_le_bytes(numbers[i]) - points[i]).to_le_bytes();
                    }
                }
                if is_any {
                    for i in 0..numbers.len() {
                        numbers[i] = any_product(u32::from_le_bytes(numbers[i]), factors[i]).to_le_bytes();
                    }
                } else if can_be_nan {
                    for i in 0..numbers.len() {
                        numbers[i] = finite_product(u32::from_le_bytes(numbers[i]), factors[i]).to_le_bytes();
                    }
                } else {
                    for i in 0..numbers.len() {
                        numbers[i] = (f32::from_le_bytes(numbers[i]) * factors[i]).to_le_bytes();
                    }
                }
            },
        );
    }

    /// Writes the scales and the zero points of `elements` elements from `at` on. Returns whether a scale is 0, infinite
    /// or NaN.
    #[inline(always)]
    fn fill(&mut self, scales: &Scales<'_>, rows: &Rows, at: usize, elements: usize) -> bool {
        let mut is_any = false;
        let (mut row, mut within, mut filled) = (at / rows.len, at % rows.len, 0);
        while filled < elements {
            let end_of_row = filled + (rows.len - within).min(elements - filled);
            let mut index = rows.first_scale(row) + within / rows.block;
            let mut in_block = rows.block - within % rows.block;
            while filled < end_of_row {
                let end = filled + in_block.min(end_of_row - filled);
                let scale = scales.values[index];
                is_any |= !scale.is_finite() || scale == 0.0;
                write(&mut self.scales, filled, end, scale);
                if !scales.zero_points.is_empty() {
                    write(&mut self.zero_points, filled, end, scales.zero_points[index] as f32);
                }
                (filled, index, in_block) = (end, index + 1, rows.block);
            }
            (row, within) = (row + 1, 0);
        }
        is_any
    }
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
