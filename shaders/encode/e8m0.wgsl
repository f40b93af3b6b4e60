// e8m0.wgsl — the hub to E8M0
// reads: E8M0_LOW E8M0_HIGH E8M0_NAN E8M0_ROUND

fn encode_e8m0(hub: u32) -> u32 {
    // 2^-127 is a binary32 subnormal: moved up, its exponent field is the code 0 and its fraction 23 bits again.
    let value = select(hub, (hub - 0x00400000u) << 1u, hub < 0x00800000u);
    var code = (value + E8M0_ROUND) >> 23u;
    code = select(code, E8M0_HIGH, hub > 0x7f000000u);
    code = select(code, E8M0_LOW, bitcast<i32>(hub) < 0x00400000);
    return select(code, E8M0_NAN, (hub & 0x7fffffffu) > 0x7f800000u);
}
