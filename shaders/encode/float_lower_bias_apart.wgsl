// float_lower_bias_apart.wgsl — a hub to a signed float of at most 16 bits with a lower bias; the significand is rounded
// apart from the exponent: one rounding to nearest, ties to even
// reads: HUB_BITS HUB_MAN HUB_LEAST DST_MAN DST_OVERFLOW
//:use lib/pack_float
//:use lib/round

// For codes that would make the sum of float_lower_bias too large for a word. Bit picture of the significand of a normal
// number, from the high word of a binary64 (HUB_MAN 20) to BFLOAT16 (DST_MAN 7):
//
//   significand   ...1mmmmmmLRTTTTTTTTTTTT........   its leading bit at HUB_MAN + DST_MAN + 1, L at HUB_MAN + 1
//
// 1. Limits: none before the rounding. A magnitude that is too large has a larger code than DST_OVERFLOW after it.
// 2. Shift: as in float_lower_bias.
// 3. Rounding: only the significand is rounded. Its leading bit and a carry are added to the exponent, which is counted
//    from HUB_LEAST.
// 4. Packing: the sign, and NaN.
fn encode_lower_bias_apart(hub: u32) -> u32 {
    let magnitude = hub & ((1u << (HUB_BITS - 1u)) - 1u);
    let exponent = magnitude >> HUB_MAN;
    let normal = i32(31u - (HUB_MAN + DST_MAN + 1u));
    let shift = clamp(normal + i32(HUB_LEAST) - i32(exponent), normal, normal + i32(DST_MAN + 2u));
    let significand = ((magnitude << (31u - HUB_MAN)) | 0x80000000u) >> u32(shift);
    let code = ((max(exponent, HUB_LEAST) - HUB_LEAST) << DST_MAN) + round_shift(significand, HUB_MAN + 1u);
    return pack_float(hub, min(code, DST_OVERFLOW));
}
