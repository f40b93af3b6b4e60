use crate::bits::reference::{EncodeE8m0, SIGN};

/// The high word of a binary64, rounded to odd, to E8M0.
pub(crate) fn f64_high_to_e8m0(value: u32, to: &EncodeE8m0) -> u32 {
    // `round` is for 23 fraction bits, and here are 20. The carry walks into the exponent field, which is the code
    // after the difference of the biases, 1023 - 127.
    let mut code = (value.wrapping_add(to.round >> 3) >> 20).wrapping_sub(896);
    code = if value > 0x47e0_0000 { to.high } else { code };
    // Below 2^-127, and all that have a sign.
    code = if (value as i32) < 0x3800_0000 { to.low } else { code };
    if value & !SIGN > 0x7ff0_0000 { to.nan } else { code }
}
