// f64_high_word.wgsl — the high word of a binary64, rounded to odd: its last bit is set if the low word is not 0

fn f64_high_word(code: vec2<u32>) -> u32 {
    return code.y | select(0u, 1u, code.x != 0u);
}
