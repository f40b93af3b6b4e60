// params_table.wgsl — the parameters of several casts in one dispatch
//:use entry/params

// The parameters of each cast.
@group(0) @binding(2) var<storage, read> casts: array<Params>;
// The index of the cast that each workgroup works on.
@group(0) @binding(3) var<storage, read> cast_of_workgroup: array<u32>;

var<private> params: Params;

// The number of this workgroup among those of its cast. Entry points call this before they read a parameter.
fn workgroup_number(group: vec3<u32>) -> u32 {
    params = casts[cast_of_workgroup[group.x]];
    return group.x - params.pitch;
}
