// params.wgsl — the parameters of one dispatch; the same for all kernels but those of views

struct Params {
    // Number of elements; in the entry for whole units, of units.
    count: u32,
    // Where the first of them starts in the source binding: a word, and a bit of it.
    source_word: u32,
    source_bit: u32,
    // The last word of the source that may be read.
    source_last: u32,
    // Where the first of them goes in the destination binding.
    destination_word: u32,
    destination_bit: u32,
    // Workgroups in a row of the dispatch; in a table of several casts, the number of the first one of this cast.
    pitch: u32,
    // The sentinel and its word in the destination binding. A sentinel of 0 is not written.
    sentinel_word: u32,
    sentinel: u32,
    // The bit after the last one that codes of less than 32 bits may change, counted as destination_bit.
    destination_end: u32,
}
