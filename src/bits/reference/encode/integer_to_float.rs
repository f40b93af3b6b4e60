use crate::bits::reference::{EncodeFloat, Integer, normalize_words};

/// An integer of up to 64 bits to a signed float of at most 16 bits: one rounding to nearest, ties to even. In every
/// such format 1 is a normal number, so no result is subnormal.
pub(crate) fn integer_to_float(parts: Integer, to: &EncodeFloat) -> u32 {
    if to.integers != 0 {
        // `integers` has the codes of 0 to 7, four bits each. All larger magnitudes have the code of 7.
        let index = if parts.high != 0 { 7 } else { parts.low.min(7) };
        return ((to.integers >> (index << 2)) & 0xf) | (parts.sign >> (32 - to.bits));
    }
    let normal = normalize_words(parts.low, parts.high);
    // The low word matters only as a sticky bit.
    let top = normal.high | ((normal.low != 0) as u32);
    // Rounds as in `round_shift`. Adding 2^31 removes the leading bit, so that a carry of the rounding can appear in
    // its place.
    let down = 31 - to.man;
    let fraction = top.wrapping_add(0x7fff_ffff + (1 << (down - 1))).wrapping_add((top >> down) & 1) >> down;
    let code = fraction.wrapping_add(normal.exponent.wrapping_add(to.bias) << to.man);
    // `overflow` is the code of everything that rounds beyond the largest number. For zero `normal.high` is 0, which
    // replaces the code; for other integers its top bit is set.
    code.min(to.overflow).min(normal.high) | (parts.sign >> (32 - to.bits))
}
