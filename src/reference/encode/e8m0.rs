use crate::reference::{INFINITY, SIGN};

/// What `encode_e8m0` needs of the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EncodeE8m0 {
    /// Code for everything below 2^-127.
    pub low: u32,
    /// Code for everything above 2^127.
    pub high: u32,
    /// The only NaN.
    pub nan: u32,
    /// Added to the 23 fraction bits before they are cut.
    pub round: u32,
}

/// The hub to E8M0.
pub(crate) fn encode_e8m0(hub: u32, to: &EncodeE8m0) -> u32 {
    // 2^-127 is a binary32 subnormal: moved up, its exponent field is the code 0 and its fraction 23 bits again.
    let value = if hub < 0x0080_0000 { hub.wrapping_sub(0x0040_0000) << 1 } else { hub };
    let mut code = value.wrapping_add(to.round) >> 23;
    if hub > 0x7f00_0000 {
        code = to.high;
    }
    if !(0x0040_0000..SIGN).contains(&hub) {
        code = to.low;
    }
    if hub & !SIGN > INFINITY {
        code = to.nan;
    }
    code
}
