// integer_to_f64.wgsl — an integer of up to 64 bits to binary64: one rounding to nearest, ties to even
//:use lib/integer
//:use lib/normalize

fn integer_to_f64(parts: Integer) -> vec2<u32> {
    let normal = normalize_words(parts.low, parts.high);
    // The 64 bits lose their last 11, which are rounded as in round_shift.
    let cut = (normal.high << 21u) | (normal.low >> 11u);
    let low = cut + (((normal.low & 0x7ffu) + 0x3ffu + (cut & 1u)) >> 11u);
    let carry = select(0u, 1u, low < cut);
    // The leading bit is still there and adds one to the exponent field.
    let high = (normal.high >> 11u) + carry + ((1022u + normal.exponent) << 20u);
    // For zero `normal.high` is 0, which replaces the high word; the low word is 0 too.
    return vec2<u32>(low, min(high, normal.high) | parts.sign);
}
