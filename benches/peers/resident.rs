//! Casts between buffers of the best adapter, and a copy of the same number of bytes.

use std::iter::repeat_n;
use std::sync::mpsc;
use std::time::Instant;

use wgpu_cast::wgpu::{self, BufferUsages};
use wgpu_cast::{Bound, CastSpec, Context, Destination, DeviceChoice, ElementType, Source, Tensor};

use super::{Result, packed_bytes};

/// Bytes that a workgroup of the copy kernel moves: 256 invocations, each with a `vec4`.
const GROUP: u64 = 256 * 16;

/// A device that is opened once.
pub struct Adapter {
    context: Context,
    device: wgpu::Device,
    queue: wgpu::Queue,
    copy: wgpu::ComputePipeline,
}

/// A cast and a copy whose buffers are bound.
pub struct Resident {
    cast: Bound,
    destination: wgpu::Buffer,
    copy: wgpu::BindGroup,
    groups: [u32; 2],
}

/// The work that is recorded, several times.
#[derive(Clone, Copy)]
pub enum Work {
    Cast,
    Copy,
}

impl Adapter {
    pub fn open() -> Result<Self> {
        let context = pollster::block_on(Context::open(DeviceChoice::Gpu))?;
        let (device, queue) = context.device().zip(context.queue()).ok_or("the adapter has no device")?;
        let (device, queue) = (device.clone(), queue.clone());
        let module = device.create_shader_module(wgpu::include_wgsl!("../../examples/cast/src/bench/copy.wgsl"));
        let copy = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("copy"),
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        });
        Ok(Self { context, device, queue, copy })
    }

    pub fn name(&self) -> String {
        self.context
            .adapter_info()
            .map_or_else(String::new, |info| format!("{} ({}, {})", info.name, info.backend, info.driver_info))
    }

    pub fn bind(&self, tensor: &Tensor, to: ElementType) -> Result<Resident> {
        let (from, bytes) = (tensor.element_type(), tensor.bytes().ok_or("strings")?);
        let caster = self.context.caster().ok_or("the adapter has no device")?;
        let prepared = caster.prepare(&CastSpec::new(from, to), tensor.len() as u64)?;
        let moved = bytes.len() + packed_bytes(to, tensor.len())?;
        // The copy reads half of the bytes that the cast reads and writes, and writes the same number.
        let copied = (moved as u64 / 2).next_multiple_of(16);
        let source = self.buffer(prepared.source_bytes().max(copied), BufferUsages::COPY_DST);
        let destination = self.buffer(prepared.destination_bytes().max(copied), BufferUsages::COPY_SRC);
        self.queue.write_buffer(&source, 0, bytes);
        let cast = prepared.bind(
            Source::whole(source.slice(..prepared.source_bytes())),
            Destination::whole(destination.slice(..prepared.destination_bytes())),
        )?;
        let entry = |binding, buffer| wgpu::BindGroupEntry {
            binding,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer,
                offset: 0,
                size: wgpu::BufferSize::new(copied),
            }),
        };
        let copy = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("copy"),
            layout: &self.copy.get_bind_group_layout(0),
            entries: &[entry(0, &source), entry(1, &destination)],
        });
        let groups = u32::try_from(copied.div_ceil(GROUP))?;
        let rows = groups.div_ceil(self.device.limits().max_compute_workgroups_per_dimension);
        Ok(Resident { cast, destination, copy, groups: [groups.div_ceil(rows), rows] })
    }

    fn buffer(&self, size: u64, usage: BufferUsages) -> wgpu::Buffer {
        let usage = usage | BufferUsages::STORAGE;
        let size = size.next_multiple_of(4);
        self.device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    }

    /// The seconds in which `times` works are recorded, submitted and done.
    pub fn seconds(&self, resident: &Resident, work: Work, times: usize) -> Result<f64> {
        self.wait()?;
        let start = Instant::now();
        let mut encoder = self.device.create_command_encoder(&Default::default());
        match work {
            Work::Cast => Bound::record_all(repeat_n(&resident.cast, times), &mut encoder),
            Work::Copy => {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                pass.set_pipeline(&self.copy);
                pass.set_bind_group(0, &resident.copy, &[]);
                let [columns, rows] = resident.groups;
                (0..times).for_each(|_| pass.dispatch_workgroups(columns, rows, 1));
            }
        }
        self.queue.submit([encoder.finish()]);
        self.wait()?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// The first bytes of the destination.
    pub fn read(&self, resident: &Resident, bytes: usize) -> Result<Vec<u8>> {
        let size = (bytes as u64).next_multiple_of(4).min(resident.destination.size());
        let usage = BufferUsages::COPY_DST | BufferUsages::MAP_READ;
        let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
        let staging = self.device.create_buffer(&descriptor);
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(&resident.destination, 0, &staging, 0, size);
        self.queue.submit([encoder.finish()]);
        let (sender, mapped) = mpsc::channel();
        staging.slice(..).map_async(wgpu::MapMode::Read, move |result| drop(sender.send(result)));
        self.wait()?;
        mapped.recv()??;
        let mut read = staging.slice(..).get_mapped_range()?.to_vec();
        read.truncate(bytes);
        Ok(read)
    }

    fn wait(&self) -> Result<()> {
        self.device.poll(wgpu::PollType::wait_indefinitely())?;
        Ok(())
    }
}
