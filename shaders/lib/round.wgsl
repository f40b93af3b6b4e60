// round.wgsl — right shift with rounding to nearest, ties to even

// `shift` is 1..=31, and a constant: then one instruction extracts the bit.
fn round_shift(word: u32, shift: u32) -> u32 {
    // In the bits ....LR.TTT, L is the last bit kept and R.TTT are cut. Adding half a unit less one, and L, carries into L
    // exactly if the cut part is above half, or is half and L is odd.
    return (word + ((1u << (shift - 1u)) - 1u) + extractBits(word, shift, 1u)) >> shift;
}
