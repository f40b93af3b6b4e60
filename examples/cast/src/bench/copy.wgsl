// copy.wgsl — what moving bytes costs: each invocation copies one vec4.

@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> destination: array<vec4<u32>>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = id.y * groups.x * 256u + id.x;
    if index < arrayLength(&destination) {
        destination[index] = source[index];
    }
}
