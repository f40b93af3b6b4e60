use crate::bits::reference::{EncodeE8m0, INFINITY, SIGN};

/// binary32 to E8M0.
pub(crate) fn encode_e8m0(value: u32, to: &EncodeE8m0) -> u32 {
    // Code 0 is 2^-127, a subnormal of binary32. It lacks an implicit bit, so the 22 bits below its leading bit are the
    // fraction. Between 2^-127 and the least normal number, doubling the distance to 2^-127 makes 23 fraction bits of
    // these 22 and leaves the exponent field 0.
    let normal = if value < 0x0080_0000 { value.wrapping_sub(0x0040_0000) << 1 } else { value };
    // The carry goes into the exponent field, which is the code.
    let mut code = normal.wrapping_add(to.round) >> 23;
    code = if value > 0x7f00_0000 { to.high } else { code };
    // Everything below 2^-127, and everything with a sign.
    code = if (value as i32) < 0x0040_0000 { to.low } else { code };
    if value & !SIGN > INFINITY { to.nan } else { code }
}
