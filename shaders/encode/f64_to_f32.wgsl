// f64_to_f32.wgsl — binary64 to binary32: one rounding to nearest, ties to even; NaN becomes the canonical NaN

fn f64_to_f32(code: vec2<u32>) -> u32 {
    let low = code.x;
    let magnitude = code.y & 0x7fffffffu;
    // Normal results: the exponent is lower by 896, three bits of the low word join the significand, and the other 29 are
    // rounded away as in round_shift.
    let cut = ((magnitude - 0x38000000u) << 3u) | (low >> 29u);
    var value = cut + (((low & 0x1fffffffu) + 0x0fffffffu + (cut & 1u)) >> 29u);
    if (magnitude < 0x38100000u) {
        // Subnormal results: the significand has three bits more than the 24 of binary32, and the last of them is sticky.
        // One shift removes these three bits and one bit for each exponent below the least normal one, so that there is
        // only one rounding.
        let sticky = select(0u, 1u, (low << 6u) != 0u);
        let significand = 0x04000000u | ((magnitude & 0x000fffffu) << 6u) | (low >> 26u) | sticky;
        let shift = min(900u - (magnitude >> 20u), 31u);
        // As round_shift, which takes only a constant shift.
        value = (significand + ((1u << (shift - 1u)) - 1u) + ((significand >> shift) & 1u)) >> shift;
    }
    // Everything from 2^128 on.
    if (magnitude >= 0x47f00000u) {
        let nan = magnitude > 0x7ff00000u || (magnitude == 0x7ff00000u && low != 0u);
        value = select(0x7f800000u, 0x7fc00000u, nan);
    }
    return value | (code.y & 0x80000000u);
}
