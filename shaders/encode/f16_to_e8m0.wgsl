// f16_to_e8m0.wgsl — float16 to E8M0
// reads: E8M0_LOW E8M0_HIGH E8M0_NAN E8M0_ROUND

fn f16_to_e8m0(code: u32) -> u32 {
    let magnitude = code & 0x7fffu;
    // E8M0_ROUND for a fraction of 10 bits.
    let normal = (magnitude + ((E8M0_ROUND >> 13u) + (112u << 10u))) >> 10u;
    // A subnormal is an integer times 2^-24; its leading bit goes to the top, and out.
    let place = firstLeadingBit(magnitude);
    let fraction = magnitude << (~place & 31u);
    let carry = (fraction + (0x80000000u + ((E8M0_ROUND << 8u) | (E8M0_ROUND & 0xffu)))) >> 31u;
    var scale = select(normal, place + carry + 103u, magnitude < 0x400u);
    scale = select(scale, E8M0_HIGH, code == 0x7c00u);
    scale = select(scale, E8M0_LOW, code - 1u >= 0x7fffu);
    return select(scale, E8M0_NAN, magnitude > 0x7c00u);
}
