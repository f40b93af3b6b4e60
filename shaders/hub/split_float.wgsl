// split_float.wgsl — an IEEE float of at most 16 bits taken apart for truncation
// reads: SRC_BITS SRC_MAN SRC_BIAS SRC_TOP DST_BITS
//:use lib/significand

fn split_float(code: u32) -> Significand {
    let sign_code = 1u << (SRC_BITS - 1u);
    let magnitude = code & (sign_code - 1u);
    var exponent = i32(magnitude >> SRC_MAN) - i32(SRC_BIAS);
    // Read as numbers, ∞ and NaN are multiples of 2^(their exponent - SRC_MAN). Where the destination has no more bits
    // than that, their low bits are the 0 that they must give.
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
