// edge_lanes.wgsl — an invocation stores one destination word, for codes of less than 32 bits
// reads: WORKGROUP_SIZE
//:use entry/params
//:use entry/lanes

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let invocation = workgroup_number(group) * WORKGROUP_SIZE + local.x;
    if (invocation == 0u && params.sentinel != 0u) {
        store_destination(params.sentinel_word, params.sentinel);
    }
    let base = invocation << 5u;
    if (base < params.destination_end) {
        store_destination(params.destination_word + invocation, destination_lanes(base, params.destination_end));
    }
}
