// view_tile_words.wgsl — stores a code of whole words from workgroup memory
// reads: DST_BITS
//:use entry/view_tiles

fn store_whole(cell: u32, first: u32) {
    store_code(params.destination_word + cell * (DST_BITS / 32u), tile[first]);
}
