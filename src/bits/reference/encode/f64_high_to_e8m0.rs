use crate::bits::reference::{EncodeE8m0, SIGN};

/// The high word of a binary64 to E8M0. The high word is rounded to odd.
pub(crate) fn f64_high_to_e8m0(value: u32, to: &EncodeE8m0) -> u32 {
    // `round` is for 23 fraction bits; the high word has 20. The carry goes into the exponent field. That field less
    // the difference of the biases, 1023 - 127, is the code.
    let mut code = (value.wrapping_add(to.round >> 3) >> 20).wrapping_sub(896);
    code = if value > 0x47e0_0000 { to.high } else { code };
    // Everything below 2^-127, and everything with a sign.
    code = if (value as i32) < 0x3800_0000 { to.low } else { code };
    if value & !SIGN > 0x7ff0_0000 { to.nan } else { code }
}
