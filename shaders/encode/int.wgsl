// int.wgsl — truncates a float to an integer of at most 32 bits; the constants say what a value that does not fit becomes;
// bits above the width are not masked
// reads: INT_FAIL INT_WIDE INT_CLAMP INT_BELOW INT_ABOVE
//:use lib/significand

fn encode_int(parts: Significand) -> u32 {
    var fits = parts.exponent < 31;
    // For clamped integers: a value that does not fit must exceed every bound.
    var value = (parts.high >> 1u) >> u32(clamp(30 - parts.exponent, 0, 31));
    if (INT_WIDE) {
        fits = parts.exponent < 63;
        value = truncate(parts.exponent & 63, parts.high, parts.low).x;
        value = select(value, 0u, parts.exponent < 0);
    } else if (!INT_CLAMP) {
        // For integers that are not clamped: a value that does not fit must give 0. A negative shift does so, because it is
        // a large number without sign.
        value = (parts.high >> 1u) >> min(u32(30 - parts.exponent), 31u);
    }
    value = select(value, 0u - value, parts.negative);
    if (INT_CLAMP) {
        value = bitcast<u32>(clamp(bitcast<i32>(value), -i32(INT_BELOW), i32(INT_ABOVE)));
        value = select(value, 0u, parts.nan);
    }
    if (INT_WIDE || INT_FAIL != 0u) {
        value = select(INT_FAIL, value, fits);
    }
    return value;
}
