// params.wgsl — what one dispatch is told; the same block for every entry
// reads: VIEW_RANK

struct Params {
    // Number of elements; the blocks entry counts units.
    count: u32,
    // Where the first of them starts in the source binding: a word, and a bit of it.
    source_word: u32,
    source_bit: u32,
    // The last word of the source that may be read.
    source_last: u32,
    // The same in the destination binding.
    destination_word: u32,
    destination_bit: u32,
    // Workgroups in a row of the dispatch.
    pitch: u32,
    // Where the sentinel goes, in words of the destination binding, and the sentinel; 0 is none.
    sentinel_word: u32,
    sentinel: u32,
    // Of a strided view: its element that comes first, and elements and steps along each axis.
    first: u32,
    shape: array<vec4<u32>, VIEW_RANK / 4u>,
    strides: array<vec4<u32>, VIEW_RANK / 4u>,
}

@group(0) @binding(4) var<uniform> params: Params;
