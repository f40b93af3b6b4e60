// f64_high_to_e8m0.wgsl — the high word of a binary64, rounded to odd, to E8M0
// reads: E8M0_LOW E8M0_HIGH E8M0_NAN E8M0_ROUND

fn f64_high_to_e8m0(head: u32) -> u32 {
    // E8M0_ROUND for a fraction of 20 bits.
    var code = ((head + (E8M0_ROUND >> 3u)) >> 20u) - 896u;
    code = select(code, E8M0_HIGH, head > 0x47e00000u);
    code = select(code, E8M0_LOW, bitcast<i32>(head) < 0x38000000);
    return select(code, E8M0_NAN, (head & 0x7fffffffu) > 0x7ff00000u);
}
