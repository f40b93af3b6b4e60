// int64.wgsl — a float to a 64-bit integer, truncated
// What does not fit: int64 gives the least integer; uint64 gives 2^63 for NaN and below -2^63, and 0 from 2^64.
// reads: INT64_SIGNED
//:use lib/significand
//:use lib/negate

fn encode_int64(parts: Significand) -> vec2<u32> {
    let fails_to_least = INT64_SIGNED || parts.negative || parts.nan;
    var value = truncate(parts.exponent & 63, parts.high, parts.low);
    value = select(value, vec2<u32>(0u), parts.exponent < 0);
    value = select(value, negate_words(value), parts.negative);
    let fail = vec2<u32>(0u, select(0u, 0x80000000u, fails_to_least));
    return select(value, fail, parts.exponent >= select(64, 63, fails_to_least));
}
