// integer_to_e8m0.wgsl — an integer of up to 64 bits to E8M0
// reads: SRC_BITS E8M0_LOW E8M0_ROUND
//:use lib/normalize

fn integer_to_e8m0(positive: bool, low: u32, high: u32) -> u32 {
    let normal = normalize_words(low, high);
    var top = normal.x;
    if (SRC_BITS > 32u) {
        top = top | select(0u, 1u, normal.y != 0u);
    }
    // E8M0_ROUND for the 31 bits after the leading one, which gives the carry its place.
    let round = (E8M0_ROUND << 8u) | (E8M0_ROUND & 0xffu);
    let code = 127u + normal.z + ((top + (0x80000000u + round)) >> 31u);
    return select(E8M0_LOW, code, positive);
}
