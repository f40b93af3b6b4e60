//! Runs plans with SPIR-V that other compilers made.

use std::collections::HashMap;

use support::buffers::{buffer, read};
use support::planned::PlannedCast;
use wgpu_cast::wgpu::{self, util::DeviceExt};
use wgpu_cast::{PlannedDispatch, Side};

use crate::Result;
use crate::compile::Outcome;

/// The binding of the parameters of a dispatch.
const PARAMETERS: u32 = 4;

/// Pipelines by the number of their kernel, with the layout of their bindings.
pub type Pipelines = HashMap<usize, (wgpu::ComputePipeline, wgpu::BindGroupLayout)>;

/// A Vulkan device that takes SPIR-V as it is.
pub struct Device {
    device: wgpu::Device,
    queue: wgpu::Queue,
}

impl Device {
    /// The first adapter's device, if there is an adapter that takes SPIR-V.
    pub fn open() -> Result<Option<Self>> {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = wgpu::Backends::VULKAN;
        let instance = wgpu::Instance::new(descriptor);
        let Ok(adapter) = pollster::block_on(instance.request_adapter(&Default::default())) else { return Ok(None) };
        if !adapter.features().contains(wgpu::Features::PASSTHROUGH_SHADERS) {
            return Ok(None);
        }
        let descriptor = wgpu::DeviceDescriptor {
            required_features: wgpu::Features::PASSTHROUGH_SHADERS,
            required_limits: adapter.limits(),
            // SAFETY: the experimental feature in use is SPIR-V that is not checked: see `pipeline`.
            experimental_features: unsafe { wgpu::ExperimentalFeatures::enabled() },
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))?;
        Ok(Some(Self { device, queue }))
    }

    /// The adapter and the version of its driver.
    pub fn name(&self) -> String {
        let info = self.device.adapter_info();
        format!("{} ({})", info.name, info.driver_info)
    }

    /// Runs a plan. Returns the bytes of the last buffer. `numbers` are those of the plan's kernels among all.
    pub fn run(
        &self,
        cast: &PlannedCast,
        numbers: &[usize],
        kernels: &[Outcome],
        pipelines: &mut Pipelines,
    ) -> Result<Vec<u8>> {
        let filled = |bytes: &Vec<u8>| {
            let buffer = buffer(&self.device, bytes.len() as u64);
            self.queue.write_buffer(&buffer, 0, bytes);
            buffer
        };
        let buffers: Vec<_> = cast.before.iter().map(filled).collect();
        let last = &buffers[buffers.len() - 1];
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for dispatch in cast.plan.dispatches() {
            let number = numbers[dispatch.kernel()];
            let Outcome::Words(spirv) = &kernels[number] else { return Err("a kernel that was not compiled".into()) };
            let (pipeline, layout) = pipelines.entry(number).or_insert_with(|| self.pipeline(spirv, dispatch));
            let (contents, usage) = (dispatch.parameters(), wgpu::BufferUsages::UNIFORM);
            let descriptor = wgpu::util::BufferInitDescriptor { label: None, contents: &contents, usage };
            let parameters = self.device.create_buffer_init(&descriptor);
            let mut entries =
                vec![wgpu::BindGroupEntry { binding: PARAMETERS, resource: parameters.as_entire_binding() }];
            entries.extend(dispatch.bindings().map(|bound| {
                let buffer = if bound.side == Side::Source { &buffers[0] } else { last };
                let (offset, size) = (bound.offset, wgpu::BufferSize::new(bound.size));
                let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size });
                wgpu::BindGroupEntry { binding: bound.binding, resource }
            }));
            let descriptor = wgpu::BindGroupDescriptor { label: None, layout, entries: &entries };
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, &self.device.create_bind_group(&descriptor), &[]);
            let [x, y, z] = dispatch.workgroups();
            pass.dispatch_workgroups(x, y, z);
        }
        drop(pass);
        Ok(read(&self.device, &self.queue, encoder, last))
    }

    /// The pipeline of a kernel. A kernel has the same bindings in each dispatch.
    fn pipeline(&self, spirv: &[u32], dispatch: &PlannedDispatch) -> (wgpu::ComputePipeline, wgpu::BindGroupLayout) {
        let entry = |binding, kind| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty: kind, has_dynamic_offset: false, min_binding_size: None },
            count: None,
        };
        let mut entries = vec![entry(PARAMETERS, wgpu::BufferBindingType::Uniform)];
        let storage = |read_only| wgpu::BufferBindingType::Storage { read_only };
        entries.extend(dispatch.bindings().map(|bound| entry(bound.binding, storage(bound.read_only))));
        let descriptor = wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries };
        let layout = self.device.create_bind_group_layout(&descriptor);
        let bound = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        // Only Metal takes the size of a workgroup from here.
        let entry_point = wgpu::PassthroughShaderEntryPoint { name: "main".into(), workgroup_size: (1, 1, 1) };
        // SAFETY: a compiler made the SPIR-V of a kernel that stays within its buffers and ends, with the bindings of the
        // layout; results are compared, so a mistake of the compiler is noticed.
        let module = unsafe {
            self.device.create_shader_module_passthrough(wgpu::ShaderModuleDescriptorPassthrough {
                entry_points: vec![entry_point].into(),
                spirv: Some(rebound(spirv, &entries).into()),
                ..Default::default()
            })
        };
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: Some(&bound),
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        });
        (pipeline, layout)
    }
}

/// SPIR-V with the bindings that wgpu gives Vulkan for a layout: the places of its bindings in order. wgpu translates them for its
/// own shaders only.
fn rebound(spirv: &[u32], entries: &[wgpu::BindGroupLayoutEntry]) -> Vec<u32> {
    const HEADER: usize = 5;
    const OP_DECORATE: u32 = 71;
    const BINDING: u32 = 33;
    let mut bindings: Vec<_> = entries.iter().map(|entry| entry.binding).collect();
    bindings.sort_unstable();
    let mut words = spirv.to_vec();
    let mut at = HEADER;
    while at < words.len() {
        let (length, operation) = (words[at] >> 16, words[at] & 0xffff);
        if operation == OP_DECORATE && words[at + 2] == BINDING {
            let place = bindings.iter().position(|&binding| binding == words[at + 3]);
            words[at + 3] = place.expect("a binding of the layout") as u32;
        }
        at += length.max(1) as usize;
    }
    words
}
