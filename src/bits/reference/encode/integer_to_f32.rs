use crate::bits::reference::{Integer, normalize_words};

/// An integer of up to 64 bits to binary32: one rounding to nearest, ties to even.
pub(crate) fn integer_to_f32(parts: Integer) -> u32 {
    let normal = normalize_words(parts.low, parts.high);
    // The high word loses its last 8 bits. The low word matters only as a sticky bit.
    let cut = normal.high >> 8;
    let lost = (normal.high & 0xff) | ((normal.low != 0) as u32);
    // Rounds as in `round_shift`. The leading bit is still there and adds one to the exponent field.
    let value = cut.wrapping_add((lost + 0x7f + (cut & 1)) >> 8).wrapping_add(normal.exponent.wrapping_add(126) << 23);
    // For zero `normal.high` is 0, which replaces the value. For other integers its top bit is set, so it exceeds every
    // value.
    value.min(normal.high) | parts.sign
}
