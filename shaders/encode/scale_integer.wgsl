// scale_integer.wgsl — an integer of up to 64 bits to E8M0
// reads: SRC_BITS SCALE_LOW SCALE_ROUND
//:use lib/normalize

fn integer_to_scale(positive: bool, low: u32, high: u32) -> u32 {
    let normal = normalize_words(low, high);
    var top = normal.x;
    if (SRC_BITS > 32u) {
        top = top | select(0u, 1u, normal.y != 0u);
    }
    // SCALE_ROUND for the 31 bits after the leading one, which gives the carry its place.
    let round = (SCALE_ROUND << 8u) | (SCALE_ROUND & 0xffu);
    let code = 127u + normal.z + ((top + (0x80000000u + round)) >> 31u);
    return select(SCALE_LOW, code, positive);
}
