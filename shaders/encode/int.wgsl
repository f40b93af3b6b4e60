// int.wgsl — a float to an integer of at most 32 bits, truncated; what does not fit as the constants say; not masked
// reads: INT_FAIL INT_WIDE INT_CLAMP INT_BELOW INT_ABOVE
//:use lib/split_float

fn encode_int(source: Significand) -> u32 {
    var fits = source.place < 31;
    var value = source.top >> (u32(31 - source.place) & 31u);
    if (INT_WIDE) {
        fits = source.place < 63;
        value = truncate(source.place & 63, source.top, source.rest).x;
    }
    value = select(value, 0u, source.place < 0);
    if (INT_CLAMP) {
        value = select(0xffffffffu, value, fits);
        value = min(value, select(INT_ABOVE, INT_BELOW, source.negative));
        value = select(value, 0u, source.nan);
    }
    value = select(value, ~value + 1u, source.negative);
    if (!INT_CLAMP) {
        value = select(INT_FAIL, value, fits);
    }
    return value;
}
