// view_windows.wgsl — an invocation casts one whole window of a row of a view
// reads: DST_CELL DST_STEP WINDOW_CELLS WORKGROUP_SIZE
//:use entry/view_few_axes

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let invocation = (group.y * params.pitch + group.x) * WORKGROUP_SIZE + local.x;
    let row = divided(invocation, params.invocations);
    let at = row_at(row);
    let size = WINDOW_CELLS * DST_CELL;
    let window = (at.start + size - 1u) / size + (invocation - row * params.invocations.number);
    if (row < params.count && (window + 1u) * size + params.tail * DST_STEP <= row_end(at.start)) {
        store_window(at.source + (window * size - at.start) / DST_STEP * params.source_step, window);
    }
}
