use crate::bits::reference::{Integer, Pair, SIGN, negate_words};

/// The sign and the magnitude of a 64-bit integer.
pub(crate) fn split_int64(value: Pair, signed: bool) -> Integer {
    let sign = if signed { value[1] & SIGN } else { 0 };
    let [low, high] = if sign != 0 { negate_words(value) } else { value };
    Integer { sign, low, high }
}
