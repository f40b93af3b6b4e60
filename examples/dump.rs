use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use wgpu_cast::*;
fn spirv(wgsl: &str) -> Vec<u8> {
    let module = naga::front::wgsl::parse_str(wgsl).unwrap_or_else(|e| panic!("{}\n{wgsl}", e.emit_to_string(wgsl)));
    let info = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::empty())
        .validate(&module)
        .unwrap_or_else(|e| panic!("{e:?}\n{wgsl}"));
    let u = BoundsCheckPolicy::Unchecked;
    let options = spv::Options {
        lang_version: (1, 3),
        flags: spv::WriterFlags::empty(),
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: false,
        bounds_check_policies: BoundsCheckPolicies { index: u, buffer: u, image_load: u, binding_array: u },
        ..Default::default()
    };
    let words = spv::write_vec(
        &module,
        &info,
        &options,
        Some(&spv::PipelineOptions { shader_stage: naga::ShaderStage::Compute, entry_point: "main".into() }),
    )
    .unwrap();
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}
fn main() {
    for &from in ElementType::ALL {
        for &to in ElementType::ALL {
            if !can_cast(from, to) {
                continue;
            }
            let k = kernel(from, to, &Default::default()).unwrap();
            std::fs::write(format!("/tmp/spv/{from}.{to}.{}.spv", k.elements_per_invocation()), spirv(k.wgsl()))
                .unwrap();
            std::fs::write(format!("/tmp/spv/{from}.{to}.wgsl"), k.wgsl()).unwrap();
            let e = edge_kernel(from, to, &Default::default()).unwrap();
            spirv(e.wgsl());
        }
    }
}
