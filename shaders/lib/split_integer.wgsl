// split_integer.wgsl — an integer's sign bit and magnitude
// reads: SRC_SIGNED
//:use lib/negate

// Returns the sign bit and the magnitude.
fn split_int(value: u32) -> vec2<u32> {
    let sign = select(0u, value & 0x80000000u, SRC_SIGNED);
    let negated = bitcast<i32>(0u - value);
    return vec2<u32>(sign, select(value, bitcast<u32>(max(bitcast<i32>(value), negated)), SRC_SIGNED));
}

// Returns the sign bit and the magnitude's low and high words.
fn split_int64(value: vec2<u32>) -> vec3<u32> {
    let sign = select(0u, value.y & 0x80000000u, SRC_SIGNED);
    return vec3<u32>(sign, select(value, negate_words(value), sign != 0u));
}
