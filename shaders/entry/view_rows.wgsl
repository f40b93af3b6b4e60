// view_rows.wgsl — the rows of a view of any number of axes
//:use entry/view

fn row_at(row: u32) -> Row {
    var rest = row;
    var source = 0u;
    var destination = 0u;
    for (var axis = 0u; axis < params.axes; axis = axis + 1u) {
        let left = divided(rest, params.shape[axis]);
        let index = rest - left * params.shape[axis].number;
        rest = left;
        source = source + index * params.source_strides[axis >> 2u][axis & 3u];
        destination = destination + index * params.destination_strides[axis >> 2u][axis & 3u];
    }
    return row_from(source, destination);
}
