// view_block.wgsl — the block of transposed rows with a number
// reads: BLOCK_COLUMNS
//:use entry/view_few_axes

// Rows whose sources lie next to each other are columns of the source.
struct Block {
    // The number of the block along its rows.
    along: u32,
    // The first of its columns.
    column: u32,
    // The number of the row that is this column.
    row: u32,
}

fn block_at(number: u32) -> Block {
    let rest = divided(number, params.invocations);
    let item = divided(rest, params.column_blocks);
    let column = (rest - item * params.column_blocks.number) * BLOCK_COLUMNS;
    let rows = params.column_rows.number;
    let outer = divided(item, params.column_rows);
    let row = (outer * params.columns + column) * rows + (item - outer * rows);
    return Block(number - rest * params.invocations.number, column, row);
}
