//! Multiplies FLOATs by the scales of their blocks.

use super::scales::{Rows, Scales};
use crate::cpu::codes::{F32_NAN, F32_SIGN};
use crate::cpu::isa::{Baseline, Instructions, Isa};

/// Replaces each FLOAT of `numbers` by `(number − zero point) · scale`. The first one is element `at` of the tensor.
pub(super) fn multiply(isa: Isa, scales: &Scales<'_>, rows: &Rows, at: usize, numbers: &mut [u8]) {
    match isa {
        Isa::Portable => multiply_on(Baseline, scales, rows, at, numbers),
        #[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
        Isa::Avx2(simd) => multiply_on(simd, scales, rows, at, numbers),
        #[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
        Isa::Avx512(simd) => multiply_on(simd, scales, rows, at, numbers),
    }
}

fn multiply_on<I: Instructions>(instructions: I, scales: &Scales<'_>, rows: &Rows, at: usize, numbers: &mut [u8]) {
    instructions.run(
        #[inline(always)]
        || {
            let (mut numbers, _) = numbers.as_chunks_mut::<4>();
            let (mut row, mut within) = (at / rows.len, at % rows.len);
            while !numbers.is_empty() {
                let (in_row, rest) = numbers.split_at_mut((rows.len - within).min(numbers.len()));
                multiply_row(scales, rows.block, rows.first_scale(row), within, in_row);
                numbers = rest;
                (row, within) = (row + 1, 0);
            }
        },
    );
}

/// Multiplies a part of a row, which starts `within` elements after the row. The row's first block has the scale
/// `first`.
#[inline(always)]
fn multiply_row(scales: &Scales<'_>, block: usize, first: usize, within: usize, mut numbers: &mut [[u8; 4]]) {
    let (mut index, mut within) = (first + within / block, within % block);
    while !numbers.is_empty() {
        let (in_block, rest) = numbers.split_at_mut((block - within).min(numbers.len()));
        let zero_point = if scales.zero_points.is_empty() { 0 } else { scales.zero_points[index] };
        multiply_block(scales.values[index], zero_point as f32, in_block);
        numbers = rest;
        (index, within) = (index + 1, 0);
    }
}

#[inline(always)]
fn multiply_block(scale: f32, zero_point: f32, numbers: &mut [[u8; 4]]) {
    for number in numbers {
        let code = u32::from_le_bytes(*number);
        let product = (f32::from_bits(code) - zero_point) * scale;
        *number = if product.is_nan() { nan(code, scale) } else { product.to_bits() }.to_le_bytes();
    }
}

/// The NaN that is the product of an element and a scale. Processors give NaNs of different signs and payloads.
#[inline(always)]
fn nan(code: u32, scale: f32) -> u32 {
    let sign = match f32::from_bits(code).is_nan() {
        true => code & F32_SIGN,
        false if scale.is_nan() => scale.to_bits() & F32_SIGN,
        // 0 · ∞
        false => 0,
    };
    sign | F32_NAN
}
