//! Timing of compute passes: with the adapter's timestamp queries if it has them, otherwise with the wall clock.

use std::time::Instant;

use wgpu_cast::wgpu::{self, BufferUsages, ErrorFilter, Features};

/// Records the content of a compute pass.
pub type Record<'a> = &'a dyn Fn(&mut wgpu::ComputePass<'_>);

pub struct Clock<'a> {
    device: &'a wgpu::Device,
    queue: &'a wgpu::Queue,
    /// `None` means the wall clock.
    stamps: Option<Stamps>,
}

/// The begin and the end of each pass that is timed at once.
struct Stamps {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    readable: wgpu::Buffer,
}

/// The most passes that are timed at once.
const PASSES: usize = 2;
const BYTES: u64 = 2 * PASSES as u64 * 8;

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
                    count: 2 * PASSES as u32,
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

    /// Runs one or two passes one after the other, and returns the seconds of each.
    ///
    /// # Errors
    /// Why the device gives no times.
    pub fn time<const N: usize>(&self, passes: [Record<'_>; N]) -> Result<[f64; N], String> {
        const { assert!(N <= PASSES, "there are timestamps for fewer passes") };
        let mut seconds = [0.0; N];
        // An invalid pass is not run, and its timestamps would be those of the pass before.
        let scope = self.device.push_error_scope(ErrorFilter::Validation);
        match &self.stamps {
            Some(stamps) => self.time_by_stamps(stamps, &passes, &mut seconds)?,
            None => {
                for (record, seconds) in passes.iter().zip(&mut seconds) {
                    *seconds = self.time_by_wall(*record)?;
                }
            }
        }
        match pollster::block_on(scope.pop()) {
            Some(error) => Err(error.to_string()),
            None => Ok(seconds),
        }
    }

    fn time_by_stamps(&self, stamps: &Stamps, passes: &[Record<'_>], seconds: &mut [f64]) -> Result<(), String> {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        for (index, record) in (0..).step_by(2).zip(passes) {
            let timestamp_writes = Some(wgpu::ComputePassTimestampWrites {
                query_set: &stamps.queries,
                beginning_of_pass_write_index: Some(index),
                end_of_pass_write_index: Some(index + 1),
            });
            record(&mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes }));
        }
        encoder.resolve_query_set(&stamps.queries, 0..2 * passes.len() as u32, &stamps.resolved, 0);
        encoder.copy_buffer_to_buffer(&stamps.resolved, 0, &stamps.readable, 0, BYTES);
        self.queue.submit([encoder.finish()]);
        let slice = stamps.readable.slice(..);
        slice.map_async(wgpu::MapMode::Read, |_| {});
        self.wait()?;
        let period = f64::from(self.queue.get_timestamp_period()) * 1e-9;
        {
            let view = slice.get_mapped_range().map_err(|e| format!("cannot read the timestamps: {e}"))?;
            let tick = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |all, &byte| all << 8 | u64::from(byte));
            for (stamps, seconds) in view.chunks_exact(16).zip(seconds) {
                let (begin, end) = stamps.split_at(8);
                *seconds = tick(end).saturating_sub(tick(begin)).max(1) as f64 * period;
            }
        }
        stamps.readable.unmap();
        Ok(())
    }

    fn time_by_wall(&self, record: Record<'_>) -> Result<f64, String> {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        record(&mut encoder.begin_compute_pass(&Default::default()));
        let commands = encoder.finish();
        let start = Instant::now();
        self.queue.submit([commands]);
        self.wait()?;
        Ok(start.elapsed().as_secs_f64())
    }

    fn wait(&self) -> Result<(), String> {
        let waited = self.device.poll(wgpu::PollType::wait_indefinitely());
        waited.map(|_| ()).map_err(|e| format!("waiting for the device: {e}"))
    }
}
