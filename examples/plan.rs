//! A cast as data: the kernels as text, and the dispatches. The program makes every object of the device itself, as an
//! engine does on another version of wgpu, on Dawn or in a browser.
//!
//! ```sh
//! cargo run --release --example plan
//! ```

use std::error::Error;

use wgpu_cast::wgpu::util::{BufferInitDescriptor, DeviceExt};
use wgpu_cast::wgpu::{self, BufferUsages};
use wgpu_cast::{CastOptions, CastSpec, ElementType, Placement, Plan, PlanSettings, Position, Tensor, cpu};

const ELEMENTS: usize = 100_004;

/// Public, because a test includes this file.
pub fn main() -> Result<(), Box<dyn Error>> {
    // What an engine has already: a device, a queue, and one large buffer with its tensors.
    let instance = wgpu::Instance::default();
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))?;
    let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default()))?;
    let buffer = |size: u64, usage| {
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    };
    let pool = buffer(1 << 20, BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC);
    let values: Vec<f32> = (0..ELEMENTS).map(|i| (i as f32 * 0.001).sin() * 500.0).collect();
    queue.write_buffer(&pool, 0, bytemuck::cast_slice(&values));

    // The places of the tensors in the pool: the result follows the source. The settings have the limits of the device;
    // the default settings suit every WebGPU device.
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
    let behind = 4 * ELEMENTS as u64;
    let placement = Placement::one_buffer(Position::whole(0), Position::whole(behind));
    let plan = Plan::new(&spec, ELEMENTS as u64, &placement, &PlanSettings::default())?;

    // A pipeline for each kernel. An engine keeps the pipelines, by their kernels.
    let pipeline = |wgsl: &str| {
        let source = wgpu::ShaderSource::Wgsl(wgsl.into());
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        })
    };
    let pipelines: Vec<_> = plan.kernels().iter().map(|kernel| pipeline(kernel.wgsl())).collect();

    // For each dispatch: its parameters in a uniform buffer at binding 4, and the tensors at bindings 0 and 1. All
    // dispatches are in one pass.
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        for dispatch in plan.dispatches() {
            let (contents, usage) = (&dispatch.parameters(), BufferUsages::UNIFORM);
            let parameters = device.create_buffer_init(&BufferInitDescriptor { label: None, contents, usage });
            let mut entries = vec![wgpu::BindGroupEntry { binding: 4, resource: parameters.as_entire_binding() }];
            for binding in dispatch.bindings() {
                // With two buffers, `binding.side` says which one to bind.
                let size = wgpu::BufferSize::new(binding.size);
                let range = wgpu::BufferBinding { buffer: &pool, offset: binding.offset, size };
                let resource = wgpu::BindingResource::Buffer(range);
                entries.push(wgpu::BindGroupEntry { binding: binding.binding, resource });
            }
            let pipeline = &pipelines[dispatch.kernel()];
            let layout = &pipeline.get_bind_group_layout(0);
            let descriptor = wgpu::BindGroupDescriptor { label: None, layout, entries: &entries };
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, &device.create_bind_group(&descriptor), &[]);
            let [x, y, z] = dispatch.workgroups();
            pass.dispatch_workgroups(x, y, z);
        }
    }

    // Only to show that the result is right: the same cast on the CPU gives the same bits.
    let expected = cpu::cast(&Tensor::from_slice([ELEMENTS], &values)?, spec.to, &CastOptions::default())?;
    let size = 2 * ELEMENTS as u64;
    let staging = buffer(size, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
    encoder.copy_buffer_to_buffer(&pool, behind, &staging, 0, size);
    queue.submit([encoder.finish()]);
    staging.slice(..).map_async(wgpu::MapMode::Read, |_| {});
    device.poll(wgpu::PollType::wait_indefinitely())?;
    if Some(&staging.slice(..).get_mapped_range()?[..]) != expected.bytes() {
        return Err("the device's result differs from the CPU's".into());
    }
    println!(
        "{ELEMENTS} elements, {} -> {} on {}: the same bits as on the CPU, in {} dispatches",
        spec.from,
        spec.to,
        adapter.get_info().name,
        plan.dispatches().len()
    );
    Ok(())
}
