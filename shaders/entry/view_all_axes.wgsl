// view_all_axes.wgsl — the rows of a view of any number of axes, for software adapters
// There is no loop: it would cost software adapters more than the axes do.
//:use entry/view

// Axes that the view does not have count as axes of one element.
fn row_at(row: u32) -> Row {
    let quotient_1 = divided(row, params.shape[0]);
    let quotient_2 = divided(quotient_1, params.shape[1]);
    let quotient_3 = divided(quotient_2, params.shape[2]);
    let quotient_4 = divided(quotient_3, params.shape[3]);
    let quotient_5 = divided(quotient_4, params.shape[4]);
    let quotient_6 = divided(quotient_5, params.shape[5]);
    let quotient_7 = divided(quotient_6, params.shape[6]);
    let low = vec4<u32>(
        row - quotient_1 * params.shape[0].number,
        quotient_1 - quotient_2 * params.shape[1].number,
        quotient_2 - quotient_3 * params.shape[2].number,
        quotient_3 - quotient_4 * params.shape[3].number,
    );
    let high = vec4<u32>(
        quotient_4 - quotient_5 * params.shape[4].number,
        quotient_5 - quotient_6 * params.shape[5].number,
        quotient_6 - quotient_7 * params.shape[6].number,
        quotient_7,
    );
    let source = low * params.source_strides[0] + high * params.source_strides[1];
    let destination = low * params.destination_strides[0] + high * params.destination_strides[1];
    return row_from(
        source.x + source.y + source.z + source.w,
        destination.x + destination.y + destination.z + destination.w,
    );
}
