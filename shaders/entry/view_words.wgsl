// view_words.wgsl — stores an element of a view's destination, for codes of whole words
// reads: DST_BITS
//:use entry/view

fn store_own_cell(position: u32, cell: u32) {
    store_code(params.destination_word + cell * (DST_BITS / 32u), convert(load_code(position)));
}

// A cell is one element, so it always belongs to one row.
fn store_cell(row: u32, at: Row, cell: u32) {
}
