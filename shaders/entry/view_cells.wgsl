// view_cells.wgsl — an invocation stores one cell of a row of a view
// reads: DST_CELL WORKGROUP_SIZE
//:use entry/view_cell

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let invocation = (group.y * params.pitch + group.x) * WORKGROUP_SIZE + local.x;
    let row = divided(invocation, params.invocations);
    if (row < params.count) {
        let at = row_at(row);
        store_cell_of(row, at, at.start / DST_CELL + (invocation - row * params.invocations.number));
    }
}
