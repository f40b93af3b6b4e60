// strided.wgsl — the offset in the source of a view's element, counted in elements
// reads: VIEW_RANK
//:use entry/params

fn strided(index: u32) -> u32 {
    var rest = index;
    var offset = 0u;
    // From the last axis, which runs fastest. Axes that the view lacks have one element.
    for (var left = VIEW_RANK; left > 0u; left = left - 1u) {
        let axis = left - 1u;
        let size = params.shape[axis >> 2u][axis & 3u];
        offset = offset + (rest % size) * params.strides[axis >> 2u][axis & 3u];
        rest = rest / size;
    }
    return offset;
}
