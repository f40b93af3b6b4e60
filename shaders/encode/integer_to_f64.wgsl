// integer_to_f64.wgsl — an integer of up to 64 bits to binary64: one rounding to nearest, ties to even
//:use lib/normalize

fn integer_to_f64(sign: u32, low: u32, high: u32) -> vec2<u32> {
    let normal = normalize_words(low, high);
    let cut = (normal.x << 21u) | (normal.y >> 11u);
    let value = cut + (((normal.y & 0x7ffu) + 0x3ffu + (cut & 1u)) >> 11u);
    let carry = select(0u, 1u, value < cut);
    let head = (normal.x >> 11u) + carry + ((1022u + normal.z) << 20u);
    // The leading bit is at the top, but where all are 0; then `value` is 0 too.
    return vec2<u32>(value, min(head, normal.x) | sign);
}
