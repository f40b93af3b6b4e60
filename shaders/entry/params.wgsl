// params.wgsl — what one dispatch is told; the same block for every entry

struct Params {
    // First element and number of elements; the blocks entry counts units.
    first: u32,
    count: u32,
    // Byte of the first bound word at which element 0 starts.
    source_byte: u32,
    destination_byte: u32,
    // Workgroups in a row of the dispatch.
    pitch: u32,
    // Where the sentinel goes, in words of the destination binding, and the sentinel; 0 is none.
    sentinel_word: u32,
    sentinel: u32,
}

@group(0) @binding(4) var<uniform> params: Params;
