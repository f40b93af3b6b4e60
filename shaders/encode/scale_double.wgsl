// scale_double.wgsl — a double's head to E8M0
// reads: SCALE_LOW SCALE_HIGH SCALE_NAN SCALE_ROUND

fn head_to_scale(head: u32) -> u32 {
    // SCALE_ROUND for a fraction of 20 bits.
    var code = ((head + (SCALE_ROUND >> 3u)) >> 20u) - 896u;
    code = select(code, SCALE_HIGH, head > 0x47e00000u);
    code = select(code, SCALE_LOW, bitcast<i32>(head) < 0x38000000);
    return select(code, SCALE_NAN, (head & 0x7fffffffu) > 0x7ff00000u);
}
