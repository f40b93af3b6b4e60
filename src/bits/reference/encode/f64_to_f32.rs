use crate::bits::reference::{INFINITY, NAN, Pair, SIGN, round_shift};

/// binary64 to binary32: one rounding to nearest, ties to even. NaN becomes the canonical NaN.
pub(crate) fn f64_to_f32(code: Pair) -> u32 {
    let [low, high] = code;
    let magnitude = high & !SIGN;
    // Normal results: the exponent is lower by 896, three bits of the low word join the significand, and the other 29
    // are rounded away as in `round_shift`.
    let cut = (magnitude.wrapping_sub(0x3800_0000) << 3) | (low >> 29);
    let mut value = cut.wrapping_add(((low & 0x1fff_ffff) + 0x0fff_ffff + (cut & 1)) >> 29);
    if magnitude < 0x3810_0000 {
        // Subnormal results: the significand has three bits more than the 24 of binary32, and the last of them is
        // sticky. One shift removes these three bits and one bit for each exponent below the least normal one, so that
        // there is only one rounding.
        let sticky = (low << 6 != 0) as u32;
        let significand = 0x0400_0000 | ((magnitude & 0x000f_ffff) << 6) | (low >> 26) | sticky;
        let shift = (900 - (magnitude >> 20)).min(31);
        value = round_shift(significand, shift);
    }
    // Everything from 2^128 on.
    if magnitude >= 0x47f0_0000 {
        let nan = magnitude > 0x7ff0_0000 || (magnitude == 0x7ff0_0000 && low != 0);
        value = if nan { NAN } else { INFINITY };
    }
    value | (high & SIGN)
}
