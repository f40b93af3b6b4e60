// params_uniform.wgsl — the parameters in a uniform buffer
//:use entry/params

@group(0) @binding(4) var<uniform> params: Params;

// The number of this workgroup. Entry points call this before they read a parameter.
fn workgroup_number(group: vec3<u32>) -> u32 {
    return group.y * params.pitch + group.x;
}
