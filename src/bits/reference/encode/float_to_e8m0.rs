use crate::bits::reference::{DecodeFloat, EncodeE8m0, SIGN, first_leading_bit};

/// An IEEE float of at most 16 bits to E8M0.
pub(crate) fn float_to_e8m0(code: u32, from: &DecodeFloat, to: &EncodeE8m0) -> u32 {
    let sign_code = 1 << (from.bits - 1);
    let magnitude = code & (sign_code - 1);
    // `round` is for 23 fraction bits; this source has `man`. The carry goes into the exponent.
    let normal = (magnitude + (to.round >> (23 - from.man)) + ((127 - from.bias) << from.man)) >> from.man;
    // A subnormal is an integer times 2^(1 - bias - man). The shift moves its leading bit to the top of the word.
    // Adding 2^31 removes that bit, so that a carry of the rounding can appear in its place.
    let leading = first_leading_bit(magnitude);
    let fraction = magnitude << (!leading & 31);
    let carry = fraction.wrapping_add(SIGN + ((to.round << 8) | (to.round & 0xff))) >> 31;
    let subnormal = leading.wrapping_add(carry + (128 - from.bias - from.man));
    let mut result = if magnitude < 1 << from.man { subnormal } else { normal };
    result = if code == from.top { to.high } else { result };
    // Zero, and everything with a sign.
    result = if code.wrapping_sub(1) >= sign_code - 1 { to.low } else { result };
    if magnitude > from.top { to.nan } else { result }
}
