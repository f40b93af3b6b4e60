// integer_to_f32.wgsl — an integer of up to 64 bits to binary32: one rounding to nearest, ties to even
//:use lib/normalize

fn integer_to_f32(sign: u32, low: u32, high: u32) -> u32 {
    let normal = normalize_words(low, high);
    let cut = normal.x >> 8u;
    let lost = (normal.x & 0xffu) | select(0u, 1u, normal.y != 0u);
    let value = cut + ((lost + 0x7fu + (cut & 1u)) >> 8u) + ((126u + normal.z) << 23u);
    // The leading bit is at the top, but where all are 0.
    return min(value, normal.x) | sign;
}
