use crate::bits::reference::{INFINITY, SIGN, Significand};

/// binary32 taken apart for truncation.
pub(crate) fn split_f32(value: u32) -> Significand {
    let magnitude = value & !SIGN;
    Significand {
        negative: value >= SIGN,
        nan: magnitude > INFINITY,
        exponent: (magnitude >> 23) as i32 - 127,
        high: SIGN | (magnitude << 8),
        low: 0,
    }
}
