// split_f64.wgsl — binary64 taken apart for truncation
//:use lib/significand

fn split_f64(code: vec2<u32>) -> Significand {
    let magnitude = code.y & 0x7fffffffu;
    return Significand(
        code.y >= 0x80000000u,
        magnitude > 0x7ff00000u || (magnitude == 0x7ff00000u && code.x != 0u),
        i32(magnitude >> 20u) - 1023,
        0x80000000u | (magnitude << 11u) | (code.x >> 21u),
        code.x << 11u,
    );
}
