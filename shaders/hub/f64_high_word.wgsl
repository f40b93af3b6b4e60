// f64_high_word.wgsl — binary64 to its head, the hub: the high word, rounded to odd

fn f64_high_word(code: vec2<u32>) -> u32 {
    return code.y | select(0u, 1u, code.x != 0u);
}
