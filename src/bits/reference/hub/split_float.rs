use crate::bits::reference::{DecodeFloat, SIGN, Significand};

/// An IEEE float of at most 16 bits taken apart for truncation to `bits` bits.
pub(crate) fn split_float(code: u32, from: &DecodeFloat, bits: u32) -> Significand {
    let sign_code = 1 << (from.bits - 1);
    let magnitude = code & (sign_code - 1);
    let mut exponent = (magnitude >> from.man) as i32 - from.bias as i32;
    // Read as numbers, ∞ and NaN are multiples of 2^(their exponent - man). Where the destination has no more bits than
    // that, their low bits are the 0 that they must give.
    if bits + from.bias + from.man > from.top >> from.man {
        exponent = if magnitude >= from.top { 64 } else { exponent };
    }
    Significand {
        negative: code & sign_code != 0,
        nan: magnitude > from.top,
        exponent,
        high: SIGN | (magnitude << (31 - from.man)),
        low: 0,
    }
}
