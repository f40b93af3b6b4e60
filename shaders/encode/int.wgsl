// int.wgsl — a float to an integer of at most 32 bits, truncated; what does not fit as the constants say; not masked
// reads: INT_FAIL INT_WIDE INT_CLAMP INT_BELOW INT_ABOVE
//:use lib/split_float

fn encode_int(source: Significand) -> u32 {
    var fits = source.place < 31;
    // What does not fit gives 0, or, to be clamped, much.
    var value = (source.top >> 1u) >> u32(clamp(30 - source.place, 0, 31));
    if (INT_WIDE) {
        fits = source.place < 63;
        value = truncate(source.place & 63, source.top, source.rest).x;
        value = select(value, 0u, source.place < 0);
    } else if (!INT_CLAMP) {
        value = (source.top >> 1u) >> min(u32(30 - source.place), 31u);
    }
    value = select(value, 0u - value, source.negative);
    if (INT_CLAMP) {
        value = bitcast<u32>(clamp(bitcast<i32>(value), -i32(INT_BELOW), i32(INT_ABOVE)));
        value = select(value, 0u, source.nan);
    }
    if (INT_WIDE || INT_FAIL != 0u) {
        value = select(INT_FAIL, value, fits);
    }
    return value;
}
