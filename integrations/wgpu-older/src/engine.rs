//! The part that an engine copies: a plan recorded on another version of wgpu. It is compiled once for each version, in a module that
//! has that version as `wgpu`, and a function `instance`.

use std::collections::HashMap;

use wgpu_cast::{Plan, Side};

use super::wgpu;
use super::wgpu::util::DeviceExt;

/// A device and the pipelines that it has compiled.
pub struct Engine {
    adapter: wgpu::AdapterInfo,
    device: wgpu::Device,
    queue: wgpu::Queue,
    /// By the kernel's text.
    pipelines: HashMap<String, wgpu::ComputePipeline>,
}

impl Engine {
    /// Opens the default device, or the one that wgpu's environment variables choose.
    pub fn open() -> Result<Self, crate::Failure> {
        let instance = super::instance();
        let adapter = pollster::block_on(wgpu::util::initialize_adapter_from_env_or_default(&instance, None))?;
        // The default limits are those of the default `PlanSettings`. No feature is needed.
        let (device, queue) = pollster::block_on(adapter.request_device(&Default::default()))?;
        Ok(Self { adapter: adapter.get_info(), device, queue, pipelines: HashMap::new() })
    }

    /// Records a plan. If source and destination are in one buffer, both arguments are this buffer.
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        plan: &Plan,
        source: &wgpu::Buffer,
        destination: &wgpu::Buffer,
    ) {
        let kernels: Vec<_> = plan.kernels().iter().map(|kernel| self.pipeline(kernel.wgsl())).collect();
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for dispatch in plan.dispatches() {
            let pipeline = &kernels[dispatch.kernel()];
            let parameters = self.device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
                label: None,
                contents: &dispatch.parameters(),
                usage: wgpu::BufferUsages::UNIFORM,
            });
            let mut entries = vec![wgpu::BindGroupEntry { binding: 4, resource: parameters.as_entire_binding() }];
            for bound in dispatch.bindings() {
                let buffer = match bound.side {
                    Side::Source => source,
                    Side::Destination => destination,
                };
                let (offset, size) = (bound.offset, wgpu::BufferSize::new(bound.size));
                let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size });
                entries.push(wgpu::BindGroupEntry { binding: bound.binding, resource });
            }
            let layout = &pipeline.get_bind_group_layout(0);
            let descriptor = wgpu::BindGroupDescriptor { label: None, layout, entries: &entries };
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, &self.device.create_bind_group(&descriptor), &[]);
            let [x, y, z] = dispatch.workgroups();
            pass.dispatch_workgroups(x, y, z);
        }
    }

    fn pipeline(&mut self, wgsl: &str) -> wgpu::ComputePipeline {
        if let Some(pipeline) = self.pipelines.get(wgsl) {
            return pipeline.clone();
        }
        let source = wgpu::ShaderSource::Wgsl(wgsl.into());
        let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            // The kernel's text says which bindings there are.
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        });
        self.pipelines.insert(wgsl.to_owned(), pipeline.clone());
        pipeline
    }
}

impl crate::Runner for Engine {
    fn name(&self) -> String {
        format!("{} ({})", self.adapter.name, self.adapter.backend)
    }

    fn forget(&mut self) {
        self.pipelines.clear();
    }

    fn run(&mut self, plan: &Plan, before: &[Vec<u8>]) -> Result<Vec<u8>, crate::Failure> {
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let descriptor = |contents| wgpu::util::BufferInitDescriptor { label: None, contents, usage };
        let buffers: Vec<_> = before.iter().map(|bytes| self.device.create_buffer_init(&descriptor(bytes))).collect();
        let (source, destination) = (&buffers[0], &buffers[buffers.len() - 1]);
        let staging = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: destination.size(),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = self.device.create_command_encoder(&Default::default());
        self.record(&mut encoder, plan, source, destination);
        encoder.copy_buffer_to_buffer(destination, 0, &staging, 0, destination.size());
        self.queue.submit([encoder.finish()]);
        staging.map_async(wgpu::MapMode::Read, .., |mapped| mapped.expect("the buffer can be mapped"));
        self.device.poll(wgpu::PollType::wait_indefinitely())?;
        Ok(staging.get_mapped_range(..).to_vec())
    }
}
