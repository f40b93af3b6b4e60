use crate::reference::{Significand, truncate};

/// What `encode_int` needs of the destination and of the options; the source is a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EncodeInt {
    /// Result where the value does not fit.
    pub fail: u32,
    /// uint32: fits while |t| < 2^63, and the low word is kept. Otherwise: while |t| < 2^31.
    pub wide: bool,
    /// Instead of wrapping: largest magnitudes allowed below and above zero.
    pub clamp: Option<(u32, u32)>,
}

/// A float to an integer of at most 32 bits, truncated; what does not fit as `EncodeInt` says. Not masked.
pub(crate) fn encode_int(from: Significand, to: &EncodeInt) -> u32 {
    let Significand { negative, nan, place, top, rest } = from;
    let fits = if to.wide { place < 63 } else { place < 31 };
    let mut value = if to.wide {
        if place < 0 { 0 } else { truncate(place & 63, top, rest)[0] }
    } else if to.clamp.is_some() {
        // What does not fit gives much.
        (top >> 1) >> (30 - place).clamp(0, 31)
    } else {
        (top >> 1) >> ((30 - place) as u32).min(31)
    };
    if let Some((below, above)) = to.clamp {
        value = value.min(if negative { below } else { above });
        value = if nan { 0 } else { value };
    }
    value = if negative { value.wrapping_neg() } else { value };
    if to.clamp.is_none() && !fits {
        value = to.fail;
    }
    value
}
