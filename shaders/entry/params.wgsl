// params.wgsl — the parameters of one dispatch, for all kernels except those of views

struct Params {
    // Number of elements; in the kernels for whole units, number of units.
    count: u32,
    // Where the first element starts in the source binding: a word, and a bit of that word.
    source_word: u32,
    source_bit: u32,
    // The last word of the source that may be read.
    source_last: u32,
    // Where the first element goes in the destination binding: a word, and a bit of that word.
    destination_word: u32,
    destination_bit: u32,
    // Workgroups between two rows of the dispatch; in a table of several casts, the number of this cast's first workgroup.
    pitch: u32,
    // The sentinel and its word in the destination binding. A sentinel of 0 is not written.
    sentinel_word: u32,
    sentinel: u32,
    // The end of the bits that codes of less than 32 bits may change, counted as destination_bit.
    destination_end: u32,
}
