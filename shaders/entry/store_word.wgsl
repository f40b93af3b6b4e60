// store_word.wgsl — stores a destination code of 32 bits

fn store_code(word: u32, code: u32) {
    store_destination(word, code);
}
