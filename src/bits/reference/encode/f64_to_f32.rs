use crate::bits::reference::{INFINITY, NAN, Pair, SIGN, round_shift};

/// binary64 to binary32: one rounding to nearest, ties to even; NaN becomes the canonical one.
pub(crate) fn f64_to_f32(code: Pair) -> u32 {
    let [low, high] = code;
    let magnitude = high & !SIGN;
    // Normal results: 896 exponents less, three bits of the low word more, and the other 29 rounded as in
    // `round_shift`.
    let cut = (magnitude.wrapping_sub(0x3800_0000) << 3) | (low >> 29);
    let mut value = cut.wrapping_add(((low & 0x1fff_ffff) + 0x0fff_ffff + (cut & 1)) >> 29);
    if magnitude < 0x3810_0000 {
        // Subnormal results: the significand with three bits more than binary32's 24, the last one sticky, is shifted
        // by these three and by each exponent below the least normal one, all in one rounding.
        let sticky = (low << 6 != 0) as u32;
        let significand = 0x0400_0000 | ((magnitude & 0x000f_ffff) << 6) | (low >> 26) | sticky;
        let shift = (900 - (magnitude >> 20)).min(31);
        value = round_shift(significand, shift);
    }
    // From 2^128 on.
    if magnitude >= 0x47f0_0000 {
        let nan = magnitude > 0x7ff0_0000 || (magnitude == 0x7ff0_0000 && low != 0);
        value = if nan { NAN } else { INFINITY };
    }
    value | (high & SIGN)
}
