// bool.wgsl — a float to BOOL: every number but ±0 is true, NaN included

fn f32_is_nonzero(value: u32) -> u32 {
    return select(0u, 1u, (value & 0x7fffffffu) != 0u);
}

fn f16_is_nonzero(code: u32) -> u32 {
    return select(0u, 1u, (code & 0x7fffu) != 0u);
}

fn f64_is_nonzero(code: vec2<u32>) -> u32 {
    return select(0u, 1u, ((code.y & 0x7fffffffu) | code.x) != 0u);
}
