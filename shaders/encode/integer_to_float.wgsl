// integer_to_float.wgsl — an integer of up to 64 bits to a signed float of at most 16 bits: one rounding to nearest, ties to
// even. 1 is a normal number of every format, so that no result is subnormal.
// reads: SRC_BITS DST_BITS DST_MAN DST_BIAS DST_OVERFLOW DST_SMALL
//:use lib/normalize

fn integer_to_float(sign: u32, low: u32, high: u32) -> u32 {
    if (DST_BITS == 4u) {
        // From 7 on every magnitude has the code of 7.
        let small = select(min(low, 7u), 7u, high != 0u);
        return ((DST_SMALL >> (small << 2u)) & 7u) | (sign >> 28u);
    }
    let normal = normalize_words(low, high);
    var top = normal.x;
    if (SRC_BITS > 32u) {
        top = top | select(0u, 1u, normal.y != 0u);
    }
    // As in round_shift, without the leading bit, which makes room for the carry.
    let down = 31u - DST_MAN;
    let fraction = (top + (0x7fffffffu + (1u << (down - 1u))) + extractBits(top, down, 1u)) >> down;
    var code = fraction + ((normal.z + DST_BIAS) << DST_MAN);
    // What overflows is the largest number's code, or the one after it. The leading bit is at the top, but where all are 0.
    code = min(min(code, DST_OVERFLOW), normal.x);
    return code | (sign >> (32u - DST_BITS));
}
