// view_cell.wgsl — stores a cell of the destination of a view
// reads: DST_CELL DST_STEP
//:use entry/view

// The row may end before the cell.
fn store_cell_of(row: u32, at: Row, cell: u32) {
    let place = cell * DST_CELL;
    let end = row_end(at.start);
    if (DST_CELL % DST_STEP == 0u && place >= at.start && place + DST_CELL <= end) {
        store_own_cell(at.source + (place - at.start) / DST_STEP * params.source_step, cell);
    } else if (place < end) {
        store_cell(row, at, cell);
    }
}
