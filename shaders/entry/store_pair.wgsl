// store_pair.wgsl — stores a destination code of 64 bits

fn store_code(word: u32, code: vec2<u32>) {
    store_destination(word, code.x);
    store_destination(word + 1u, code.y);
}
