// e8m0.wgsl — an E8M0 code to binary32 bits: 2^(code - 127); code 0 is a subnormal of binary32
// reads: SRC_NAN

fn decode_e8m0(code: u32) -> u32 {
    let value = select(code << 23u, 0x00400000u, code == 0u);
    return select(value, 0x7fc00000u, code == SRC_NAN);
}
