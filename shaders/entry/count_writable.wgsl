// count_writable.wgsl — the number of a cast's elements, which may be in the destination's buffer
// It is writable because no buffer may be bound read-only and writable at once.

@group(0) @binding(2) var<storage, read_write> count: array<u32>;

fn load_count(word: u32) -> u32 {
    return count[word];
}
