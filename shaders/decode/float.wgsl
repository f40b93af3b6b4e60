// float.wgsl — a signed float of at most 16 bits to binary32 bits, exactly; of NaN, sign and payload are kept
// reads: SRC_BITS SRC_MAN SRC_BIAS SRC_TOP SRC_IEEE SRC_FNUZ SRC_SUBNORMALS

fn decode_float(code: u32) -> u32 {
    let sign_code = 1u << (SRC_BITS - 1u);
    let sign = (code & sign_code) << (32u - SRC_BITS);
    if (SRC_BIAS == 127u) {
        // binary32's upper half.
        return code << (32u - SRC_BITS);
    }
    let magnitude = code & (sign_code - 1u);
    var value = (magnitude << (23u - SRC_MAN)) + ((127u - SRC_BIAS) << 23u);
    if (SRC_SUBNORMALS) {
        // A subnormal: its leading bit becomes the implicit one, which the addition carries into the exponent.
        let place = firstLeadingBit(magnitude);
        let normal = (magnitude << ((23u - place) & 31u)) + ((place + (127u - SRC_BIAS - SRC_MAN)) << 23u);
        let subnormal = select(normal, 0u, magnitude == 0u);
        value = select(value, subnormal, magnitude < (1u << SRC_MAN));
    }
    if (SRC_IEEE) {
        // The top exponent stays the top exponent: ∞ and NaN alike.
        value = select(value, value | 0x7f800000u, magnitude >= SRC_TOP);
    } else if (SRC_FNUZ) {
        value = select(value, 0x7fc00000u, magnitude == 0u && sign != 0u);
    } else {
        value = select(value, 0x7fc00000u, magnitude > SRC_TOP);
    }
    return value | sign;
}
