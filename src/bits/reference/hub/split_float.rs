use crate::bits::reference::{DecodeFloat, SIGN, Significand};

/// An IEEE float of at most 16 bits taken apart for truncation to `bits` bits.
pub(crate) fn split_float(code: u32, from: &DecodeFloat, bits: u32) -> Significand {
    let sign_code = 1 << (from.bits - 1);
    let magnitude = code & (sign_code - 1);
    let mut exponent = (magnitude >> from.man) as i32 - from.bias as i32;
    // Decoded as if they were numbers, ∞ and NaN are multiples of 2^(top exponent - man). If the destination has at
    // most that many bits, their low bits are 0, which is the right result. Otherwise their exponent is set beyond
    // every integer.
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
