// load_pair.wgsl — the source code at an index, for codes of 64 bits
//:use entry/params

fn load_code(index: u32) -> vec2<u32> {
    let word = params.source_word + 2u * index;
    return vec2<u32>(load_source(word), load_source(word + 1u));
}
