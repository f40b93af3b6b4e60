// lanes.wgsl — a destination word of codes of less than 32 bits; the bits around the tensor stay as they were
// reads: DST_BITS
//:use entry/params

// The word that holds bit `base`. Bits are counted from the lowest bit of the tensor's first word. The tensor's bits are
// those from params.destination_bit to `end`; bits among them after the last code become zero.
fn destination_lanes(base: u32, end: u32) -> u32 {
    let begin = params.destination_bit;
    let low = max(base, begin);
    let high = min(base + 32u, end);
    let last = min((high - begin + DST_BITS - 1u) / DST_BITS, params.count);
    var value = 0u;
    for (var index = (low - begin) / DST_BITS; index < last; index = index + 1u) {
        let code = convert(load_code(index)) & ((1u << DST_BITS) - 1u);
        let bit = begin + index * DST_BITS;
        // A code of 6 bits may have begun in the word before.
        value = value | select(code << ((bit - base) & 31u), code >> ((base - bit) & 31u), bit < base);
    }
    let mask = (0xffffffffu >> (32u - (high - low))) << (low - base);
    if (mask != 0xffffffffu) {
        // In one binding, the other bits of the word may belong to the source, which other invocations may read meanwhile.
        // They are written back with the value that they had.
        value = (value & mask) | (load_destination(params.destination_word + (base >> 5u)) & ~mask);
    }
    return value;
}
