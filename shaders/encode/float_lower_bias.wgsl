// float_lower_bias.wgsl — a hub to a signed float of at most 16 bits with a lower bias; exponent and significand are
// rounded as one word: one rounding to nearest, ties to even
// reads: HUB_BITS HUB_MAN HUB_LEAST HUB_LIMIT HUB_ROUND DST_MAN DST_OVERFLOW
//:use lib/pack_float

// Bit pictures, from binary32 (HUB_MAN 23) to FLOAT8E4M3FN (DST_MAN 3). E is the destination's exponent field, L the last
// bit of the code; R and T are the bits that are rounded away:
//
//   magnitude     eeeeeeeemmmmmmmmmmmmmmmmmmmmmmm
//   significand      1mmmmmmmmmmmmmmmmmmmmmmm....   of a normal number: its leading bit at PLACE = HUB_MAN + DST_MAN + 1
//   sum           EEEEmmLRTTTTTTTTTTTTTTTTTTT....   L at HUB_MAN + 1
//
// 1. Limits: HUB_LIMIT is the number with the code DST_OVERFLOW. In a hub of 32 bits, it replaces larger magnitudes, so
//    that exponents do not pass the top of the word. Exponents of narrower hubs never do; their codes are limited after
//    the rounding.
// 2. Shift: HUB_LEAST is the hub's exponent of the destination's least normal number. Each exponent below it shifts the
//    significand once more, up to DST_MAN + 2 times. There the value is below half the least subnormal and rounds to zero.
//    Up to there, all bits of the significand stay in the word, because its leading bit starts at PLACE.
// 3. Rounding: the significand is added to the exponent, which is counted from HUB_LEAST. The leading bit makes the
//    exponent field 1 for the least normal numbers and leaves it 0 for subnormals. The rest is as in round_shift: half a
//    unit less one is added, and L. HUB_ROUND is half a unit less one, minus HUB_LEAST << PLACE.
// 4. Packing: the sign, and NaN.
fn encode_lower_bias(hub: u32) -> u32 {
    var magnitude = hub & ((1u << (HUB_BITS - 1u)) - 1u);
    if (HUB_BITS == 32u) {
        magnitude = min(magnitude, HUB_LIMIT);
    }
    let exponent = magnitude >> HUB_MAN;
    let place = HUB_MAN + DST_MAN + 1u;
    let normal = i32(31u - place);
    let shift = clamp(normal + i32(HUB_LEAST) - i32(exponent), normal, normal + i32(DST_MAN + 2u));
    let significand = ((magnitude << (31u - HUB_MAN)) | 0x80000000u) >> u32(shift);
    let sum = (max(exponent, HUB_LEAST) << place) + significand;
    var code = (sum + HUB_ROUND + extractBits(sum, HUB_MAN + 1u, 1u)) >> (HUB_MAN + 1u);
    if (HUB_BITS < 32u) {
        code = min(code, DST_OVERFLOW);
    }
    return pack_float(hub, code);
}
