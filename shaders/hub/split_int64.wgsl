// split_int64.wgsl — the sign and the magnitude of a 64-bit integer
// reads: SRC_SIGNED
//:use lib/integer
//:use lib/negate

fn split_int64(value: vec2<u32>) -> Integer {
    let sign = select(0u, value.y & 0x80000000u, SRC_SIGNED);
    let magnitude = select(value, negate_words(value), sign != 0u);
    return Integer(sign, magnitude.x, magnitude.y);
}
