use crate::reference::{EncodeE8m0, SIGN};

/// float16 to E8M0.
pub(crate) fn f16_to_e8m0(code: u32, to: &EncodeE8m0) -> u32 {
    let magnitude = code & 0x7fff;
    let normal = (magnitude + (to.round >> 13) + (112 << 10)) >> 10;
    // A subnormal is an integer times 2^-24; its leading bit goes to the top, and out.
    let place = magnitude.checked_ilog2().unwrap_or(!0);
    let fraction = magnitude << (!place & 31);
    let carry = fraction.wrapping_add(SIGN + ((to.round << 8) | (to.round & 0xff))) >> 31;
    let mut scale = if magnitude < 0x400 { place.wrapping_add(carry + 103) } else { normal };
    if code == 0x7c00 {
        scale = to.high;
    }
    if code.wrapping_sub(1) >= 0x7fff {
        scale = to.low;
    }
    if magnitude > 0x7c00 { to.nan } else { scale }
}
