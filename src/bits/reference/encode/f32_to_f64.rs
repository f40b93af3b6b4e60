use crate::bits::reference::{INFINITY, Pair, SIGN};

/// binary32 to binary64, exactly. NaN becomes the canonical NaN.
pub(crate) fn f32_to_f64(value: u32) -> Pair {
    let mut magnitude = value & !SIGN;
    // The difference of the biases, 1023 - 127, in the exponent field.
    let mut rebias = 0x3800_0000;
    if magnitude < 0x0080_0000 {
        // A subnormal's leading bit moves to the place of the implicit bit, where it adds one to the exponent.
        let shift = magnitude.leading_zeros().wrapping_sub(8) & 31;
        rebias = if magnitude == 0 { 0 } else { 0x3800_0000 - (shift << 20) };
        magnitude <<= shift;
    }
    let mut low = magnitude << 29;
    let mut high = (magnitude >> 3).wrapping_add(rebias);
    if magnitude >= INFINITY {
        low = 0;
        high = if magnitude > INFINITY { 0x7ff8_0000 } else { 0x7ff0_0000 };
    }
    [low, high | (value & SIGN)]
}
