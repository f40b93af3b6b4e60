use crate::reference::{EncodeE8m0, SIGN, normalize_words};

/// An integer of up to 64 bits to E8M0.
pub(crate) fn integer_to_e8m0(positive: bool, low: u32, high: u32, to: &EncodeE8m0) -> u32 {
    let (normal, rest, place) = normalize_words(low, high);
    let top = normal | ((rest != 0) as u32);
    // The rounding for the 31 bits after the leading one, which gives the carry its place.
    let round = (to.round << 8) | (to.round & 0xff);
    let code = place.wrapping_add(127).wrapping_add(top.wrapping_add(SIGN + round) >> 31);
    if positive { code } else { to.low }
}
