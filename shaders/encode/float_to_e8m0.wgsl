// float_to_e8m0.wgsl — an IEEE float of at most 16 bits to E8M0
// reads: SRC_BITS SRC_MAN SRC_BIAS SRC_TOP E8M0_LOW E8M0_HIGH E8M0_NAN E8M0_ROUND

fn float_to_e8m0(code: u32) -> u32 {
    let sign_code = 1u << (SRC_BITS - 1u);
    let magnitude = code & (sign_code - 1u);
    // E8M0_ROUND is for 23 fraction bits; this source has SRC_MAN. The carry goes into the exponent.
    let normal = (magnitude + ((E8M0_ROUND >> (23u - SRC_MAN)) + ((127u - SRC_BIAS) << SRC_MAN))) >> SRC_MAN;
    // A subnormal is an integer times 2^(1 - SRC_BIAS - SRC_MAN). The shift moves its leading bit to the top of the word.
    // Adding 2^31 removes that bit, so that a carry of the rounding can appear in its place.
    let leading = firstLeadingBit(magnitude);
    let fraction = magnitude << (~leading & 31u);
    let carry = (fraction + (0x80000000u + ((E8M0_ROUND << 8u) | (E8M0_ROUND & 0xffu)))) >> 31u;
    var result = select(normal, leading + carry + (128u - SRC_BIAS - SRC_MAN), magnitude < (1u << SRC_MAN));
    result = select(result, E8M0_HIGH, code == SRC_TOP);
    // Zero, and everything with a sign.
    result = select(result, E8M0_LOW, code - 1u >= sign_code - 1u);
    return select(result, E8M0_NAN, magnitude > SRC_TOP);
}
