// float_lower_bias_sticky.wgsl — a hub to a signed float of at most 16 bits with a lower bias; the bits that are cut are
// kept in a word of their own: one rounding to nearest, ties to even
// reads: HUB_BITS HUB_MAN HUB_LEAST DST_MAN DST_OVERFLOW
//:use lib/pack_float

// For significands that a subnormal's shift would move out of the word in part. Bit pictures of a normal number, from
// binary32 (HUB_MAN 23) to FLOAT16 (DST_MAN 10):
//
//   significand   1mmmmmmmmmmmmmmmmmmmmmmm
//   kept          1mmmmmmmmmL
//   cut           RTTTTTTTTTTTT..................L   R at the top; L at the bottom, where no cut bit is
//
// 1. Limits: none before the rounding. A magnitude that is too large has a larger code than DST_OVERFLOW after it.
// 2. Shift: by the significand bits that the destination lacks. HUB_LEAST is the exponent of the least normal number. Each
//    exponent below it shifts the significand once more, up to 31 bits in all: nothing is kept then, and R is 0.
// 3. Rounding: up if the cut part is above half, or is half and L is odd. This is so if and only if the word `cut` is above
//    R alone. The kept part's leading bit and a carry are added to the exponent, which is counted from HUB_LEAST.
// 4. Packing: the sign, and NaN.
fn encode_lower_bias_sticky(hub: u32) -> u32 {
    let magnitude = hub & ((1u << (HUB_BITS - 1u)) - 1u);
    let exponent = magnitude >> HUB_MAN;
    let normal = i32(HUB_MAN - DST_MAN);
    let shift = u32(clamp(normal + i32(HUB_LEAST) - i32(exponent), normal, 31));
    let significand = (magnitude & ((1u << HUB_MAN) - 1u)) | (1u << HUB_MAN);
    let kept = significand >> shift;
    let cut = (significand << (32u - shift)) | (kept & 1u);
    let rounded = kept + select(0u, 1u, cut > 0x80000000u);
    let code = ((max(exponent, HUB_LEAST) - HUB_LEAST) << DST_MAN) + rounded;
    return pack_float(hub, min(code, DST_OVERFLOW));
}
