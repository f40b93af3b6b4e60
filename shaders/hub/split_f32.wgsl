// split_f32.wgsl — binary32 taken apart for truncation
//:use lib/significand

fn split_f32(value: u32) -> Significand {
    let magnitude = value & 0x7fffffffu;
    return Significand(
        value >= 0x80000000u,
        magnitude > 0x7f800000u,
        i32(magnitude >> 23u) - 127,
        0x80000000u | (magnitude << 8u),
        0u,
    );
}
