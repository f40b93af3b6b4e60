// count.wgsl — the number of a cast's elements, in a buffer that the cast does not write

@group(0) @binding(2) var<storage, read> count: array<u32>;

fn load_count(word: u32) -> u32 {
    return count[word];
}
