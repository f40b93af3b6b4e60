use crate::bits::reference::{EncodeE8m0, INFINITY, SIGN};

/// binary32 to E8M0.
pub(crate) fn encode_e8m0(value: u32, to: &EncodeE8m0) -> u32 {
    // 2^-127, the code 0, is a subnormal of binary32. Between it and the least normal number, the distance to 2^-127 is
    // doubled: that makes 23 fraction bits of the 22 below its leading bit, and leaves the exponent field 0.
    let normal = if value < 0x0080_0000 { value.wrapping_sub(0x0040_0000) << 1 } else { value };
    // The carry walks into the exponent field, which is the code.
    let mut code = normal.wrapping_add(to.round) >> 23;
    code = if value > 0x7f00_0000 { to.high } else { code };
    // Below 2^-127, and all that have a sign.
    code = if (value as i32) < 0x0040_0000 { to.low } else { code };
    if value & !SIGN > INFINITY { to.nan } else { code }
}
