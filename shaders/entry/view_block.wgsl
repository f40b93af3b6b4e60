// view_block.wgsl — which block of transposed rows a number stands for
// reads: BLOCK_COLUMNS
//:use entry/view

// Rows whose sources lie beside each other are columns of the source.
struct Block {
    // The number of the block along its rows.
    along: u32,
    // The first of its columns.
    column: u32,
    // The row of this column.
    row: u32,
}

fn block_at(number: u32) -> Block {
    let rest = number / params.invocations;
    let item = rest / params.column_blocks;
    let column = (rest - item * params.column_blocks) * BLOCK_COLUMNS;
    // The axis of columns has params.column_rows rows in each column.
    let outer = item / params.column_rows;
    let row = (outer * params.columns + column) * params.column_rows + (item - outer * params.column_rows);
    return Block(number - rest * params.invocations, column, row);
}
