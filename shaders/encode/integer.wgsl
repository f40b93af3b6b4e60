// integer.wgsl — an integer to an integer of another width; one that is not wider keeps the low bits
// reads: SRC_SIGNED

fn int_to_int64(value: u32) -> vec2<u32> {
    return vec2<u32>(value, select(0u, 0u - (value >> 31u), SRC_SIGNED));
}

fn int64_to_int(value: vec2<u32>) -> u32 {
    return value.x;
}
