// together_words.wgsl — an invocation of the only workgroup stores one element, for destination codes of whole words
// All codes are read before the first result is written, so source and destination may overlap.
// reads: DST_BITS WORKGROUP_SIZE
//:use entry/params

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    _ = workgroup_number(group);
    // An invocation without an element converts the last element once more, so that all invocations reach the barrier. If
    // there are no elements, it converts whatever is first.
    let code = convert(load_code(min(local.x, max(params.count, 1u) - 1u)));
    storageBarrier();
    if (local.x < params.count) {
        store_code(params.destination_word + local.x * (DST_BITS / 32u), code);
    }
}
