// strided_word.wgsl — the source code of a view's element, for codes of 8 to 32 bits
// reads: SRC_BITS
//:use entry/params
//:use entry/strided

fn load_code(index: u32) -> u32 {
    // Codes of whole bytes do not lie across words.
    let lanes = 32u / SRC_BITS;
    let place = strided(params.first + index) + params.source_bit / SRC_BITS;
    let code = source[params.source_word + place / lanes] >> ((place % lanes) * SRC_BITS);
    return code & (0xffffffffu >> (32u - SRC_BITS));
}
