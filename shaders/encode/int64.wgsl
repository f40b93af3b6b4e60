// int64.wgsl — a float to a 64-bit integer, truncated
// A value that does not fit gives the least integer in int64. In uint64, NaN and values below -2^63 give 2^63, and values
// from 2^64 on give 0.
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
