// edge_lanes.wgsl — one destination word an invocation, for codes of less than 32 bits
// Keeps the bits around the tensor.
// reads: DST_BITS WORKGROUP_SIZE
//:use entry/params

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let invocation = (group.y * params.pitch + group.x) * WORKGROUP_SIZE + local;
    if (invocation == 0u && params.sentinel != 0u) {
        store_destination(params.sentinel_word, params.sentinel);
    }
    // The tensor's bits, counted from the first word's lowest one. Those after the last code become zero.
    let begin = params.destination_bit;
    let end = params.destination_end;
    let word = params.destination_word + invocation;
    let base = invocation << 5u;
    if (base >= end) {
        return;
    }
    let low = max(base, begin);
    let high = min(base + 32u, end);
    let last = min((high - begin + DST_BITS - 1u) / DST_BITS, params.count);
    var value = 0u;
    for (var index = (low - begin) / DST_BITS; index < last; index = index + 1u) {
        let code = convert(load_code(index)) & ((1u << DST_BITS) - 1u);
        let bit = begin + index * DST_BITS;
        // A 6-bit code may have begun in the word before.
        value = value | select(code << ((bit - base) & 31u), code >> ((base - bit) & 31u), bit < base);
    }
    let mask = (0xffffffffu >> (32u - (high - low))) << (low - base);
    if (mask != 0xffffffffu) {
        // In one binding the other bits may be the source's, which other invocations read meanwhile: they get the value
        // that they had.
        value = (value & mask) | (load_destination(word) & ~mask);
    }
    store_destination(word, value);
}
