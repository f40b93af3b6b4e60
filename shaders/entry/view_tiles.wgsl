// view_tiles.wgsl — a workgroup casts a tile of a view's transposed rows through workgroup memory
// Neighbouring invocations load neighbours of the source, and store neighbours of the destination.
// reads: BLOCK_COLUMNS DST_CELL DST_STEP TILE_BEFORE TILE_PITCH TILE_ROW WORKGROUP_SIZE
//:use entry/view_block


// The first cell of a tile may begin before the tile, so the tile also holds the TILE_BEFORE codes before its first
// element.
var<workgroup> tile: array<DestinationCode, (TILE_ROW + TILE_BEFORE) * TILE_PITCH>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let block = block_at(group.y * params.pitch + group.x);
    if (block.row >= params.count) {
        return;
    }
    let at = row_at(block.row);
    let along = block.along * TILE_ROW;
    let columns = min(BLOCK_COLUMNS, params.columns - block.column);
    for (var index = local.x; index < (TILE_ROW + TILE_BEFORE) * BLOCK_COLUMNS; index = index + WORKGROUP_SIZE) {
        let column = index % BLOCK_COLUMNS;
        let element = along + index / BLOCK_COLUMNS - TILE_BEFORE;
        // The numbers of elements before the row wrap around, and are then larger than the length of any row.
        if (column < columns && element < params.row) {
            tile[index / BLOCK_COLUMNS * TILE_PITCH + column] =
                convert(load_code(at.source + element * params.source_step + column));
        }
    }
    workgroupBarrier();
    let cells = TILE_ROW * DST_STEP / DST_CELL;
    for (var index = local.x; index < cells * columns; index = index + WORKGROUP_SIZE) {
        let column = index / cells;
        let start = at.start + column * params.column_step * DST_STEP;
        let cell = start / DST_CELL + block.along * cells + index % cells;
        let place = cell * DST_CELL;
        if (place >= start && place + DST_CELL <= row_end(start)) {
            let element = (place - start) / DST_STEP - along + TILE_BEFORE;
            store_whole(cell, element * TILE_PITCH + column);
        } else if (place < row_end(start)) {
            let row = Row(at.source + column, start);
            store_cell(block.row + column * params.column_rows.number, row, cell);
        }
    }
}
