use crate::reference::{Pair, SIGN, negate_words};

/// The magnitude of a 32-bit integer, and its sign bit.
pub(crate) fn split_int(value: u32, signed: bool) -> (u32, u32) {
    let sign = if signed { value & SIGN } else { 0 };
    (sign, if sign != 0 { value.wrapping_neg() } else { value })
}

/// The magnitude of a 64-bit integer, and its sign bit.
pub(crate) fn split_int64(value: Pair, signed: bool) -> (u32, Pair) {
    let sign = if signed { value[1] & SIGN } else { 0 };
    if sign == 0 {
        return (sign, value);
    }
    (sign, negate_words(value))
}
