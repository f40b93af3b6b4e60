// bool.wgsl — a number to BOOL: ±0 is false, everything else is true, NaN included

fn int_is_nonzero(value: u32) -> u32 {
    return select(0u, 1u, value != 0u);
}

fn int64_is_nonzero(value: vec2<u32>) -> u32 {
    return select(0u, 1u, (value.x | value.y) != 0u);
}

fn f32_is_nonzero(value: u32) -> u32 {
    return select(0u, 1u, (value & 0x7fffffffu) != 0u);
}

fn f64_is_nonzero(code: vec2<u32>) -> u32 {
    return select(0u, 1u, ((code.y & 0x7fffffffu) | code.x) != 0u);
}
