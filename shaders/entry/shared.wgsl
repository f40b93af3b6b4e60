// shared.wgsl — the source and the destination in one binding over a range that holds both

@group(0) @binding(1) var<storage, read_write> memory: array<SourceWords>;

fn load_source(index: u32) -> SourceWords {
    return memory[index];
}

fn load_destination(index: u32) -> DestinationWords {
    return memory[index];
}

fn store_destination(index: u32, words: DestinationWords) {
    memory[index] = words;
}
