//! A cast inside an engine's own GPU work. The tensors stay in the engine's buffers, and the cast goes into its
//! encoder.
//!
//! ```sh
//! cargo run --release --example resident
//! ```

use wgpu_cast::wgpu::{self, BufferUsages};
use wgpu_cast::{CastOptions, CastSpec, Caster, Coverage, Destination, ElementType, Source, Tensor, cpu};

const ELEMENTS: usize = 1 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // What an engine has already: a device, a queue, and one large buffer with its tensors as slices.
    let instance = wgpu::Instance::default();
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))?;
    let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default()))?;
    let buffer = |size: u64, usage| {
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    };
    let pool = buffer(16 << 20, BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC);
    let values: Vec<f32> = (0..ELEMENTS).map(|i| (i as f32 * 0.001).sin() * 500.0).collect();
    queue.write_buffer(&pool, 0, bytemuck::cast_slice(&values));

    // Once: a caster, its pipelines, and the proof that the driver computes the right results.
    let caster = Caster::new(&device);
    let narrow = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT8E4M3FN);
    let widen = CastSpec::new(ElementType::FLOAT8E4M3FN, ElementType::FLOAT16);
    caster.warm_up(&[narrow, widen], Coverage::OneBuffer)?;
    pollster::block_on(caster.self_test(&queue, &[narrow, widen], Coverage::OneBuffer))?.into_result()?;

    // For each tensor: what to cast, and where it lies. Here these are three slices of the pool, one after the other.
    let (float, float8) = (4 * ELEMENTS as u64, ELEMENTS as u64);
    let source = pool.slice(..float);
    let middle = pool.slice(float..float + float8);
    let result = pool.slice(float + float8..float + 3 * float8);
    let first = caster.prepare(&narrow, ELEMENTS as u64)?.bind(Source::whole(source), Destination::whole(middle))?;
    let second = caster.prepare(&widen, ELEMENTS as u64)?.bind(Source::whole(middle), Destination::whole(result))?;

    // Every time: recording makes no objects and cannot fail. The second dispatch reads what the first one wrote.
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        first.record_in_pass(&mut pass);
        second.record_in_pass(&mut pass);
    }
    let staging = buffer(2 * float8, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
    encoder.copy_buffer_to_buffer(&pool, float + float8, &staging, 0, 2 * float8);
    queue.submit([encoder.finish()]);

    // Only to show that the result is right: the same cast on the CPU gives the same bits.
    staging.slice(..).map_async(wgpu::MapMode::Read, |_| {});
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let options = CastOptions::default();
    let tensor = Tensor::from_slice([ELEMENTS], &values)?;
    let expected = cpu::cast(&cpu::cast(&tensor, narrow.to, &options)?, widen.to, &options)?;
    let same = Some(&staging.slice(..).get_mapped_range()?[..]) == expected.bytes();
    println!(
        "{ELEMENTS} elements, {} -> {} -> {} on {}: {}",
        narrow.from,
        narrow.to,
        widen.to,
        adapter.get_info().name,
        if same { "the same bits as on the CPU" } else { "WRONG" }
    );
    if same { Ok(()) } else { Err("the device's result differs from the CPU's".into()) }
}
