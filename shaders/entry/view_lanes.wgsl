// view_lanes.wgsl — stores a word of a view's destination, for codes of less than 32 bits
// The bits around the view's elements stay as they are.
// reads: DST_BITS
//:use entry/view

// Stores a cell whose codes all belong to one row. `position` is that of the first code in the source.
fn store_own_cell(position: u32, cell: u32) {
    var value = 0u;
    for (var lane = 0u; lane < 32u / DST_BITS; lane = lane + 1u) {
        let code = convert(load_code(position + lane * params.source_step)) & ((1u << DST_BITS) - 1u);
        value = value | (code << (lane * DST_BITS));
    }
    store_destination(params.destination_word + cell, value);
}

// Several rows may lie in one word. The invocation of the first of them stores it.
fn store_cell(row: u32, at: Row, cell: u32) {
    let base = cell * 32u;
    if (row > 0u && base < at.start && row_end(row_at(row - 1u).start) > base) {
        return;
    }
    let begin = params.destination_bit;
    let ones = (1u << DST_BITS) - 1u;
    var current = row;
    var here = at;
    var value = 0u;
    var mask = 0u;
    // The codes that touch the word. A code of 6 bits may have begun in the word before.
    let last = (base + 32u - min(begin, base + 32u) + DST_BITS - 1u) / DST_BITS;
    for (var index = (max(base, begin) - begin) / DST_BITS; index < last; index = index + 1u) {
        let bit = begin + index * DST_BITS;
        // The next row comes later in the destination, and ends after this code. So one step is enough.
        if (current < params.count && bit >= row_end(here.start)) {
            current = current + 1u;
            here = row_at(current);
        }
        if (current < params.count && bit >= here.start) {
            let code = convert(load_code(here.source + (bit - here.start) / DST_BITS * params.source_step)) & ones;
            value = value | select(code << ((bit - base) & 31u), code >> ((base - bit) & 31u), bit < base);
            mask = mask | select(ones << ((bit - base) & 31u), ones >> ((base - bit) & 31u), bit < base);
        }
    }
    let end = params.destination_end;
    if (mask != 0u && end > base && end <= base + 32u) {
        // The unused bits of the last byte, which lie above the last code.
        mask = mask | ((0xffffffffu >> (base + 32u - end)) & ~(0xffffffffu >> countLeadingZeros(mask)));
    }
    let word = params.destination_word + cell;
    if (mask != 0xffffffffu) {
        value = value | (load_destination(word) & ~mask);
    }
    store_destination(word, value);
}
