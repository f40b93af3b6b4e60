// view_ends.wgsl — an invocation stores one cell of a row of a view, before the row's first whole window or after the last
// reads: DST_CELL DST_STEP WINDOW_CELLS WORKGROUP_SIZE
//:use entry/view_cell
//:use entry/view_few_axes

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let invocation = (group.y * params.pitch + group.x) * WORKGROUP_SIZE + local.x;
    let row = divided(invocation, params.invocations);
    if (row >= params.count) {
        return;
    }
    let at = row_at(row);
    let index = invocation - row * params.invocations.number;
    let size = WINDOW_CELLS * DST_CELL;
    var cell = at.start / DST_CELL + index;
    if (index >= WINDOW_CELLS) {
        cell = (row_end(at.start) - params.tail * DST_STEP) / size * WINDOW_CELLS + (index - WINDOW_CELLS);
    } else if (cell >= (at.start + size - 1u) / size * WINDOW_CELLS) {
        return;
    }
    store_cell_of(row, at, cell);
}
