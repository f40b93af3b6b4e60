// strided_word.wgsl — the source code of a view's element, for codes of 8 to 32 bits
// reads: SRC_BITS
//:use entry/params
//:use entry/strided

fn load_code(index: u32) -> u32 {
    // No code of whole bytes lies across two words.
    let lanes = 32u / SRC_BITS;
    let offset = strided(params.first + index) + params.source_bit / SRC_BITS;
    let code = load_source(params.source_word + offset / lanes) >> ((offset % lanes) * SRC_BITS);
    return code & (0xffffffffu >> (32u - SRC_BITS));
}
