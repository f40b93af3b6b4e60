// f64_high_to_e8m0.wgsl — the high word of a binary64, rounded to odd, to E8M0
// reads: E8M0_LOW E8M0_HIGH E8M0_NAN E8M0_ROUND

fn f64_high_to_e8m0(value: u32) -> u32 {
    // E8M0_ROUND is for 23 fraction bits; the high word has 20. The carry goes into the exponent field. That field less the
    // difference of the biases, 1023 - 127, is the code.
    var code = ((value + (E8M0_ROUND >> 3u)) >> 20u) - 896u;
    code = select(code, E8M0_HIGH, value > 0x47e00000u);
    // Everything below 2^-127, and everything with a sign.
    code = select(code, E8M0_LOW, bitcast<i32>(value) < 0x38000000);
    return select(code, E8M0_NAN, (value & 0x7fffffffu) > 0x7ff00000u);
}
