// float_higher_bias.wgsl — a hub to a signed float of at most 16 bits with a bias higher by one or two: one rounding to
// nearest, ties to even
// reads: HUB_BITS HUB_MAN HUB_BIAS DST_MAN DST_BIAS DST_OVERFLOW
//:use lib/pack_float
//:use lib/round

// A magnitude with its bias higher by one: every exponent field grows by one. A subnormal, whose exponent is that of the
// least normal numbers, doubles instead; from half the least normal number on it becomes a normal one, whose implicit bit
// is the exponent field's 1. Both add what is less, the magnitude or the exponent's unit.
fn raise_bias(magnitude: u32) -> u32 {
    return magnitude + min(magnitude, 1u << HUB_MAN);
}

// 1. Limits: the destination's subnormals reach lower than the hub's; what is too large has a larger code than DST_OVERFLOW
//    after the rounding.
// 2. Shift: first the biases become equal, without loss; then by the significand bits that the destination lacks.
// 3. Rounding and 4. packing: as in float_same_bias.
fn encode_higher_bias(hub: u32) -> u32 {
    var magnitude = raise_bias(hub & ((1u << (HUB_BITS - 1u)) - 1u));
    if (DST_BIAS > HUB_BIAS + 1u) {
        magnitude = raise_bias(magnitude);
    }
    let code = round_shift(magnitude, HUB_MAN - DST_MAN);
    return pack_float(hub, min(code, DST_OVERFLOW));
}
