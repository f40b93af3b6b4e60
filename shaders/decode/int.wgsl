// int.wgsl — an integer of at most 32 bits to a word, sign- or zero-extended
// reads: SRC_BITS SRC_SIGNED

fn decode_int(code: u32) -> u32 {
    let shift = 32u - SRC_BITS;
    if (SRC_SIGNED) {
        return bitcast<u32>(bitcast<i32>(code << shift) >> shift);
    }
    return (code << shift) >> shift;
}
