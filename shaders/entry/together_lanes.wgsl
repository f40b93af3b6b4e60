// together_lanes.wgsl — an invocation of the only workgroup stores one destination word, for codes of less than 32 bits
// All codes are read before the first result is written, so source and destination may overlap.
// reads: WORKGROUP_SIZE
//:use entry/params
//:use entry/lanes

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    _ = workgroup_number(group);
    let base = local.x << 5u;
    var value = 0u;
    if (base < params.destination_end) {
        value = destination_lanes(base, params.destination_end);
    }
    storageBarrier();
    if (base < params.destination_end) {
        store_destination(params.destination_word + local.x, value);
    }
}
