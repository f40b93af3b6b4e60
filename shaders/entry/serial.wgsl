// serial.wgsl — one invocation converts one element after the other, in place, where codes lie across words
// Several invocations would not do: what one reads of such a code, another may have converted already. Keeps the bits
// around the tensor.
// reads: DST_BITS WORKGROUP_SIZE
//:use entry/params
//:use entry/load_word

fn put_bits(bit: u32, value: u32, mask: u32) {
    let word = params.destination_word + (bit >> 5u);
    let low = bit & 31u;
    store_destination(word, (load_destination(word) & ~(mask << low)) | (value << low));
    // The part above the word's end, if there is one.
    let above = (mask >> 1u) >> (31u - low);
    if (above != 0u) {
        store_destination(word + 1u, (load_destination(word + 1u) & ~above) | ((value >> 1u) >> (31u - low)));
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>) {
    _ = workgroup_number(group);
    for (var index = 0u; index < params.count; index = index + 1u) {
        let mask = (1u << DST_BITS) - 1u;
        put_bits(params.destination_bit + index * DST_BITS, convert(load_code(index)) & mask, mask);
    }
    let end = params.destination_bit + params.count * DST_BITS;
    // The pad bits of the last byte.
    if (end < params.destination_end) {
        put_bits(end, 0u, 0xffu >> (end & 7u));
    }
}
