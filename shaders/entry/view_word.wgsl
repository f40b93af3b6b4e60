// view_word.wgsl — the source code at a position, for codes of at most 32 bits
// reads: SRC_BITS
//:use entry/view_params

fn load_code(position: u32) -> u32 {
    if (SRC_BITS == 6u) {
        // 16 codes of 6 bits fill three words.
        let bit = params.source_bit + (position & 15u) * SRC_BITS;
        let word = params.source_word + (position >> 4u) * 3u + (bit >> 5u);
        var code = load_source(word) >> (bit & 31u);
        if ((bit & 31u) > 26u) {
            code = code | (load_source(word + 1u) << (32u - (bit & 31u)));
        }
        return code & 63u;
    }
    // Codes of other widths do not lie across words.
    let lanes = 32u / SRC_BITS;
    let index = position + params.source_bit / SRC_BITS;
    let code = load_source(params.source_word + index / lanes) >> ((index % lanes) * SRC_BITS);
    return code & (0xffffffffu >> (32u - SRC_BITS));
}
