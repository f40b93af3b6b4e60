use crate::bits::reference::{EncodeE8m0, Pair, SIGN, normalize_words};

/// An integer of up to 64 bits to E8M0. If it is not `positive`, `low` and `high` may have any value.
pub(crate) fn integer_to_e8m0(positive: bool, low: u32, high: u32, to: &EncodeE8m0) -> u32 {
    let normal = normalize_words(low, high);
    // The low word matters only as a sticky bit.
    let top = normal.high | ((normal.low != 0) as u32);
    // `round` is for 23 fraction bits; there are 31 here. Adding 2^31 removes the leading bit, so that a carry of the
    // rounding can appear in its place.
    let round = (to.round << 8) | (to.round & 0xff);
    let code = normal.exponent.wrapping_add(127).wrapping_add(top.wrapping_add(SIGN + round) >> 31);
    if positive { code } else { to.low }
}

/// An integer of at most 32 bits to E8M0.
pub(crate) fn int_to_e8m0(value: u32, signed: bool, to: &EncodeE8m0) -> u32 {
    let positive = if signed { value as i32 > 0 } else { value != 0 };
    integer_to_e8m0(positive, value, 0, to)
}

/// A 64-bit integer to E8M0.
pub(crate) fn int64_to_e8m0(value: Pair, signed: bool, to: &EncodeE8m0) -> u32 {
    let negative = signed && value[1] >= SIGN;
    integer_to_e8m0((value[0] | value[1]) != 0 && !negative, value[0], value[1], to)
}
