//! Conversions of one element, mostly to 32 and 64 bits. The compiler vectorises loops over them for every instruction
//! set.
//!
//! Rust's float operations round to nearest, ties to even, and keep subnormals. Only the bits of their NaNs are
//! unspecified, so every NaN is replaced.

use super::codes::{
    F16_INFINITY, F16_MAGNITUDE, F32_BIAS, F32_INFINITY, F32_MAN, F32_NAN, F64_BIAS, F64_INFINITY, F64_MAN, F64_NAN,
};
use super::sign_rule::{ANY, NO_NEGATIVE_ZERO};
use crate::bits::reference::EncodeFloat;

/// The same number; NaN becomes the canonical NaN with the same sign.
#[inline(always)]
pub(crate) fn canonical_f32(x: u32) -> u32 {
    if f32::from_bits(x).is_nan() { F32_NAN | x & 1 << 31 } else { x }
}

#[inline(always)]
pub(crate) fn f32_to_f64(x: u32) -> u64 {
    let wide = f64::from(f32::from_bits(x));
    let nan = F64_NAN | u64::from(x & 1 << 31) << 32;
    if wide.is_nan() { nan } else { wide.to_bits() }
}

#[inline(always)]
pub(crate) fn f64_to_f32(x: u64) -> u32 {
    let narrow = f64::from_bits(x) as f32;
    let nan = F32_NAN | (x >> 32) as u32 & 1 << 31;
    if narrow.is_nan() { nan } else { narrow.to_bits() }
}

/// The magnitude of a FLOAT16 in binary32. NaN gives some NaN. Without `SUBNORMALS`, a subnormal gives some number
/// below the least normal one.
#[inline(always)]
pub(crate) fn f16_magnitude<const SUBNORMALS: bool>(magnitude: u32) -> u32 {
    let number = (magnitude << 13) + ((127 - 15) << 23);
    // A subnormal gets an implicit bit, and the subtraction removes it. The difference is exact.
    let subnormal = (f32::from_bits(number + (1 << 23)) - f32::from_bits((127 - 14) << 23)).to_bits();
    let number = if SUBNORMALS && magnitude < 0x0400 { subnormal } else { number };
    if magnitude >= u32::from(F16_INFINITY) { number | F32_INFINITY } else { number }
}

/// FLOAT16 to binary32; NaN is some NaN.
#[inline(always)]
pub(crate) fn f16_to_f32(code: u16) -> u32 {
    let code = u32::from(code);
    f16_magnitude::<true>(code & u32::from(F16_MAGNITUDE)) | (code & 0x8000) << 16
}

/// The integer part of a FLOAT16's magnitude; 0 for ∞ and NaN, for which `down` wraps around.
#[inline(always)]
fn f16_integer(code: u16) -> u16 {
    // Moves the leading bit to the top, then down to its place. A number below 1 has no integer part.
    let down = 30u16.wrapping_sub((code & F16_MAGNITUDE) >> 10);
    let significand = code << 5 | 1 << 15;
    if down < 16 { significand >> (down & 15) } else { 0 }
}

/// The low 16 bits of a FLOAT16's integer part; 0 for ±∞ and NaN.
#[inline(always)]
pub(crate) fn f16_to_int16(code: u16) -> u16 {
    let negative = (code as i16 >> 15) as u16;
    (f16_integer(code) ^ negative).wrapping_sub(negative)
}

/// A FLOAT16's integer part; `fail` for ±∞ and NaN.
#[inline(always)]
pub(crate) fn f16_to_int32(code: u16, fail: u32) -> u32 {
    let negative = (i32::from(code as i16) >> 31) as u32;
    let value = (u32::from(f16_integer(code)) ^ negative).wrapping_sub(negative);
    if (code & F16_MAGNITUDE) as i16 >= F16_INFINITY as i16 { fail } else { value }
}

/// FLOAT16 to a 64-bit integer.
#[inline(always)]
pub(crate) fn f16_to_int64<const SIGNED: bool>(code: u16) -> u64 {
    let negative = i64::from(code as i16) >> 63;
    let value = (i64::from(f16_integer(code)) ^ negative).wrapping_sub(negative) as u64;
    // For unsigned integers, +∞ gives 0: it is the only code above their range.
    let fail = if SIGNED || code != F16_INFINITY { 1 << 63 } else { 0 };
    if (code & F16_MAGNITUDE) as i16 >= F16_INFINITY as i16 { fail } else { value }
}

/// The low 16 bits of a BFLOAT16's integer part; 0 if that does not fit 32 bits.
#[inline(always)]
pub(crate) fn bf16_to_int16(code: u16) -> u16 {
    // Smaller numbers: moves the leading bit to the top, then down to its place. Larger numbers: moves the last bit to
    // the bottom, then up. Shifts beyond the word give 0, as values out of range do.
    let exponent = code >> 7 & 0xff;
    let (down, up) = (142u16.wrapping_sub(exponent), exponent.wrapping_sub(134));
    let small = if down < 16 { (code << 8 | 1 << 15) >> (down & 15) } else { 0 };
    let large = if up < 16 { (code & 0x7f | 0x80) << (up & 15) } else { 0 };
    let negative = (code as i16 >> 15) as u16;
    ((small | large) ^ negative).wrapping_sub(negative)
}

/// A 64-bit integer to binary64: one rounding to nearest, ties to even.
#[inline(always)]
pub(crate) fn int64_to_f64<const SIGNED: bool>(x: u64) -> u64 {
    // The halves become the last bits of the numbers 2^84 and 2^52. Signed integers are counted from -2^63.
    let (flip, offset) =
        if SIGNED { (1 << 31, (1u128 << 84) + (1 << 63) + (1 << 52)) } else { (0, (1 << 84) + (1 << 52)) };
    let high = f64::from_bits((x >> 32) ^ flip | 0x4530_0000_0000_0000);
    let low = f64::from_bits(x & 0xffff_ffff | 0x4330_0000_0000_0000);
    // The subtraction is exact; the addition rounds.
    ((high - offset as f64) + low).to_bits()
}

/// A 64-bit integer to binary32: one rounding to nearest, ties to even.
#[inline(always)]
pub(crate) fn int64_to_f32<const SIGNED: bool>(x: u64) -> u32 {
    (f64::from_bits(int64_to_f64::<SIGNED>(odd_int64::<SIGNED>(x))) as f32).to_bits()
}

/// A 64-bit integer to binary32, rounded to odd. It is rounded to odd twice, which gives the same as once.
#[inline(always)]
pub(crate) fn int64_to_odd_f32<const SIGNED: bool>(x: u64) -> u32 {
    let double = int64_to_f64::<SIGNED>(odd_int64::<SIGNED>(x));
    let lost = double & 0x1fff_ffff;
    let cut = double & !0x1fff_ffff | u64::from(lost != 0) << 29;
    (f64::from_bits(cut) as f32).to_bits()
}

/// A 64-bit integer rounded to odd at 53 bits, so that binary64 holds it and rounds once to binary32.
#[inline(always)]
fn odd_int64<const SIGNED: bool>(x: u64) -> u64 {
    // If a bit is cut off, the sum carries into the last bit that stays.
    if SIGNED {
        let cut = (x | ((x & 0x3ff) + 0x3ff)) & !0x3ff;
        let large = x.wrapping_add(1 << 53) >> 54 != 0;
        if large { cut } else { x }
    } else {
        let cut = (x | ((x & 0x7ff) + 0x7ff)) & !0x7ff;
        if x >> 53 != 0 { cut } else { x }
    }
}

/// A float to a 32-bit integer. A value out of range, and NaN, gives the least integer.
#[inline(always)]
pub(crate) fn f32_to_int32(x: u32) -> u32 {
    let magnitude = x & i32::MAX as u32;
    // Moves the leading bit to the top, then down to its place. A number below 1 has no integer part.
    let down = 158u32.wrapping_sub(magnitude >> 23);
    let significand = magnitude << 8 | 1 << 31;
    let size = if down < 32 { significand >> (down & 31) } else { 0 };
    let negative = (x as i32 >> 31) as u32;
    let value = (size ^ negative).wrapping_sub(negative);
    if (magnitude as i32) < ((F32_BIAS + 31) << F32_MAN) as i32 { value } else { 1 << 31 }
}

#[inline(always)]
pub(crate) fn f64_to_int32(x: u64) -> u32 {
    let number = f64::from_bits(x);
    if number.abs() < f64::from(1u32 << 31) { number as i32 as u32 } else { 1 << 31 }
}

/// A float to the low word of a 64-bit integer; 0 for a value out of range and for NaN.
#[inline(always)]
pub(crate) fn f32_to_uint32(x: u32) -> u32 {
    let magnitude = x & i32::MAX as u32;
    let exponent = magnitude >> 23;
    let (down, up) = (158u32.wrapping_sub(exponent), exponent.wrapping_sub(158));
    // Moves the leading bit to the top, then down or up to its place. Bits beyond the word are dropped.
    let significand = magnitude << 8 | 1 << 31;
    let small = if down < 32 { significand >> (down & 31) } else { 0 };
    let size = if up < 32 { significand << (up & 31) } else { small };
    let negative = (x as i32 >> 31) as u32;
    let value = (size ^ negative).wrapping_sub(negative);
    if (magnitude as i32) < ((F32_BIAS + 63) << F32_MAN) as i32 { value } else { 0 }
}

#[inline(always)]
pub(crate) fn f64_to_uint32(x: u64) -> u32 {
    let magnitude = x & i64::MAX as u64;
    if (magnitude as i64) < power_f64(63) { truncate_f64(magnitude, x) as u32 } else { 0 }
}

/// The code of 2^`exponent` in binary64.
const fn power_f64(exponent: u32) -> i64 {
    ((F64_BIAS + exponent) as i64) << F64_MAN
}

/// A float to a 64-bit integer. Signed: a value out of range, and NaN, gives the least integer. Unsigned: a value from
/// 2^64 on gives 0; a value below -2^63, and NaN, gives 2^63.
#[inline(always)]
pub(crate) fn f64_to_int64<const SIGNED: bool>(number: f64) -> u64 {
    let x = number.to_bits();
    let magnitude = (x & i64::MAX as u64) as i64;
    let is_least = SIGNED || (x as i64) < 0 || magnitude > F64_INFINITY as i64;
    let fail = if is_least { 1 << 63 } else { 0 };
    let limit = if is_least { power_f64(63) } else { power_f64(64) };
    if magnitude < limit { truncate_f64(magnitude as u64, x) } else { fail }
}

/// The integer part of a binary64 number below 2^64; for others, the result is undefined.
#[inline(always)]
fn truncate_f64(magnitude: u64, x: u64) -> u64 {
    let significand = magnitude & ((1 << 52) - 1) | 1 << 52;
    let exponent = magnitude >> 52;
    let right = 1075u64.wrapping_sub(exponent);
    let left = exponent.wrapping_sub(1075);
    let small = if right < 64 { significand >> (right & 63) } else { 0 };
    let size = if left < 64 { significand << (left & 63) } else { small };
    let negative = (x as i64 >> 63) as u64;
    (size ^ negative).wrapping_sub(negative)
}

/// DOUBLE to floats of at most 16 bits, without a step through binary32: its subnormals would lose bits of the double.
/// Portable code is also faster if all words have the same width. The steps are the same as in `Round`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundF64 {
    /// The magnitude whose code everything out of range gets.
    limit: f64,
    /// The destination's least normal number.
    least: f64,
    /// Added to a number's exponent field. The last place of the resulting power of two is the destination's last
    /// place.
    raise: u64,
    down: u32,
    nan: u64,
    keep: u64,
    flip: u64,
    sign_code: u64,
    sign_shift: u32,
}

impl RoundF64 {
    pub(crate) fn new(to: &EncodeFloat) -> Self {
        let (rebias, down) = (u64::from(F64_BIAS - to.bias), F64_MAN - to.man);
        Self {
            limit: f64::from_bits((u64::from(to.overflow) << down) + (rebias << F64_MAN)),
            least: f64::from_bits((rebias + 1) << F64_MAN),
            raise: u64::from(down) << F64_MAN,
            down,
            nan: to.nan.into(),
            keep: to.nan_keep.into(),
            flip: to.nan_flip.into(),
            sign_code: 1 << (to.bits - 1),
            sign_shift: 64 - to.bits,
        }
    }

    #[inline(always)]
    pub(crate) fn code<const SIGNS: u8>(self, x: u64) -> u64 {
        // Magnitudes are compared as floats, because SSE2 cannot compare 64-bit integers. NaN becomes the limit.
        let magnitude = f64::from_bits(x & i64::MAX as u64);
        let bounded = if magnitude < self.limit { magnitude } else { self.limit };
        let power = f64::from_bits(bounded.to_bits() & F64_INFINITY);
        let power = if power > self.least { power } else { self.least };
        let raised = power.to_bits().wrapping_add(self.raise);
        let sum = (bounded + f64::from_bits(raised)).to_bits();
        let exponent = power.to_bits().wrapping_sub(self.least.to_bits()) >> self.down;
        let code = sum.wrapping_sub(raised).wrapping_add(exponent);
        let is_nan = magnitude.is_nan();
        let code = if is_nan { self.nan } else { code };
        let sign = x >> self.sign_shift & self.sign_code;
        let sign = match SIGNS {
            ANY if is_nan => sign & self.keep ^ self.flip,
            NO_NEGATIVE_ZERO if code == 0 => 0,
            _ => sign,
        };
        code | sign
    }
}

/// 8-bit integers to 16-bit floats that hold all of them exactly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact {
    /// 2^(the destination's bias - 127). A product with it has the destination's exponent field.
    scale: f32,
    down: u32,
}

impl Exact {
    /// `None` if the destination does not have 16 bits, or does not hold all integers of eight bits.
    pub(crate) fn new(to: &EncodeFloat) -> Option<Self> {
        let holds_all = to.bits == 16 && to.man >= 7 && to.max >> to.man > to.bias + 7;
        holds_all.then(|| Self { scale: f32::from_bits(to.bias << F32_MAN), down: F32_MAN - to.man })
    }

    #[inline(always)]
    pub(crate) fn code<const SIGNED: bool>(self, x: f32) -> u16 {
        let scaled = (x * self.scale).to_bits();
        let sign = if SIGNED { scaled >> 16 & 0x8000 } else { 0 };
        ((scaled & i32::MAX as u32) >> self.down | sign) as u16
    }
}
