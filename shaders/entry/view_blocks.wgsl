// view_blocks.wgsl — an invocation casts a block of a view's transposed rows
// For software adapters, whose workgroup memory is slow. The invocations of a workgroup form a square of blocks. So the
// data that one invocation loads beside its block is in the processor's cache when another invocation needs it.
// reads: BLOCK DST_BITS DST_STEP SQUARE SRC_BITS WORKGROUP_SIZE
//:use entry/view_block

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let square = block_at(group.y * params.pitch + group.x);
    // Neighbouring invocations go along the side of the shorter codes, which touches the fewest lines of the cache.
    let first = local.x % SQUARE;
    let second = local.x / SQUARE;
    let element = (square.along * SQUARE + select(first, second, SRC_BITS < DST_BITS)) * BLOCK;
    let column = square.column + select(second, first, SRC_BITS < DST_BITS) * BLOCK;
    let at = row_at(square.row);
    let beside = column - square.column;
    let source = at.source + element * params.source_step + beside;
    if (square.row < params.count && element < params.row && column < params.columns) {
        store_block(source, at.start + (element + beside * params.column_step) * DST_STEP);
    }
}
