/// Shifts right by `shift` (1..=31), rounding to nearest, ties to even.
pub(crate) fn round_shift(word: u32, shift: u32) -> u32 {
    // ....LR.TTT: half an ulp less one, plus L, carries into L exactly when the cut part is above half, or half and L
    // odd
    word.wrapping_add((1 << (shift - 1)) - 1).wrapping_add((word >> shift) & 1) >> shift
}
