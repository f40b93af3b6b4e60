// separate.wgsl — the source and the destination in two buffers, with a binding each

@group(0) @binding(0) var<storage, read> source: array<SourceWords>;
@group(0) @binding(1) var<storage, read_write> destination: array<DestinationWords>;

fn load_source(index: u32) -> SourceWords {
    return source[index];
}

fn load_destination(index: u32) -> DestinationWords {
    return destination[index];
}

fn store_destination(index: u32, words: DestinationWords) {
    destination[index] = words;
}
