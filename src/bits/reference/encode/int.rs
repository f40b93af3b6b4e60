use crate::bits::reference::{EncodeInt, Significand, truncate};

/// Truncates a float to an integer of at most 32 bits. `EncodeInt` says what a value that does not fit becomes. Bits
/// above the width of the destination are not masked.
pub(crate) fn encode_int(parts: Significand, to: &EncodeInt) -> u32 {
    let mut fits = parts.exponent < 31;
    // For clamped integers: a value that does not fit must exceed every bound.
    let mut value = (parts.high >> 1) >> (30 - parts.exponent).clamp(0, 31);
    if to.wide {
        fits = parts.exponent < 63;
        value = truncate(parts.exponent & 63, parts.high, parts.low)[0];
        value = if parts.exponent < 0 { 0 } else { value };
    } else if to.clamp.is_none() {
        // For integers that are not clamped: a value that does not fit must give 0. A negative shift does so, because
        // it is a large number without sign.
        value = (parts.high >> 1) >> ((30 - parts.exponent) as u32).min(31);
    }
    value = if parts.negative { value.wrapping_neg() } else { value };
    if let Some((below, above)) = to.clamp {
        value = (value as i32).clamp(-(below as i32), above as i32) as u32;
        value = if parts.nan { 0 } else { value };
    }
    if to.wide || to.fail != 0 {
        value = if fits { value } else { to.fail };
    }
    value
}
