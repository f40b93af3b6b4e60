// int64.wgsl — a float to a 64-bit integer, truncated
// What does not fit: int64 gives the least integer; uint64 gives 2^63 for NaN and below -2^63, and 0 from 2^64.
// reads: INT64_SIGNED
//:use lib/split_float
//:use lib/negate

fn encode_int64(source: Significand) -> vec2<u32> {
    let least = INT64_SIGNED || source.negative || source.nan;
    var value = truncate(source.place & 63, source.top, source.rest);
    value = select(value, vec2<u32>(0u), source.place < 0);
    value = select(value, negate_words(value), source.negative);
    let fail = vec2<u32>(0u, select(0u, 0x80000000u, least));
    return select(value, fail, source.place >= select(64, 63, least));
}
