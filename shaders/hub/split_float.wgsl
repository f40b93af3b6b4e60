// split_float.wgsl — an IEEE float of at most 16 bits taken apart for truncation
// reads: SRC_BITS SRC_MAN SRC_BIAS SRC_TOP DST_BITS
//:use lib/significand

fn split_float(code: u32) -> Significand {
    let sign_code = 1u << (SRC_BITS - 1u);
    let magnitude = code & (sign_code - 1u);
    var exponent = i32(magnitude >> SRC_MAN) - i32(SRC_BIAS);
    // Decoded as if they were numbers, ∞ and NaN are multiples of 2^(top exponent - SRC_MAN). If the destination has at
    // most that many bits, their low bits are 0, which is the right result. Otherwise their exponent is set beyond every
    // integer.
    if (DST_BITS + SRC_BIAS + SRC_MAN > (SRC_TOP >> SRC_MAN)) {
        exponent = select(exponent, 64, magnitude >= SRC_TOP);
    }
    return Significand(
        (code & sign_code) != 0u,
        magnitude > SRC_TOP,
        exponent,
        0x80000000u | (magnitude << (31u - SRC_MAN)),
        0u,
    );
}
