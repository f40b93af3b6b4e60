use crate::reference::{INFINITY, NAN, Pair, SIGN, round_shift};

/// binary64 to binary32: one rounding to nearest, ties to even; NaN becomes the canonical one.
pub(crate) fn f64_to_f32(code: Pair) -> u32 {
    let [low, high] = code;
    let magnitude = high & !SIGN;
    let cut = ((magnitude.wrapping_sub(0x3800_0000)) << 3) | (low >> 29);
    let mut value = cut.wrapping_add(((low & 0x1fff_ffff) + 0x0fff_ffff + (cut & 1)) >> 29);
    if magnitude < 0x3810_0000 {
        // Three bits beyond the 24 and a sticky one, then the exponent's shift in one rounding.
        let significand = 0x0400_0000 | ((magnitude & 0x000f_ffff) << 6) | (low >> 26) | ((low << 6 != 0) as u32);
        value = round_shift(significand, (900 - (magnitude >> 20)).min(31));
    }
    if magnitude >= 0x47f0_0000 {
        value = if magnitude > 0x7ff0_0000 || (magnitude == 0x7ff0_0000 && low != 0) { NAN } else { INFINITY };
    }
    value | (high & SIGN)
}
