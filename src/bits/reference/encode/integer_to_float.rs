use crate::bits::reference::{EncodeFloat, Integer, normalize_words};

/// An integer of up to 64 bits to a signed float of at most 16 bits: one rounding to nearest, ties to even. 1 is a
/// normal number of every such format, so that no result is subnormal.
pub(crate) fn integer_to_float(parts: Integer, to: &EncodeFloat) -> u32 {
    if to.integers != 0 {
        // The codes of 0 to 7 are in the constant, four bits each. All larger magnitudes have the code of 7.
        let index = if parts.high != 0 { 7 } else { parts.low.min(7) };
        return ((to.integers >> (index << 2)) & 0xf) | (parts.sign >> (32 - to.bits));
    }
    let normal = normalize_words(parts.low, parts.high);
    // Of the low word only a sticky bit matters.
    let top = normal.high | ((normal.low != 0) as u32);
    // As in `round_shift`. Adding 2^31 takes the leading bit away, which leaves its place to the carry.
    let down = 31 - to.man;
    let fraction = top.wrapping_add(0x7fff_ffff + (1 << (down - 1))).wrapping_add((top >> down) & 1) >> down;
    let code = fraction.wrapping_add(normal.exponent.wrapping_add(to.bias) << to.man);
    // What overflows has the largest number's code, or the one after it. Only zero has no leading bit at the top.
    code.min(to.overflow).min(normal.high) | (parts.sign >> (32 - to.bits))
}
