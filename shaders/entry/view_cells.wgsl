// view_cells.wgsl — one cell of a row of a view an invocation
// reads: DST_CELL DST_STEP WORKGROUP_SIZE
//:use entry/view

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let invocation = (group.y * params.pitch + group.x) * WORKGROUP_SIZE + local.x;
    let row = divided(invocation, params.invocations);
    if (row >= params.count) {
        return;
    }
    let at = row_at(row);
    let end = row_end(at.start);
    let index = invocation - row * params.invocations.number;
    var cell = at.start / DST_CELL + index;
    let cells = params.window_cells;
    if (cells != 0u) {
        // The cells before the first whole window, or those after the last.
        let window = cells * DST_CELL;
        if (index >= cells) {
            cell = (end - params.tail * DST_STEP) / window * cells + (index - cells);
        } else if (cell >= (at.start + window - 1u) / window * cells) {
            return;
        }
    }
    let place = cell * DST_CELL;
    if (DST_CELL % DST_STEP == 0u && place >= at.start && place + DST_CELL <= end) {
        store_own_cell(at.source + (place - at.start) / DST_STEP * params.source_step, cell);
    } else if (place < end) {
        store_cell(row, at, cell);
    }
}
