//! Devices and buffers for the tests that record casts themselves.

use std::ops::Range;

use wgpu_cast::wgpu::{self, BufferUsages};

/// A device as an application opens it, with the limits that every device has.
pub fn own_device() -> (wgpu::Device, wgpu::Queue) {
    let adapter = crate::adapter::own();
    let required_limits = wgpu::Limits::downlevel_defaults();
    let descriptor = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
    pollster::block_on(adapter.request_device(&descriptor)).unwrap()
}

/// The pipeline of a kernel, with the entry point `main` and the layout that the text gives.
pub fn pipeline(device: &wgpu::Device, wgsl: &str) -> wgpu::ComputePipeline {
    let source = wgpu::ShaderSource::Wgsl(wgsl.into());
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: Default::default(),
        cache: None,
    })
}

/// A buffer of whole words. Casts and copies can read and write it.
pub fn buffer(device: &wgpu::Device, size: u64) -> wgpu::Buffer {
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
    let size = size.next_multiple_of(4);
    device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
}

/// Submits the recorded commands, and then reads a buffer.
pub fn read(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    encoder: wgpu::CommandEncoder,
    buffer: &wgpu::Buffer,
) -> Vec<u8> {
    read_all(device, queue, encoder, &[buffer]).remove(0)
}

/// As [`read`], for several buffers in one submission. A submission takes time even if there is little to read.
pub fn read_all(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    mut encoder: wgpu::CommandEncoder,
    buffers: &[&wgpu::Buffer],
) -> Vec<Vec<u8>> {
    let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
    let size = buffers.iter().map(|buffer| buffer.size()).sum();
    let staging = device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    let mut end = 0;
    let ranges: Vec<Range<usize>> = buffers
        .iter()
        .map(|buffer| {
            let start = end;
            end += buffer.size();
            encoder.copy_buffer_to_buffer(buffer, 0, &staging, start, buffer.size());
            start as usize..end as usize
        })
        .collect();
    let index = queue.submit([encoder.finish()]);
    staging.slice(..).map_async(wgpu::MapMode::Read, |result| result.unwrap());
    device.poll(wgpu::PollType::Wait { submission_index: Some(index), timeout: None }).unwrap();
    let bytes = staging.slice(..).get_mapped_range().unwrap();
    ranges.into_iter().map(|range| bytes[range].to_vec()).collect()
}
