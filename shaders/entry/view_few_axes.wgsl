// view_few_axes.wgsl — the rows of a view of at most four axes beside that of the rows
// There is no loop: it would cost software adapters more than the axes do.
//:use entry/view

// Axes that the view does not have count as axes of one element.
fn row_at(row: u32) -> Row {
    let second = divided(row, params.shape[0]);
    let third = divided(second, params.shape[1]);
    let fourth = divided(third, params.shape[2]);
    let sizes = vec3<u32>(params.shape[0].number, params.shape[1].number, params.shape[2].number);
    let index = vec4<u32>(vec3<u32>(row, second, third) - vec3<u32>(second, third, fourth) * sizes, fourth);
    let source = index * params.source_strides[0];
    let destination = index * params.destination_strides[0];
    return row_from(
        source.x + source.y + source.z + source.w,
        destination.x + destination.y + destination.z + destination.w,
    );
}
