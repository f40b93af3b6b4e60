// view_pair.wgsl — the source code at a position, for codes of 64 bits
//:use entry/view_params

fn load_code(position: u32) -> vec2<u32> {
    let word = params.source_word + 2u * position;
    return vec2<u32>(load_source(word), load_source(word + 1u));
}
