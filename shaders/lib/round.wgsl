// round.wgsl — right shift with rounding to nearest, ties to even

// `shift` is 1..=31, and a constant: the bit is then one instruction.
fn round_shift(word: u32, shift: u32) -> u32 {
    // ....LR.TTT: half an ulp less one, plus L, carries into L exactly when the cut part is above half, or half and L
    // odd
    return (word + ((1u << (shift - 1u)) - 1u) + extractBits(word, shift, 1u)) >> shift;
}
