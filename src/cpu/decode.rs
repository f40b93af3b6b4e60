//! Decoding into the hubs: binary32 or binary64 bits, rounded to odd where a source holds more than the hub.
//!
//! Rounding to odd (see `bits.rs`) is done on the integers, before the conversion, which is then exact.

use super::encode::single;
use crate::reference::DecodeFloat;

/// A 16-bit IEEE float with a bias less than binary32's and numbers below 2^16, subnormals included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Half {
    up: u32,
    rebias: u32,
    /// Bits of 2 to the destination exponent of the source's subnormals.
    least: u32,
    implicit: i32,
    top: i32,
    man: u32,
    /// Exponent field of the numbers from 2^15 on.
    largest: u16,
}

impl Half {
    /// `None` for formats of another kind.
    pub(crate) fn new(from: &DecodeFloat) -> Option<Self> {
        let largest = from.bias + 15;
        (from.bits == 16 && from.ieee && from.bias < 127 && from.top >> from.man == largest + 1).then(|| Self {
            up: 23 - from.man,
            rebias: (127 - from.bias) << 23,
            least: (128 - from.bias) << 23,
            implicit: 1 << from.man,
            top: from.top as i32,
            man: from.man,
            largest: largest as u16,
        })
    }

    /// The integer part's magnitude; of ∞ and NaN, anything.
    #[inline(always)]
    fn truncate(&self, code: u16) -> u16 {
        // The leading bit at the top, then down to its place; below 1 there is no such place.
        let down = self.largest.wrapping_sub((code & 0x7fff) >> self.man);
        let significand = code << (15 - self.man) | 1 << 15;
        if down < 16 { significand >> (down & 15) } else { 0 }
    }

    /// `encode_int`'s result in 16 bits, or the low ones of it.
    #[inline(always)]
    pub(crate) fn int16(&self, code: u16, fail: u16) -> u16 {
        let negative = (code as i16 >> 15) as u16;
        let value = (self.truncate(code) ^ negative).wrapping_sub(negative);
        if self.is_special(code) { fail } else { value }
    }

    /// `encode_int`'s result in 32 bits.
    #[inline(always)]
    pub(crate) fn int(&self, code: u16, fail: u32) -> u32 {
        let negative = (i32::from(code as i16) >> 31) as u32;
        let value = (u32::from(self.truncate(code)) ^ negative).wrapping_sub(negative);
        if self.is_special(code) { fail } else { value }
    }

    /// `encode_int`'s result between two bounds.
    #[inline(always)]
    pub(crate) fn clamped(&self, code: u16, below: u16, above: u16) -> u16 {
        let negative = (code as i16 >> 15) as u16;
        let bound = if negative != 0 { below } else { above };
        let size = if self.is_special(code) { bound } else { self.truncate(code).min(bound) };
        let value = (size ^ negative).wrapping_sub(negative);
        if i32::from(code & 0x7fff) > self.top { 0 } else { value }
    }

    /// `encode_long`'s result.
    #[inline(always)]
    pub(crate) fn long<const SIGNED: bool>(&self, code: u16) -> u64 {
        let negative = i64::from(code as i16) >> 63;
        let value = (i64::from(self.truncate(code)) ^ negative).wrapping_sub(negative) as u64;
        // Only +∞ is beyond the greater end of unsigned ones.
        let fail = if SIGNED || code != self.top as u16 { 1 << 63 } else { 0 };
        if self.is_special(code) { fail } else { value }
    }

    #[inline(always)]
    fn is_special(&self, code: u16) -> bool {
        (code & 0x7fff) as i16 >= self.top as i16
    }

    /// binary32 bits in two parts (see `single::parts`); of NaN, the payload is kept. Without `SUBNORMALS`, one of those
    /// gives some number below the least normal one.
    #[inline(always)]
    pub(crate) fn decode<const SUBNORMALS: bool>(&self, code: u16) -> [u32; 2] {
        let code = u32::from(code);
        let magnitude = (code & 0x7fff) as i32;
        let normal = ((magnitude as u32) << self.up).wrapping_add(self.rebias);
        // As if there were an implicit bit, which the subtraction takes away again, exactly.
        let subnormal = f32::from_bits(normal.wrapping_add(1 << 23)) - f32::from_bits(self.least);
        let value = if SUBNORMALS && magnitude < self.implicit { subnormal.to_bits() } else { normal };
        let special = if magnitude >= self.top { single::INFINITY } else { 0 };
        [value | special, code << 16]
    }
}

/// `encode`'s binary32 hub of a 32-bit integer.
#[inline(always)]
pub(crate) fn int_odd<const SIGNED: bool>(x: u32) -> u32 {
    // 24 bits are exact. Of larger ones the lowest are cut and leave a sticky bit, which serves two's complement as well:
    // of the two neighbours, the odd one.
    if SIGNED {
        let cut = x & !0x7f | u32::from(x & 0x7f != 0) << 7;
        let large = x.wrapping_add(1 << 24) > 1 << 25;
        ((if large { cut } else { x }) as i32 as f32).to_bits()
    } else {
        let cut = x & !0xff | u32::from(x & 0xff != 0) << 8;
        ((if x > 1 << 24 { cut } else { x }) as f32).to_bits()
    }
}

/// A 64-bit integer to a 32-bit one, or the nearest there is.
#[inline(always)]
pub(crate) fn saturate<const SIGNED: bool>(x: u64) -> u32 {
    let (low, high) = (x as u32, (x >> 32) as u32);
    if SIGNED {
        let extended = (low as i32 >> 31) as u32;
        let most = (high as i32 >> 31) as u32 ^ i32::MAX as u32;
        if high == extended { low } else { most }
    } else if high == 0 {
        low
    } else {
        u32::MAX
    }
}

/// A 64-bit integer, rounded to odd at 53 bits.
#[inline(always)]
pub(crate) fn long_cut<const SIGNED: bool>(x: u64) -> u64 {
    if SIGNED {
        let cut = x & !0x3ff | u64::from(x & 0x3ff != 0) << 10;
        let large = x.wrapping_add(1 << 53) >> 54 != 0;
        if large { cut } else { x }
    } else {
        let cut = x & !0x7ff | u64::from(x & 0x7ff != 0) << 11;
        if x >> 53 != 0 { cut } else { x }
    }
}

/// A 64-bit integer to binary64: one rounding to nearest, ties to even.
#[inline(always)]
pub(crate) fn long<const SIGNED: bool>(x: u64) -> u64 {
    // Both halves as the last places of a power of two of their own: 2^84 and 2^52. Signed ones count from -2^63.
    let (flip, offset) =
        if SIGNED { (1 << 31, (1u128 << 84) + (1 << 63) + (1 << 52)) } else { (0, (1 << 84) + (1 << 52)) };
    let high = f64::from_bits((x >> 32) ^ flip | 0x4530_0000_0000_0000);
    let low = f64::from_bits(x & 0xffff_ffff | 0x4330_0000_0000_0000);
    // The subtraction is exact; the addition rounds.
    ((high - offset as f64) + low).to_bits()
}

/// A 64-bit integer as a binary32 hub: rounded to odd twice, which is once.
#[inline(always)]
pub(crate) fn long_odd<const SIGNED: bool>(x: u64) -> u32 {
    let double = long::<SIGNED>(long_cut::<SIGNED>(x));
    let lost = double & 0x1fff_ffff;
    let cut = double & !0x1fff_ffff | u64::from(lost != 0) << 29;
    (f64::from_bits(cut) as f32).to_bits()
}

/// A 64-bit integer to binary32: one rounding to nearest, ties to even.
#[inline(always)]
pub(crate) fn long_to_single<const SIGNED: bool>(x: u64) -> u32 {
    (f64::from_bits(long::<SIGNED>(long_cut::<SIGNED>(x))) as f32).to_bits()
}
