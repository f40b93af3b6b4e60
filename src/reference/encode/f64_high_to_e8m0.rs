use crate::reference::{EncodeE8m0, SIGN};

/// A double's head to E8M0.
pub(crate) fn f64_high_to_e8m0(head: u32, to: &EncodeE8m0) -> u32 {
    let mut code = (head.wrapping_add(to.round >> 3) >> 20).wrapping_sub(896);
    if head > 0x47e0_0000 {
        code = to.high;
    }
    if (head as i32) < 0x3800_0000 {
        code = to.low;
    }
    if head & !SIGN > 0x7ff0_0000 { to.nan } else { code }
}
