// e8m0.wgsl — binary32 to E8M0
// reads: E8M0_LOW E8M0_HIGH E8M0_NAN E8M0_ROUND

fn encode_e8m0(value: u32) -> u32 {
    // Code 0 is 2^-127, a subnormal of binary32. It lacks an implicit bit, so the 22 bits below its leading bit are the
    // fraction. Between 2^-127 and the least normal number, doubling the distance to 2^-127 makes 23 fraction bits of these
    // 22 and leaves the exponent field 0.
    let normal = select(value, (value - 0x00400000u) << 1u, value < 0x00800000u);
    // The carry goes into the exponent field, which is the code.
    var code = (normal + E8M0_ROUND) >> 23u;
    code = select(code, E8M0_HIGH, value > 0x7f000000u);
    // Everything below 2^-127, and everything with a sign.
    code = select(code, E8M0_LOW, bitcast<i32>(value) < 0x00400000);
    return select(code, E8M0_NAN, (value & 0x7fffffffu) > 0x7f800000u);
}
