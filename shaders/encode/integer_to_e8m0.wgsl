// integer_to_e8m0.wgsl — an integer of up to 64 bits to E8M0
// reads: SRC_BITS SRC_SIGNED E8M0_LOW E8M0_ROUND
//:use lib/normalize

// If the integer is not `positive`, `low` and `high` may have any value.
fn integer_to_e8m0(positive: bool, low: u32, high: u32) -> u32 {
    let normal = normalize_words(low, high);
    var top = normal.high;
    if (SRC_BITS > 32u) {
        // The low word matters only as a sticky bit.
        top = top | select(0u, 1u, normal.low != 0u);
    }
    // E8M0_ROUND is for 23 fraction bits; there are 31 here. Adding 2^31 removes the leading bit, so that a carry of the
    // rounding can appear in its place.
    let round = (E8M0_ROUND << 8u) | (E8M0_ROUND & 0xffu);
    let code = 127u + normal.exponent + ((top + (0x80000000u + round)) >> 31u);
    return select(E8M0_LOW, code, positive);
}

fn int_to_e8m0(value: u32) -> u32 {
    let positive = select(value != 0u, bitcast<i32>(value) > 0, SRC_SIGNED);
    return integer_to_e8m0(positive, value, 0u);
}

fn int64_to_e8m0(value: vec2<u32>) -> u32 {
    let negative = SRC_SIGNED && value.y >= 0x80000000u;
    return integer_to_e8m0((value.x | value.y) != 0u && !negative, value.x, value.y);
}
