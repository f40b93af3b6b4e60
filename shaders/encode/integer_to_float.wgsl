// integer_to_float.wgsl — an integer of up to 64 bits to a signed float of at most 16 bits: one rounding to nearest, ties
// to even. 1 is a normal number of every such format, so that no result is subnormal.
// reads: SRC_BITS DST_BITS DST_MAN DST_BIAS DST_OVERFLOW DST_INTEGERS
//:use lib/integer
//:use lib/normalize

fn integer_to_float(parts: Integer) -> u32 {
    if (DST_INTEGERS != 0u) {
        // The codes of 0 to 7 are in the constant, four bits each. All larger magnitudes have the code of 7.
        let index = select(min(parts.low, 7u), 7u, parts.high != 0u);
        return ((DST_INTEGERS >> (index << 2u)) & 0xfu) | (parts.sign >> (32u - DST_BITS));
    }
    let normal = normalize_words(parts.low, parts.high);
    var top = normal.high;
    if (SRC_BITS > 32u) {
        // Of the low word only a sticky bit matters.
        top = top | select(0u, 1u, normal.low != 0u);
    }
    // As in round_shift. Adding 2^31 takes the leading bit away, which leaves its place to the carry.
    let down = 31u - DST_MAN;
    let fraction = (top + (0x7fffffffu + (1u << (down - 1u))) + extractBits(top, down, 1u)) >> down;
    let code = fraction + ((normal.exponent + DST_BIAS) << DST_MAN);
    // What overflows has the largest number's code, or the one after it. Only zero has no leading bit at the top.
    return min(min(code, DST_OVERFLOW), normal.high) | (parts.sign >> (32u - DST_BITS));
}
