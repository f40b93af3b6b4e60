// view.wgsl — places in the destination of a view
// reads: DST_BITS DST_STEP
//:use entry/view_params

// Places in the destination are counted from its first word: for codes of less than 32 bits in bits, of which a code has
// DST_STEP and a cell, which one invocation stores, DST_CELL; for others in elements, which are cells.

// A row's first element on each side: a position in the source and a place in the destination.
struct Row {
    source: u32,
    start: u32,
}

fn row_from(source: u32, destination: u32) -> Row {
    return Row(params.first + source, params.destination_bit / (DST_BITS / DST_STEP) + destination * DST_STEP);
}

// The place after a row that starts at one.
fn row_end(start: u32) -> u32 {
    return start + params.row * DST_STEP;
}
