// strided_pair.wgsl — the source code of a view's element, for codes of 64 bits
//:use entry/params
//:use entry/strided

fn load_code(index: u32) -> vec2<u32> {
    let word = params.source_word + 2u * strided(params.first + index);
    return vec2<u32>(load_source(word), load_source(word + 1u));
}
