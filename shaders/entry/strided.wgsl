// strided.wgsl — where an element of a view lies in the source, counted in elements
// reads: VIEW_RANK
//:use entry/params

fn strided(index: u32) -> u32 {
    var rest = index;
    var place = 0u;
    // From the last axis, which runs fastest; axes that the view lacks have one element.
    for (var axis = VIEW_RANK; axis > 0u; axis = axis - 1u) {
        let at = axis - 1u;
        let size = params.shape[at >> 2u][at & 3u];
        place = place + (rest % size) * params.strides[at >> 2u][at & 3u];
        rest = rest / size;
    }
    return place;
}
