// integer_to_float.wgsl — an integer of up to 64 bits to a signed float of at most 16 bits: one rounding to nearest, ties
// to even
// reads: SRC_BITS DST_BITS DST_MAN DST_BIAS DST_OVERFLOW DST_INTEGERS
//:use lib/integer
//:use lib/normalize

fn integer_to_float(parts: Integer) -> u32 {
    if (DST_INTEGERS != 0u) {
        // DST_INTEGERS has the codes of 0 to 7, four bits each. All larger magnitudes have the code of 7.
        let index = select(min(parts.low, 7u), 7u, parts.high != 0u);
        return ((DST_INTEGERS >> (index << 2u)) & 0xfu) | (parts.sign >> (32u - DST_BITS));
    }
    let normal = normalize_words(parts.low, parts.high);
    var top = normal.high;
    if (SRC_BITS > 32u) {
        // The low word matters only as a sticky bit.
        top = top | select(0u, 1u, normal.low != 0u);
    }
    // Rounds as in round_shift. Adding 2^31 removes the leading bit, so that a carry of the rounding can appear in its
    // place. In every such format 1 is a normal number, so no result is subnormal.
    let down = 31u - DST_MAN;
    let fraction = (top + (0x7fffffffu + (1u << (down - 1u))) + extractBits(top, down, 1u)) >> down;
    let code = fraction + ((normal.exponent + DST_BIAS) << DST_MAN);
    // DST_OVERFLOW is the code of everything that rounds beyond the largest number. For zero `normal.high` is 0, which
    // replaces the code; for other integers its top bit is set.
    return min(min(code, DST_OVERFLOW), normal.high) | (parts.sign >> (32u - DST_BITS));
}
