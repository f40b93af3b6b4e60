// params_immediate.wgsl — the parameters as immediates
//:use entry/params

var<immediate> params: Params;

// The number of this workgroup. Entry points call this before they read a parameter.
fn workgroup_number(group: vec3<u32>) -> u32 {
    return group.y * params.pitch + group.x;
}
