// edge_words.wgsl — an invocation stores one element, for destination codes of whole words
// reads: DST_BITS WORKGROUP_SIZE
//:use entry/params

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let invocation = workgroup_number(group) * WORKGROUP_SIZE + local.x;
    if (invocation == 0u && params.sentinel != 0u) {
        store_destination(params.sentinel_word, params.sentinel);
    }
    if (invocation < params.count) {
        store_code(params.destination_word + invocation * (DST_BITS / 32u), convert(load_code(invocation)));
    }
}
