//! Translates a kernel's WGSL, by naga, to the languages that the compilers of GPUs take.
//!
//! The options are those with which the kernels run: no bounds checks, no limits of loops, no zeros in workgroup
//! memory. The kernels stay within their buffers, end their loops, and write workgroup memory before they read it.

use std::collections::BTreeMap;

use naga::back::{glsl, hlsl, msl, spv};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{Module, ResourceBinding, ShaderStage};

/// The target of a translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The text as it runs.
    Wgsl,
    /// SPIR-V 1.3 words, little-endian.
    Spirv,
    /// Metal Shading Language 2.4; buffers at the numbers of their bindings, their sizes at `MSL_SIZES_BUFFER`.
    Msl,
    /// HLSL for shader model 6.0; registers at the numbers of their bindings.
    Hlsl,
    /// GLSL ES 3.10; buffers at the numbers of their bindings.
    Glsl,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 5] = [Format::Wgsl, Format::Spirv, Format::Msl, Format::Hlsl, Format::Glsl];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Wgsl => "wgsl",
            Format::Spirv => "spirv",
            Format::Msl => "msl",
            Format::Hlsl => "hlsl",
            Format::Glsl => "glsl",
        }
    }
}

/// The kernels' entry point. Metal reserves the name, so it gets `main_` there.
const ENTRY: &str = "main";

/// The buffer in which MSL kernels find the sizes of their buffers.
const MSL_SIZES_BUFFER: u8 = 5;

const UNCHECKED: BoundsCheckPolicies = BoundsCheckPolicies {
    index: BoundsCheckPolicy::Unchecked,
    buffer: BoundsCheckPolicy::Unchecked,
    image_load: BoundsCheckPolicy::Unchecked,
    binding_array: BoundsCheckPolicy::Unchecked,
};

/// Translates a module whose compute entry point is called `main`.
///
/// # Errors
/// The message of naga about a module that it cannot parse, validate or write, with the place in the text.
pub fn translate(wgsl: &str, format: Format) -> Result<Vec<u8>, String> {
    if format == Format::Wgsl {
        return Ok(wgsl.as_bytes().to_vec());
    }
    let (module, info) = parse(wgsl)?;
    match format {
        Format::Wgsl | Format::Spirv => to_spirv(&module, &info),
        Format::Msl => to_msl(&module, &info).map(String::into_bytes),
        Format::Hlsl => to_hlsl(&module, &info, hlsl::ShaderModel::V6_0).map(String::into_bytes),
        Format::Glsl => to_glsl(&module, &info).map(String::into_bytes),
    }
}

/// A module in HLSL for a shader model, otherwise as [`Format::Hlsl`].
///
/// # Errors
/// As [`translate`].
pub fn hlsl(wgsl: &str, model: hlsl::ShaderModel) -> Result<String, String> {
    let (module, info) = parse(wgsl)?;
    to_hlsl(&module, &info, model)
}

fn parse(wgsl: &str) -> Result<(Module, ModuleInfo), String> {
    let module = naga::front::wgsl::parse_str(wgsl).map_err(|e| e.emit_to_string(wgsl))?;
    // Only a text with the directive for `f16` uses this capability.
    let info = Validator::new(ValidationFlags::all(), Capabilities::SHADER_FLOAT16)
        .validate(&module)
        .map_err(|e| e.emit_to_string(wgsl))?;
    Ok((module, info))
}

/// The bindings of a module, and whether a shader writes them.
fn bindings(module: &Module) -> impl Iterator<Item = (ResourceBinding, bool)> + '_ {
    module.global_variables.iter().filter_map(|(_, variable)| {
        let writable = matches!(variable.space, naga::AddressSpace::Storage { access }
            if access.contains(naga::StorageAccess::STORE));
        Some((variable.binding?, writable))
    })
}

fn to_spirv(module: &Module, info: &ModuleInfo) -> Result<Vec<u8>, String> {
    let options = spv::Options {
        lang_version: (1, 3),
        flags: spv::WriterFlags::empty(),
        bounds_check_policies: UNCHECKED,
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: false,
        ..Default::default()
    };
    let pipeline = spv::PipelineOptions { shader_stage: ShaderStage::Compute, entry_point: ENTRY.to_owned() };
    let words = spv::write_vec(module, info, &options, Some(&pipeline)).map_err(|e| e.to_string())?;
    Ok(words.into_iter().flat_map(u32::to_le_bytes).collect())
}

fn to_msl(module: &Module, info: &ModuleInfo) -> Result<String, String> {
    let target = |(binding, mutable): (ResourceBinding, bool)| {
        (binding, msl::BindTarget { buffer: Some(binding.binding as u8), mutable, ..Default::default() })
    };
    let resources = msl::EntryPointResources {
        resources: bindings(module).map(target).collect(),
        immediates_buffer: None,
        sizes_buffer: Some(MSL_SIZES_BUFFER),
    };
    let options = msl::Options {
        lang_version: (2, 4),
        per_entry_point_map: BTreeMap::from([(ENTRY.to_owned(), resources)]),
        fake_missing_bindings: false,
        bounds_check_policies: UNCHECKED,
        zero_initialize_workgroup_memory: false,
        force_loop_bounding: false,
        ..Default::default()
    };
    let pipeline =
        msl::PipelineOptions { entry_point: Some((ShaderStage::Compute, ENTRY.to_owned())), ..Default::default() };
    msl::write_string(module, info, &options, &pipeline).map(|(text, _)| text).map_err(|e| e.to_string())
}

fn to_hlsl(module: &Module, info: &ModuleInfo, shader_model: hlsl::ShaderModel) -> Result<String, String> {
    let target = |(binding, _): (ResourceBinding, bool)| {
        (binding, hlsl::BindTarget { register: binding.binding, ..Default::default() })
    };
    let options = hlsl::Options {
        shader_model,
        binding_map: bindings(module).map(target).collect(),
        fake_missing_bindings: false,
        // HLSL has no built-in for the number of workgroups, so naga passes it through this constant buffer.
        special_constants_binding: Some(hlsl::BindTarget { space: 1, ..Default::default() }),
        zero_initialize_workgroup_memory: false,
        restrict_indexing: false,
        force_loop_bounding: false,
        ..Default::default()
    };
    let pipeline = hlsl::PipelineOptions { entry_point: Some((ShaderStage::Compute, ENTRY.to_owned())) };
    let mut text = String::new();
    hlsl::Writer::new(&mut text, &options, &pipeline).write(module, info, None).map_err(|e| e.to_string())?;
    Ok(text)
}

fn to_glsl(module: &Module, info: &ModuleInfo) -> Result<String, String> {
    let options = glsl::Options {
        version: glsl::Version::new_gles(310),
        writer_flags: glsl::WriterFlags::empty(),
        binding_map: bindings(module).map(|(binding, _)| (binding, binding.binding as u8)).collect(),
        zero_initialize_workgroup_memory: false,
    };
    let pipeline =
        glsl::PipelineOptions { shader_stage: ShaderStage::Compute, entry_point: ENTRY.to_owned(), multiview: None };
    let mut text = String::new();
    glsl::Writer::new(&mut text, module, info, &options, &pipeline, UNCHECKED)
        .and_then(|mut writer| writer.write().map(|_| ()))
        .map_err(|e| e.to_string())?;
    Ok(text)
}
