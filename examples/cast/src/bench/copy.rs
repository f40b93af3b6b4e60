//! The copy kernel with which casts are compared.

use wgpu_cast::wgpu::{self, BufferBinding, BufferSize};

/// Bytes that a workgroup copies: 256 invocations with a vec4 each.
const GROUP: u64 = 256 * 16;

pub struct Copy<'a> {
    device: &'a wgpu::Device,
    pipeline: wgpu::ComputePipeline,
}

/// A copy of the first bytes of one buffer into another.
pub struct BoundCopy<'a> {
    pipeline: &'a wgpu::ComputePipeline,
    buffers: wgpu::BindGroup,
    groups: [u32; 2],
}

impl<'a> Copy<'a> {
    pub fn new(device: &'a wgpu::Device) -> Self {
        let module = device.create_shader_module(wgpu::include_wgsl!("copy.wgsl"));
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("copy"),
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        });
        Self { device, pipeline }
    }

    /// `bytes` must be a multiple of 16 and within both buffers and a binding.
    pub fn bind(&self, source: &wgpu::Buffer, destination: &wgpu::Buffer, bytes: u64) -> BoundCopy<'_> {
        let entry = |binding, buffer| {
            let resource =
                wgpu::BindingResource::Buffer(BufferBinding { buffer, offset: 0, size: BufferSize::new(bytes) });
            wgpu::BindGroupEntry { binding, resource }
        };
        let buffers = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("copy"),
            layout: &self.pipeline.get_bind_group_layout(0),
            entries: &[entry(0, source), entry(1, destination)],
        });
        let groups = bytes.div_ceil(GROUP) as u32;
        let most = self.device.limits().max_compute_workgroups_per_dimension;
        let rows = groups.div_ceil(most);
        BoundCopy { pipeline: &self.pipeline, buffers, groups: [groups.div_ceil(rows), rows] }
    }
}

impl BoundCopy<'_> {
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        let [columns, rows] = self.groups;
        pass.set_pipeline(self.pipeline);
        pass.set_bind_group(0, &self.buffers, &[]);
        pass.dispatch_workgroups(columns, rows, 1);
    }
}
