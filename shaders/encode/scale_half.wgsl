// scale_half.wgsl — float16 to E8M0
// reads: SCALE_LOW SCALE_HIGH SCALE_NAN SCALE_ROUND

fn half_to_scale(code: u32) -> u32 {
    let magnitude = code & 0x7fffu;
    // SCALE_ROUND for a fraction of 10 bits.
    let normal = (magnitude + ((SCALE_ROUND >> 13u) + (112u << 10u))) >> 10u;
    // A subnormal is an integer times 2^-24; its leading bit goes to the top, and out.
    let place = firstLeadingBit(magnitude);
    let fraction = magnitude << (~place & 31u);
    let carry = (fraction + (0x80000000u + ((SCALE_ROUND << 8u) | (SCALE_ROUND & 0xffu)))) >> 31u;
    var scale = select(normal, place + carry + 103u, magnitude < 0x400u);
    scale = select(scale, SCALE_HIGH, code == 0x7c00u);
    scale = select(scale, SCALE_LOW, code - 1u >= 0x7fffu);
    return select(scale, SCALE_NAN, magnitude > 0x7c00u);
}
