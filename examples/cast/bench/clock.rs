//! Timing of compute passes: with the adapter's timestamp queries if it has them, otherwise with the wall clock.

use std::time::Instant;

use wgpu_cast::wgpu::{self, BufferUsages, Features};

use crate::failure::Failure;

/// What goes into a compute pass.
pub type Record<'a> = &'a dyn Fn(&mut wgpu::ComputePass<'_>);

pub struct Clock<'a> {
    device: &'a wgpu::Device,
    queue: &'a wgpu::Queue,
    /// `None`: the wall clock.
    stamps: Option<Stamps>,
}

/// Begin and end of two passes.
struct Stamps {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    readable: wgpu::Buffer,
}

const BYTES: u64 = 4 * 8;

impl<'a> Clock<'a> {
    pub fn new(device: &'a wgpu::Device, queue: &'a wgpu::Queue) -> Self {
        let stamps = device.features().contains(Features::TIMESTAMP_QUERY).then(|| {
            let buffer = |usage| {
                let label = Some("timestamps");
                device.create_buffer(&wgpu::BufferDescriptor { label, size: BYTES, usage, mapped_at_creation: false })
            };
            Stamps {
                queries: device.create_query_set(&wgpu::QuerySetDescriptor {
                    label: Some("timestamps"),
                    ty: wgpu::QueryType::Timestamp,
                    count: 4,
                }),
                resolved: buffer(BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC),
                readable: buffer(BufferUsages::COPY_DST | BufferUsages::MAP_READ),
            }
        });
        Self { device, queue, stamps }
    }

    pub fn name(&self) -> &'static str {
        if self.stamps.is_some() { "timestamp queries" } else { "wall clock" }
    }

    /// Runs two passes one after the other, and gives the seconds of each.
    ///
    /// # Errors
    /// The timestamps cannot be read from the device.
    pub fn time(&self, passes: [Record<'_>; 2]) -> Result<[f64; 2], Failure> {
        match &self.stamps {
            Some(stamps) => self.time_by_stamps(stamps, passes),
            None => {
                let [first, second] = passes.map(|record| self.time_by_wall(record));
                Ok([first?, second?])
            }
        }
    }

    fn time_by_stamps(&self, stamps: &Stamps, passes: [Record<'_>; 2]) -> Result<[f64; 2], Failure> {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        for (index, record) in (0..).step_by(2).zip(passes) {
            let timestamp_writes = Some(wgpu::ComputePassTimestampWrites {
                query_set: &stamps.queries,
                beginning_of_pass_write_index: Some(index),
                end_of_pass_write_index: Some(index + 1),
            });
            record(&mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes }));
        }
        encoder.resolve_query_set(&stamps.queries, 0..4, &stamps.resolved, 0);
        encoder.copy_buffer_to_buffer(&stamps.resolved, 0, &stamps.readable, 0, BYTES);
        self.queue.submit([encoder.finish()]);
        let lost = |e: &dyn std::fmt::Display| Failure::Work(format!("cannot read the timestamps: {e}"));
        let slice = stamps.readable.slice(..);
        slice.map_async(wgpu::MapMode::Read, |_| {});
        self.wait()?;
        let ticks: Vec<u64> = {
            let view = slice.get_mapped_range().map_err(|e| lost(&e))?;
            view.chunks_exact(8)
                .map(|word| word.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte)))
                .collect()
        };
        stamps.readable.unmap();
        let period = f64::from(self.queue.get_timestamp_period()) * 1e-9;
        Ok([ticks[1].saturating_sub(ticks[0]), ticks[3].saturating_sub(ticks[2])].map(|t| t.max(1) as f64 * period))
    }

    fn time_by_wall(&self, record: Record<'_>) -> Result<f64, Failure> {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        record(&mut encoder.begin_compute_pass(&Default::default()));
        let commands = encoder.finish();
        let start = Instant::now();
        self.queue.submit([commands]);
        self.wait()?;
        Ok(start.elapsed().as_secs_f64())
    }

    fn wait(&self) -> Result<(), Failure> {
        let waited = self.device.poll(wgpu::PollType::wait_indefinitely());
        waited.map(|_| ()).map_err(|e| Failure::Work(format!("waiting for the device: {e}")))
    }
}
