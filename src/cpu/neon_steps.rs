//! Steps of NEON that are neither a source with a sink nor a table.

use zerocopy::transmute;

use super::cast_loop::Step;
use super::codes::{F16_INFINITY, F16_MAGNITUDE, F16_SIGN};
use super::lanes::Lanes;
use super::lanes::neon::kernels::{self as k, D, W};
use super::lanes::neon::{Neon, pack, read, write};
use super::source::{F64Source, Numbers, Source};

/// Packs the low bits of bytes.
#[derive(Clone, Copy)]
pub(crate) struct Pack<const BITS: usize>;

impl<const BITS: usize> Step<Neon> for Pack<BITS> {
    const READ: usize = 64;
    const WRITTEN: usize = 8 * BITS;

    #[inline(always)]
    fn step(self, l: Neon, source: &[u8], destination: &mut [u8]) {
        let codes = [read(source, 0), read(source, 16), read(source, 32), read(source, 48)];
        pack::store::<BITS>(l, codes, destination);
    }
}

/// Unpacks codes to one in each byte.
#[derive(Clone, Copy)]
pub(crate) struct Unpack<const BITS: usize>;

impl<const BITS: usize> Step<Neon> for Unpack<BITS> {
    const READ: usize = 8 * BITS;
    const WRITTEN: usize = 64;

    #[inline(always)]
    fn step(self, l: Neon, source: &[u8], destination: &mut [u8]) {
        let codes = pack::load::<BITS>(l, source);
        for i in 0..4 {
            write(destination, 16 * i, codes[i]);
        }
    }
}

/// Numbers in binary32, with canonical NaNs, to FLOAT.
#[derive(Clone, Copy)]
pub(crate) struct ToF32<S>(pub S);

impl<S: Numbers<Neon>> Step<Neon> for ToF32<S> {
    const READ: usize = S::BITS / 8 * Neon::COUNT;
    const WRITTEN: usize = 4 * Neon::COUNT;

    #[inline(always)]
    fn step(self, l: Neon, source: &[u8], destination: &mut [u8]) {
        l.store_u32(self.0.numbers(l, source), destination);
    }
}

/// BOOL to floats of 16 bits, by the code of 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoolTo16(pub u16);

impl Step<Neon> for BoolTo16 {
    const READ: usize = 16;
    const WRITTEN: usize = 32;

    #[inline(always)]
    fn step(self, l: Neon, source: &[u8], destination: &mut [u8]) {
        let codes = read(source, 0);
        let is_zero = k::equal_8(l.0, codes, k::splat_8(l.0, 0));
        let is_zero = [k::zip_first_8(l.0, is_zero, is_zero), k::zip_last_8(l.0, is_zero, is_zero)];
        for i in 0..2 {
            let made = k::and_not_16(l.0, l.splat_u16(self.0), transmute!(is_zero[i]));
            write(destination, 16 * i, transmute!(made));
        }
    }
}

/// Floats and integers of at most 32 bits to DOUBLE.
#[derive(Clone, Copy)]
pub(crate) struct ToF64<S>(pub S);

impl<S: Numbers<Neon>> Step<Neon> for ToF64<S> {
    const READ: usize = S::BITS / 8 * Neon::COUNT;
    const WRITTEN: usize = 8 * Neon::COUNT;

    #[inline(always)]
    fn step(self, l: Neon, source: &[u8], destination: &mut [u8]) {
        let [a, b] = self.0.numbers(l, source);
        let canonical = if S::NANS { [l.canonical_f32(a), l.canonical_f32(b)] } else { [a, b] };
        l.store_f32_as_f64(canonical, destination);
    }
}

/// DOUBLE to FLOAT.
#[derive(Clone, Copy)]
pub(crate) struct F64ToF32;

impl Step<Neon> for F64ToF32 {
    const READ: usize = 8 * Neon::COUNT;
    const WRITTEN: usize = 4 * Neon::COUNT;

    #[inline(always)]
    fn step(self, l: Neon, source: &[u8], destination: &mut [u8]) {
        let [a, b, c, d] = l.load_64(source);
        let numbers = [k::f64_to_f32(l.0, a, b), k::f64_to_f32(l.0, c, d)];
        l.store_u32([l.canonical_quiet_f32(numbers[0]), l.canonical_quiet_f32(numbers[1])], destination);
    }
}

/// 64-bit integers to FLOAT. They are rounded to odd first, so that the second rounding is the only one.
#[derive(Clone, Copy)]
pub(crate) struct Int64ToF32<const SIGNED: bool>;

impl<const SIGNED: bool> Step<Neon> for Int64ToF32<SIGNED> {
    const READ: usize = 8 * Neon::COUNT;
    const WRITTEN: usize = 4 * Neon::COUNT;

    #[inline(always)]
    fn step(self, l: Neon, source: &[u8], destination: &mut [u8]) {
        let mut numbers = l.load_64(source);
        for number in &mut numbers {
            *number = l.i64_to_odd_f64::<SIGNED>(*number);
        }
        let [a, b, c, d] = numbers;
        l.store_u32([k::f64_to_f32(l.0, a, b), k::f64_to_f32(l.0, c, d)], destination);
    }
}

/// 64-bit integers to DOUBLE.
#[derive(Clone, Copy)]
pub(crate) struct Int64ToF64<const SIGNED: bool>;

impl<const SIGNED: bool> Step<Neon> for Int64ToF64<SIGNED> {
    const READ: usize = 64;
    const WRITTEN: usize = 64;

    #[inline(always)]
    fn step(self, l: Neon, source: &[u8], destination: &mut [u8]) {
        let numbers = l.load_64(source);
        for i in 0..4 {
            let number = if SIGNED { k::i64_to_f64(l.0, numbers[i]) } else { k::u64_to_f64(l.0, numbers[i]) };
            write(destination, 16 * i, transmute!(number));
        }
    }
}

/// DOUBLE to 64-bit integers.
#[derive(Clone, Copy)]
pub(crate) struct F64ToInt64<const SIGNED: bool>;

impl<const SIGNED: bool> Step<Neon> for F64ToInt64<SIGNED> {
    const READ: usize = 64;
    const WRITTEN: usize = 64;

    #[inline(always)]
    fn step(self, l: Neon, source: &[u8], destination: &mut [u8]) {
        let numbers = l.load_64(source);
        for i in 0..4 {
            write(destination, 16 * i, transmute!(l.f64_to_i64::<SIGNED>(numbers[i])));
        }
    }
}

/// FLOAT16 to 32-bit integers. ±∞ and NaN give 0, or the least signed integer.
#[derive(Clone, Copy)]
pub(crate) struct F16ToInt32<const SIGNED: bool>;

impl<const SIGNED: bool> Step<Neon> for F16ToInt32<SIGNED> {
    const READ: usize = 2 * Neon::COUNT;
    const WRITTEN: usize = 4 * Neon::COUNT;

    #[inline(always)]
    fn step(self, l: Neon, source: &[u8], destination: &mut [u8]) {
        let codes = l.load_u16(source);
        let magnitude = l.and_u16(codes, l.splat_u16(F16_MAGNITUDE));
        let is_special = l.greater_u16(magnitude, l.splat_u16(F16_INFINITY - 1));
        // The instruction gives the least integer for −∞.
        let finite = match SIGNED {
            true => l.select_u16(is_special, l.splat_u16(F16_SIGN | F16_INFINITY), codes),
            false => k::and_not_16(l.0, codes, is_special),
        };
        let [a, b] = l.widen_f16(finite);
        l.store_u32([k::f32_to_i32(l.0, a), k::f32_to_i32(l.0, b)], destination);
    }
}

/// BFLOAT16 and FLOAT to the low words of 64-bit integers; 0 for a value out of range and for NaN.
#[derive(Clone, Copy)]
pub(crate) struct ToUint32<S>(pub S);

impl<S: Numbers<Neon>> Step<Neon> for ToUint32<S> {
    const READ: usize = S::BITS / 8 * Neon::COUNT;
    const WRITTEN: usize = 4 * Neon::COUNT;

    #[inline(always)]
    fn step(self, l: Neon, source: &[u8], destination: &mut [u8]) {
        let numbers = self.0.numbers(l, source);
        let [a, b, c, d] = l.f32_to_f64(numbers);
        let integers = [low_words(l, a, b), low_words(l, c, d)];
        let limit = k::splat_32(l.0, (127 + 63) << 23);
        let fits = [k::less_magnitude_f32(l.0, numbers[0], limit), k::less_magnitude_f32(l.0, numbers[1], limit)];
        l.store_u32(l.and_u32(integers, fits), destination);
    }
}

/// DOUBLE to the low words of 64-bit integers; 0 for a value out of range and for NaN.
#[derive(Clone, Copy)]
pub(crate) struct F64ToUint32;

impl Step<Neon> for F64ToUint32 {
    const READ: usize = F64Source::BITS / 8 * Neon::COUNT;
    const WRITTEN: usize = 4 * Neon::COUNT;

    #[inline(always)]
    fn step(self, l: Neon, source: &[u8], destination: &mut [u8]) {
        let numbers = l.load_64(source);
        let [a, b, c, d] = numbers;
        let integers = [low_words(l, a, b), low_words(l, c, d)];
        let mut fits = numbers;
        for number in &mut fits {
            *number = k::less_magnitude_f64(l.0, *number, k::splat_64(l.0, (1023 + 63) << 52));
        }
        let [a, b, c, d]: [W; 4] = transmute!(fits);
        let fits = [k::even_32(l.0, a, b), k::even_32(l.0, c, d)];
        l.store_u32(l.and_u32(integers, fits), destination);
    }
}

/// The low words of the integer parts of four numbers.
#[inline(always)]
fn low_words(l: Neon, a: D, b: D) -> W {
    k::even_32(l.0, transmute!(k::f64_to_i64(l.0, a)), transmute!(k::f64_to_i64(l.0, b)))
}
