// f32.wgsl — binary32 to binary32; NaN becomes the canonical NaN of the same sign

fn encode_f32(value: u32) -> u32 {
    let nan = (value & 0x7fffffffu) > 0x7f800000u;
    return select(value, 0x7fc00000u | (value & 0x80000000u), nan);
}
