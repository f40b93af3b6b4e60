// integer.wgsl — an integer of up to 64 bits to the hub: binary32 bits rounded to odd
// reads: SRC_BITS
//:use lib/normalize

fn integer_to_hub(sign: u32, low: u32, high: u32) -> u32 {
    let normal = normalize_words(low, high);
    var significand = normal.x >> 8u;
    if (SRC_BITS > 24u) {
        significand = significand | select(0u, 1u, ((normal.x & 0xffu) | normal.y) != 0u);
    }
    let hub = significand + ((126u + normal.z) << 23u);
    return select(hub, 0u, normal.x == 0u) | sign;
}
