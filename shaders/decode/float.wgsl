// float.wgsl — a signed float of at most 16 bits to binary32 bits, exactly; a NaN keeps its sign and payload
// reads: SRC_BITS SRC_MAN SRC_BIAS SRC_TOP SRC_IEEE SRC_FNUZ SRC_SUBNORMALS

fn decode_float(code: u32) -> u32 {
    if (SRC_BIAS == 127u) {
        // The code is the upper bits of a binary32.
        return code << (32u - SRC_BITS);
    }
    let sign_code = 1u << (SRC_BITS - 1u);
    let sign = (code & sign_code) << (32u - SRC_BITS);
    let magnitude = code & (sign_code - 1u);
    var value = (magnitude << (23u - SRC_MAN)) + ((127u - SRC_BIAS) << 23u);
    if (SRC_SUBNORMALS) {
        // The leading bit of a subnormal becomes the implicit bit, so the addition below carries it into the exponent
        // field. A normal number's exponent field is in the magnitude already.
        let leading = min(bitcast<i32>(firstLeadingBit(magnitude)), i32(SRC_MAN));
        // Signed: compilers evaluate constants also in branches that a format never takes, and refuse to wrap.
        let exponent = bitcast<u32>(leading + (127 - i32(SRC_BIAS) - i32(SRC_MAN)));
        value = select((magnitude << u32(23 - leading)) + (exponent << 23u), 0u, magnitude == 0u);
    }
    if (SRC_IEEE) {
        // The top exponent of the source becomes the top exponent of binary32, for ∞ and NaN alike.
        value = select(value, value | 0x7f800000u, magnitude >= SRC_TOP);
    } else if (SRC_FNUZ) {
        value = select(value, 0x7fc00000u, magnitude == 0u && sign != 0u);
    } else {
        value = select(value, 0x7fc00000u, magnitude > SRC_TOP);
    }
    return value | sign;
}
