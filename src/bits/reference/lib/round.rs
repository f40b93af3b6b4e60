/// Shifts right by `shift` (1..=31), rounding to nearest, ties to even.
pub(crate) fn round_shift(word: u32, shift: u32) -> u32 {
    // In the bits ....LR.TTT, L is the last bit kept and R.TTT are cut. Adding half a unit less one, and L, carries
    // into L exactly if the cut part is above half, or is half and L is odd.
    word.wrapping_add((1 << (shift - 1)) - 1).wrapping_add((word >> shift) & 1) >> shift
}
