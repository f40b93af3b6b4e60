// view.wgsl — the rows of a view
// reads: DST_BITS DST_STEP
//:use entry/view_params

// Places in the destination are counted from its first word: for codes of less than 32 bits in bits, of which a code has
// DST_STEP and a cell, which one invocation stores, DST_CELL; for others in elements, which are cells.

// A row's first element on each side: a position in the source and a place in the destination.
struct Row {
    source: u32,
    start: u32,
}

fn row_at(row: u32) -> Row {
    var rest = row;
    var source = params.first;
    var destination = 0u;
    // From the last axis, which runs fastest. The first axis takes what the others leave.
    for (var left = params.axes; left > 1u; left = left - 1u) {
        let axis = left - 1u;
        let size = params.shape[axis >> 2u][axis & 3u];
        let index = rest % size;
        rest = rest / size;
        source = source + index * params.source_strides[axis >> 2u][axis & 3u];
        destination = destination + index * params.destination_strides[axis >> 2u][axis & 3u];
    }
    source = source + rest * params.source_strides[0].x;
    destination = destination + rest * params.destination_strides[0].x;
    return Row(source, params.destination_bit / (DST_BITS / DST_STEP) + destination * DST_STEP);
}

// The place after a row that starts at one.
fn row_end(start: u32) -> u32 {
    return start + params.row * DST_STEP;
}
