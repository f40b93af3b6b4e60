// float_same_bias.wgsl — a hub to a signed float of at most 16 bits with the hub's exponents: one rounding to nearest, ties
// to even
// reads: HUB_BITS HUB_MAN DST_MAN DST_OVERFLOW
//:use lib/pack_float
//:use lib/round

// Bit picture of the magnitudes, the exponent first:
//
//   hub   eeeeemmmmmmmmmm
//   code  eeeeemm            its exponent bits may be fewer
//
// 1. Limits: none before the rounding. A magnitude that is too large has a larger code than DST_OVERFLOW after it.
// 2. Shift: by the significand bits that the destination lacks, for normal numbers and subnormals alike.
// 3. Rounding: a carry goes from the significand into the exponent, where it belongs.
// 4. Packing: the sign, and NaN.
fn encode_same_bias(hub: u32) -> u32 {
    let magnitude = hub & ((1u << (HUB_BITS - 1u)) - 1u);
    let code = round_shift(magnitude, HUB_MAN - DST_MAN);
    return pack_float(hub, min(code, DST_OVERFLOW));
}
