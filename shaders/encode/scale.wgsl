// scale.wgsl — the hub to E8M0
// reads: SCALE_LOW SCALE_HIGH SCALE_NAN SCALE_ROUND

fn encode_scale(hub: u32) -> u32 {
    // 2^-127 is a binary32 subnormal: moved up, its exponent field is the code 0 and its fraction 23 bits again.
    let value = select(hub, (hub - 0x00400000u) << 1u, hub < 0x00800000u);
    var code = (value + SCALE_ROUND) >> 23u;
    code = select(code, SCALE_HIGH, hub > 0x7f000000u);
    code = select(code, SCALE_LOW, bitcast<i32>(hub) < 0x00400000);
    return select(code, SCALE_NAN, (hub & 0x7fffffffu) > 0x7f800000u);
}
