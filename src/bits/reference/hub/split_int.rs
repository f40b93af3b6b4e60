use crate::bits::reference::{Integer, SIGN};

/// The sign and the magnitude of an integer of at most 32 bits.
pub(crate) fn split_int(value: u32, signed: bool) -> Integer {
    let sign = if signed { value & SIGN } else { 0 };
    // The magnitude is the greater of a number and its negative. -2^31 is its own negative, and as a word without sign
    // also its own magnitude.
    let negated = value.wrapping_neg() as i32;
    let magnitude = if signed { (value as i32).max(negated) as u32 } else { value };
    Integer { sign, low: magnitude, high: 0 }
}
