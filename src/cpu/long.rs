//! 64-bit words into a hub of 32 bits: encoded from there, twice as many go in a vector.

use super::decode;
use super::encode::single;
use super::level::Level;
use super::words::words;

/// What 64-bit words are made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Long {
    /// binary64 to binary32, rounded to odd, for formats to which all numbers below binary32's least normal one are zero and
    /// all above its greatest out of range.
    Double,
    /// Integers to binary32, rounded to odd, for formats of at most 11 significant bits.
    Odd { signed: bool },
    /// Integers to 32-bit ones, or the nearest there is.
    Saturated { signed: bool },
}

impl Long {
    /// Makes the hub of words that start at any byte; `block` is overwritten.
    pub(crate) fn hub(self, level: Level, source: &[u8], block: &mut [u64], hub: &mut [u32]) {
        let words = words(source, block);
        match self {
            Self::Double => level.each(words, hub, double),
            Self::Odd { signed: true } => level.each(words, hub, odd::<true>),
            Self::Odd { signed: false } => level.each(words, hub, odd::<false>),
            Self::Saturated { signed: true } => level.each(words, hub, saturated::<true>),
            Self::Saturated { signed: false } => level.each(words, hub, saturated::<false>),
        }
    }
}

/// The upper half of the least and of the greatest number that `double` tells from others.
pub(crate) const LEAST: u32 = (1023 - 126) << 20;
pub(crate) const GREATEST: u32 = ((1023 + 128) << 20) - 1;

/// A binary64 number as a binary32 hub, rounded to odd, for formats to which all numbers below binary32's least normal one are
/// zero and all above its greatest out of range.
#[inline(always)]
fn double(x: u64) -> u32 {
    let (low, high) = (x as u32, (x >> 32) as u32);
    let magnitude = (high & !single::SIGN | u32::from(low != 0)) as i32;
    let bounded = magnitude.max(LEAST as i32).min(GREATEST as i32) as u32;
    let value = (bounded - ((1023 - 127) << 20)) << 3;
    let value = if magnitude > 0x7ff0_0000 { single::NAN } else { value };
    value | high & single::SIGN
}

/// A 64-bit integer as a binary32 hub: rounded to odd twice, which is once.
#[inline(always)]
fn odd<const SIGNED: bool>(x: u64) -> u32 {
    let double = decode::long::<SIGNED>(decode::long_cut::<SIGNED>(x));
    let lost = double & 0x1fff_ffff;
    let cut = double & !0x1fff_ffff | u64::from(lost != 0) << 29;
    (f64::from_bits(cut) as f32).to_bits()
}

/// A 64-bit integer to a 32-bit one, or the nearest there is.
#[inline(always)]
fn saturated<const SIGNED: bool>(x: u64) -> u32 {
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
