// negate.wgsl — two's complement negation of two words, low first

fn negate_words(value: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(~value.x + 1u, ~value.y + select(0u, 1u, value.x == 0u));
}
