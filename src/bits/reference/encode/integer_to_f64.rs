use crate::bits::reference::{Integer, Pair, normalize_words};

/// An integer of up to 64 bits to binary64: one rounding to nearest, ties to even.
pub(crate) fn integer_to_f64(parts: Integer) -> Pair {
    let normal = normalize_words(parts.low, parts.high);
    // The 64 bits lose their last 11, which are rounded as in `round_shift`.
    let cut = (normal.high << 21) | (normal.low >> 11);
    let low = cut.wrapping_add(((normal.low & 0x7ff) + 0x3ff + (cut & 1)) >> 11);
    let carry = (low < cut) as u32;
    // The leading bit is still there and adds one to the exponent field.
    let high = (normal.high >> 11).wrapping_add(carry).wrapping_add(normal.exponent.wrapping_add(1022) << 20);
    // For zero `normal.high` is 0, which replaces the high word; the low word is 0 too.
    [low, high.min(normal.high) | parts.sign]
}
