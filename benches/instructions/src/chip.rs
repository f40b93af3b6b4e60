//! Mesa's RADV as a compiler for an AMD chip that is not there, and its own counts of what it made.

use std::collections::HashMap;
use std::ffi::CStr;

use ash::ext::robustness2;
use ash::khr::pipeline_executable_properties;
use ash::vk;

use crate::Result;

/// The environment variable with the name of the chip that RADV compiles for. RADV then offers no other.
pub const CHIP: &str = "RADV_FORCE_FAMILY";

/// What the compiler made of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    pub instructions: u64,
    /// Vector registers.
    pub registers: u64,
    /// Registers of both kinds that were spilled to memory.
    pub spills: u64,
    /// Bytes of private memory.
    pub scratch: u64,
}

/// A device for the chip. It lives as long as the process.
pub struct Compiler {
    _entry: ash::Entry,
    _instance: ash::Instance,
    device: ash::Device,
    statistics: pipeline_executable_properties::Device,
    layout: vk::PipelineLayout,
    /// The driver with its version, such as `Mesa 22.3.6`.
    pub driver: String,
}

impl Compiler {
    /// A compiler for the chip that the environment names.
    pub fn new() -> Result<Self> {
        // SAFETY: the loader library is Khronos's; each structure lives longer than the call that takes it; nothing is
        // destroyed, so nothing is destroyed while in use.
        unsafe {
            let entry = ash::Entry::load()?;
            let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
            let create = vk::InstanceCreateInfo::default().application_info(&application);
            let instance = entry.create_instance(&create, None)?;
            let chip = *instance.enumerate_physical_devices()?.first().ok_or("RADV knows no such chip")?;
            let mut about = vk::PhysicalDeviceDriverProperties::default();
            instance.get_physical_device_properties2(
                chip,
                &mut vk::PhysicalDeviceProperties2::default().push_next(&mut about),
            );
            let driver = about.driver_info_as_c_str()?.to_string_lossy().into_owned();

            let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0])];
            let extensions = [pipeline_executable_properties::NAME.as_ptr(), robustness2::NAME.as_ptr()];
            let mut executable =
                vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default().pipeline_executable_info(true);
            // wgpu opens its devices with this feature.
            let features = vk::PhysicalDeviceFeatures::default().robust_buffer_access(true);
            let mut robust = vk::PhysicalDeviceRobustness2FeaturesEXT::default().robust_buffer_access2(true);
            let create = vk::DeviceCreateInfo::default()
                .queue_create_infos(&queues)
                .enabled_extension_names(&extensions)
                .enabled_features(&features)
                .push_next(&mut executable)
                .push_next(&mut robust);
            let device = instance.create_device(chip, &create, None)?;
            let statistics = pipeline_executable_properties::Device::new(&instance, &device);
            let layout = layout(&device)?;
            Ok(Self { _entry: entry, _instance: instance, device, statistics, layout, driver })
        }
    }

    /// Compiles SPIR-V words with the entry point `main`.
    pub fn compile(&self, spirv: &[u32]) -> Result<Code> {
        // SAFETY: as in `new`; naga made the words and validated them.
        let statistics = unsafe {
            let module = self.device.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(spirv), None)?;
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(c"main");
            let create = vk::ComputePipelineCreateInfo::default()
                .flags(vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR)
                .layout(self.layout)
                .stage(stage);
            let made = self.device.create_compute_pipelines(vk::PipelineCache::null(), &[create], None);
            let pipeline = made.map_err(|(_, error)| error)?[0];
            let of = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline);
            let statistics = self.statistics.get_pipeline_executable_statistics(&of)?;
            self.device.destroy_pipeline(pipeline, None);
            self.device.destroy_shader_module(module, None);
            statistics
        };
        let mut counts = HashMap::new();
        for statistic in &statistics {
            // SAFETY: all statistics of RADV are unsigned integers of 64 bits; names end with a zero.
            let (name, value) = unsafe { (CStr::from_ptr(statistic.name.as_ptr()), statistic.value.u64) };
            counts.insert(name.to_str()?, value);
        }
        let count = |name| counts.get(name).copied().ok_or(format!("RADV gives no count of {name:?}"));
        Ok(Code {
            instructions: count("Instructions")?,
            registers: count("VGPRs")?,
            spills: count("Spilled VGPRs")? + count("Spilled SGPRs")?,
            scratch: count("Scratch size")?,
        })
    }
}

/// The kernels' bindings.
///
/// # Safety
/// None beyond a live device.
unsafe fn layout(device: &ash::Device) -> Result<vk::PipelineLayout> {
    use vk::DescriptorType as Type;
    let bindings = [(0, Type::STORAGE_BUFFER), (1, Type::STORAGE_BUFFER), (4, Type::UNIFORM_BUFFER)];
    let bindings = bindings.map(|(number, kind)| {
        let binding = vk::DescriptorSetLayoutBinding::default().binding(number).descriptor_type(kind);
        binding.descriptor_count(1).stage_flags(vk::ShaderStageFlags::COMPUTE)
    });
    // SAFETY: the structures live past the calls.
    unsafe {
        let set = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        let sets = [device.create_descriptor_set_layout(&set, None)?];
        Ok(device.create_pipeline_layout(&vk::PipelineLayoutCreateInfo::default().set_layouts(&sets), None)?)
    }
}
