// load_word.wgsl — the source code at an index, for codes of at most 32 bits
// reads: SRC_BITS
//:use entry/params

fn load_code(index: u32) -> u32 {
    let bit = params.source_bit + index * SRC_BITS;
    let word = params.source_word + (bit >> 5u);
    var code = load_source(word) >> (bit & 31u);
    if (SRC_BITS == 6u && (bit & 31u) > 26u) {
        code = code | (load_source(word + 1u) << (32u - (bit & 31u)));
    }
    return code & (0xffffffffu >> (32u - SRC_BITS));
}
