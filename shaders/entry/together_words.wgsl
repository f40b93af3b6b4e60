// together_words.wgsl — one element an invocation of one workgroup, for destination codes of whole words
// All codes are read before the first result is written, so that source and destination may overlap.
// reads: DST_BITS WORKGROUP_SIZE
//:use entry/params

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    _ = workgroup_number(group);
    // Without an element of its own, an invocation converts the last one once more, or the first one of none.
    let code = convert(load_code(min(local.x, max(params.count, 1u) - 1u)));
    storageBarrier();
    if (local.x < params.count) {
        store_code(params.destination_word + local.x * (DST_BITS / 32u), code);
    }
}
