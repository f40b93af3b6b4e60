// view_words.wgsl — stores an element of a view's destination, for codes of whole words
// reads: DST_BITS
//:use entry/view

fn store_cell(row: u32, at: Row, cell: u32) {
    let code = convert(load_code(at.source + (cell - at.start) * params.source_step));
    store_code(params.destination_word + cell * (DST_BITS / 32u), code);
}
