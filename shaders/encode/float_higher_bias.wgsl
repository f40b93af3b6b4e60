// float_higher_bias.wgsl — a hub to a signed float of at most 16 bits with a bias higher by one or two: one rounding to
// nearest, ties to even
// reads: HUB_BITS HUB_MAN HUB_BIAS DST_MAN DST_BIAS DST_OVERFLOW
//:use lib/pack_float
//:use lib/round

// A magnitude with its bias higher by one: the exponent field of a normal number grows by one. A subnormal doubles instead,
// because its exponent is that of the least normal numbers. From half the least normal number on it becomes a normal
// number; the exponent field's 1 is then its implicit bit. Both cases add the lesser of the magnitude and the exponent's
// unit.
fn raise_bias(magnitude: u32) -> u32 {
    return magnitude + min(magnitude, 1u << HUB_MAN);
}

// 1. Limits: none before the rounding. The destination's subnormals reach lower than the hub's. A magnitude that is too
//    large has a larger code than DST_OVERFLOW after the rounding.
// 2. Shift: first the biases become equal, without loss. Then the shift is by the significand bits that the destination
//    lacks.
// 3. Rounding and 4. packing: as in float_same_bias.
fn encode_higher_bias(hub: u32) -> u32 {
    var magnitude = raise_bias(hub & ((1u << (HUB_BITS - 1u)) - 1u));
    if (DST_BIAS > HUB_BIAS + 1u) {
        magnitude = raise_bias(magnitude);
    }
    let code = round_shift(magnitude, HUB_MAN - DST_MAN);
    return pack_float(hub, min(code, DST_OVERFLOW));
}
