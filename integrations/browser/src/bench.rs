//! Casts and copies of buffers on the GPU, for the page's measurements. JavaScript has the clock.

use futures_channel::oneshot;
use wasm_bindgen::prelude::*;
use wgpu_cast::wgpu::{self, BufferUsages};
use wgpu_cast::{Bound, CastSpec, Context, Destination, Error, Source};

use crate::gpu::Gpu;
use crate::{error, named};

/// A cast between two buffers of the GPU.
#[wasm_bindgen]
pub struct DeviceBench {
    device: wgpu::Device,
    queue: wgpu::Queue,
    bound: Bound,
    /// Source and destination, and two buffers of half of their bytes each, so that a copy reads and writes as much as the
    /// cast.
    buffers: [wgpu::Buffer; 4],
}

#[wasm_bindgen]
impl DeviceBench {
    /// Compiles the cast of so many elements and makes its buffers.
    ///
    /// # Errors
    /// Those of `Gpu.cast`.
    pub async fn create(gpu: &Gpu, from: String, to: String, elements: f64) -> Result<DeviceBench, JsValue> {
        let spec = CastSpec::new(named(&from)?, named(&to)?);
        Self::new(&gpu.context, &spec, elements as u64).await.map_err(|e| error::cast(&e))
    }

    /// Casts so many times, and waits for the device.
    pub async fn cast(&self, times: u32) {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        (0..times).for_each(|_| self.bound.record(&mut encoder));
        self.done(encoder).await;
    }

    /// Copies as many bytes so many times, and waits for the device.
    pub async fn copy(&self, times: u32) {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let [.., from, to] = &self.buffers;
        (0..times).for_each(|_| encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size()));
        self.done(encoder).await;
    }
}

impl DeviceBench {
    async fn new(context: &Context, spec: &CastSpec, elements: u64) -> Result<Self, Error> {
        let (Some(caster), Some(device), Some(queue)) = (context.caster(), context.device(), context.queue()) else {
            unreachable!("a GPU has a device");
        };
        let prepared = caster.prepare_async(spec, elements).await?;
        let [read, written] = [prepared.source_bytes(), prepared.destination_bytes()].map(|n| n.next_multiple_of(4));
        let half = ((read + written) / 2).next_multiple_of(4);
        let storage = BufferUsages::STORAGE;
        let make = |size, usage| {
            device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
        };
        let (source, destination) = (make(read, storage), make(written, storage));
        let copies = [make(half, BufferUsages::COPY_SRC), make(half, BufferUsages::COPY_DST)];
        let bound = prepared.bind(Source::whole(source.slice(..)), Destination::whole(destination.slice(..)))?;
        let [from, to] = copies;
        let (device, queue) = (device.clone(), queue.clone());
        Ok(Self { device, queue, bound, buffers: [source, destination, from, to] })
    }

    async fn done(&self, encoder: wgpu::CommandEncoder) {
        self.queue.submit([encoder.finish()]);
        let (sender, receiver) = oneshot::channel();
        self.queue.on_submitted_work_done(move || {
            let _ = sender.send(());
        });
        let _ = receiver.await;
    }
}

/// A browser frees buffers late, unless it is told.
impl Drop for DeviceBench {
    fn drop(&mut self) {
        self.buffers.iter().for_each(wgpu::Buffer::destroy);
    }
}
