// view.wgsl — places in the destination of a view
// reads: DST_BITS DST_STEP
//:use entry/view_params

// Places in the destination are counted from its first word. For codes of less than 32 bits they are bits: a code has
// DST_STEP bits, and a cell, which one invocation stores, has DST_CELL. For other codes they are elements, and a cell is an
// element.

// The first element of a row: its position in the source and its place in the destination.
struct Row {
    source: u32,
    start: u32,
}

fn row_from(source: u32, destination: u32) -> Row {
    return Row(params.first + source, params.destination_bit / (DST_BITS / DST_STEP) + destination * DST_STEP);
}

// The place after a row that starts at `start`.
fn row_end(start: u32) -> u32 {
    return start + params.row * DST_STEP;
}
