use crate::bits::reference::{Pair, SIGN, Significand};

/// binary64 taken apart for truncation.
pub(crate) fn split_f64(code: Pair) -> Significand {
    let [low, high] = code;
    let magnitude = high & !SIGN;
    Significand {
        negative: high >= SIGN,
        nan: magnitude > 0x7ff0_0000 || (magnitude == 0x7ff0_0000 && low != 0),
        exponent: (magnitude >> 20) as i32 - 1023,
        high: SIGN | (magnitude << 11) | (low >> 21),
        low: low << 11,
    }
}
