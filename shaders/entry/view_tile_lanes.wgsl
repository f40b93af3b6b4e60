// view_tile_lanes.wgsl — stores a whole word of codes of less than 32 bits from workgroup memory
// reads: DST_CELL DST_STEP TILE_PITCH
//:use entry/view_tiles

fn store_whole(cell: u32, first: u32) {
    var value = 0u;
    for (var lane = 0u; lane < DST_CELL / DST_STEP; lane = lane + 1u) {
        value = value | ((tile[first + lane * TILE_PITCH] & ((1u << DST_STEP) - 1u)) << (lane * DST_STEP));
    }
    store_destination(params.destination_word + cell, value);
}
