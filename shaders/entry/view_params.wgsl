// view_params.wgsl — the parameters of one dispatch of a view; they begin like those of every dispatch
// reads: VIEW_RANK

// A divisor of numbers below 2³¹. Kernels divide by a multiplication, because few devices have an instruction for division.
struct Divisor {
    number: u32,
    // 2^(31 + shift) / number, rounded up.
    factor: u32,
    // The binary logarithm of the least power of two that is not less than the number.
    shift: u32,
    padding: u32,
}

fn divided(dividend: u32, by: Divisor) -> u32 {
    // The high word of a product.
    let x = dividend << 1u;
    let low = (x & 0xffffu) * (by.factor & 0xffffu);
    let middle = (x >> 16u) * (by.factor & 0xffffu) + (low >> 16u);
    let other = (x & 0xffffu) * (by.factor >> 16u) + (middle & 0xffffu);
    let high = (x >> 16u) * (by.factor >> 16u) + (middle >> 16u) + (other >> 16u);
    return high >> by.shift;
}

struct Params {
    // Number of rows. A row is the view's innermost axis, if its elements follow one another in the destination. Otherwise
    // each element is a row.
    count: u32,
    // Where the lowest element lies in the source binding: a word, and a bit of that word.
    source_word: u32,
    source_bit: u32,
    source_last: u32,
    // Where the first element goes in the destination binding: a word at which a window starts, and the distance in bits
    // from there.
    destination_word: u32,
    destination_bit: u32,
    // Workgroups in a row of the dispatch.
    pitch: u32,
    sentinel_word: u32,
    sentinel: u32,
    // The end of the bits after the last element that become zero, counted as destination_bit; 0 if all bits around the
    // elements stay as they are.
    destination_end: u32,
    padding: u32,
    more_padding: u32,
    // The axes along which rows follow one another, the one with the smallest stride in the destination first: their
    // strides on both sides, in elements. `shape` has their sizes. Strides of the source may be negative: sums wrap around.
    source_strides: array<vec4<u32>, VIEW_RANK / 4u>,
    destination_strides: array<vec4<u32>, VIEW_RANK / 4u>,
    // The position in the source of the first row's first element, counted in elements from the lowest.
    first: u32,
    // Number of these axes.
    axes: u32,
    // Number of elements in a row, and their stride in the source.
    row: u32,
    source_step: u32,
    // A whole window ends at least `tail` elements before the end of its row, so that all vectors that it loads lie in the
    // row.
    tail: u32,
    // For transposed rows: the number of rows that lie next to each other in the source, and their stride in the
    // destination in elements. `column_rows` is the distance of two of them in rows; `column_blocks` is the number of
    // blocks that they fill.
    columns: u32,
    column_step: u32,
    view_padding: u32,
    column_rows: Divisor,
    column_blocks: Divisor,
    // Number of invocations for a row; for transposed rows, number of blocks along a row.
    invocations: Divisor,
    shape: array<Divisor, VIEW_RANK>,
}

@group(0) @binding(4) var<uniform> params: Params;
