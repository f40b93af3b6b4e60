// integer_to_f32.wgsl — an integer of up to 64 bits to binary32: one rounding to nearest, ties to even
//:use lib/integer
//:use lib/normalize

fn integer_to_f32(parts: Integer) -> u32 {
    let normal = normalize_words(parts.low, parts.high);
    // The high word loses its last 8 bits. The low word matters only as a sticky bit.
    let cut = normal.high >> 8u;
    let lost = (normal.high & 0xffu) | select(0u, 1u, normal.low != 0u);
    // Rounds as in round_shift. The leading bit is still there and adds one to the exponent field.
    let value = cut + ((lost + 0x7fu + (cut & 1u)) >> 8u) + ((126u + normal.exponent) << 23u);
    // For zero `normal.high` is 0, which replaces the value. For other integers its top bit is set, so it exceeds every
    // value.
    return min(value, normal.high) | parts.sign;
}
