// float.wgsl — the hub to a signed float of at most 16 bits: one rounding to nearest, ties to even
// The hub is binary32, a double's head (rounded to odd), or a source's own format where the destination lies
// within it.
// reads: HUB_BITS HUB_MAN HUB_BIAS HUB_ABOVE HUB_TOP HUB_MOST HUB_ROUND
// reads: DST_BITS DST_MAN DST_BIAS DST_MAX DST_OVERFLOW DST_NAN DST_NAN_KEEP DST_NAN_FLIP DST_FNUZ
//:use lib/round

fn encode_float(hub: u32) -> u32 {
    let sign_code = 1u << (HUB_BITS - 1u);
    let magnitude = hub & (sign_code - 1u);
    let least = HUB_ABOVE + 1u;
    let early = DST_BIAS < HUB_BIAS && HUB_BITS == 32u && DST_BITS == 8u;
    var code = 0u;
    if (DST_BIAS < HUB_BIAS && HUB_MAN + DST_MAN <= 28u) {
        var value = magnitude;
        if (early) {
            // Exponents of what overflows, NaN included, would go beyond the word's top below.
            value = min(value, HUB_MOST);
        }
        let exponent = value >> HUB_MAN;
        // The significand's leading bit, at this place, leaves room below for all that a subnormal's further shift moves
        // down, but where that rounds to zero. (31: where this is never reached, a shift by more would be an error too.)
        let place = min(HUB_MAN + DST_MAN + 1u, 31u);
        let shift = clamp(i32(31u - place + least) - i32(exponent), i32(31u - place), i32(33u - place + DST_MAN));
        let significand = ((value << (31u - HUB_MAN)) | 0x80000000u) >> u32(shift);
        if (HUB_BITS < 32u || early) {
            // Exponent and significand round as one, as in round_shift; HUB_ROUND also takes `least` away.
            let sum = (max(exponent, least) << place) + significand;
            code = (sum + HUB_ROUND + extractBits(sum, HUB_MAN + 1u, 1u)) >> (HUB_MAN + 1u);
        } else {
            code = ((max(exponent, least) - least) << DST_MAN) + round_shift(significand, HUB_MAN + 1u);
        }
    } else {
        let down = HUB_MAN - DST_MAN;
        if (DST_BIAS > HUB_BIAS) {
            // Every exponent field grows by one, and subnormals double; by two: twice.
            var value = magnitude + min(magnitude, 1u << HUB_MAN);
            if (DST_BIAS > HUB_BIAS + 1u) {
                value = value + min(value, 1u << HUB_MAN);
            }
            code = round_shift(value, down);
        } else if (DST_BIAS == HUB_BIAS) {
            code = round_shift(magnitude, down);
        } else {
            // Below the least normal number each exponent less shifts the significand, implicit bit included, once more.
            let exponent = magnitude >> HUB_MAN;
            let shift = u32(clamp(i32(down + least) - i32(exponent), i32(down), 31));
            let significand = (magnitude & ((1u << HUB_MAN) - 1u)) | (1u << HUB_MAN);
            let kept = significand >> shift;
            // What was cut, at the top of a word; a tie counts as above half where the kept part is odd.
            let cut = (significand << (32u - shift)) | (kept & 1u);
            code = ((max(exponent, least) - least) << DST_MAN) + kept + select(0u, 1u, cut > 0x80000000u);
        }
    }
    if (!early) {
        // The largest number's code, or the one after it.
        code = min(code, DST_OVERFLOW);
    }
    var sign = (hub >> (HUB_BITS - DST_BITS)) & (1u << (DST_BITS - 1u));
    if (DST_FNUZ) {
        sign = select(sign, 0u, code == 0u);
    }
    code = code | sign;
    if (DST_OVERFLOW == DST_NAN && (DST_NAN_KEEP != 0u || DST_FNUZ)) {
        // NaN lies above all numbers, and has their code already.
        return code;
    }
    let nan = magnitude > HUB_TOP;
    if (DST_NAN_FLIP != 0u) {
        // From ±max, all ones but for the sign, to zero with the other sign.
        return code ^ select(0u, DST_MAX | DST_NAN_FLIP, nan);
    }
    return select(code, DST_NAN | (sign & DST_NAN_KEEP), nan);
}
