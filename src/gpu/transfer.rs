//! Host tensors to the device and back, and the proof that the work was done.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::caster::Caster;
use crate::conversion::Conversion;
use crate::error::Error;
use crate::gpu::record::device_result;
use crate::gpu::scope::{one_line, scoped};
use crate::plan;

/// A chunk that takes longer is given up: the slowest software adapter needs a few seconds.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A device of our own.
#[derive(Debug)]
pub(crate) struct Link {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub caster: Caster,
    sentinels: AtomicU32,
    lost: Arc<Mutex<Option<String>>>,
}

impl Link {
    pub(crate) fn new(device: wgpu::Device, queue: wgpu::Queue) -> Self {
        let lost = Arc::new(Mutex::new(None));
        let seen = lost.clone();
        device.set_device_lost_callback(move |reason, text| note(&seen, format!("{reason:?}: {text}")));
        // Every call is scoped; what a driver reports outside of them must not take the process down, which is wgpu's
        // default.
        device.on_uncaptured_error(Arc::new(|error: wgpu::Error| log::error!("{}", one_line(&error))));
        let caster = Caster::new(&device);
        Self { device, queue, caster, sentinels: AtomicU32::new(0), lost }
    }

    /// Why the device is gone, if it is.
    pub(crate) fn lost(&self) -> Option<String> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Casts packed bytes of `elements` elements into `destination`, in chunks that fit the device's buffers. Returns
    /// the number of dispatches.
    pub(crate) async fn cast(
        &self,
        conversion: &Conversion,
        source: &[u8],
        elements: u64,
        destination: &mut [u8],
    ) -> Result<u32, Error> {
        let chunk = plan::host_chunk(conversion, self.caster.limits())?;
        let bytes = |bits: u32, elements: u64| (elements * u64::from(bits)).div_ceil(8) as usize;
        let (mut start, mut dispatches) = (0, 0);
        while start < elements {
            let count = chunk.min(elements - start);
            let part = |bits| bytes(bits, start)..bytes(bits, start + count);
            let source = &source[part(conversion.from.code_bits())];
            let destination = &mut destination[part(conversion.to.code_bits())];
            let done = self.cast_chunk(conversion, source, count, destination).await;
            dispatches += done.map_err(|error| self.diagnose(error))?;
            start += count;
        }
        Ok(dispatches)
    }

    async fn cast_chunk(
        &self,
        conversion: &Conversion,
        source: &[u8],
        elements: u64,
        destination: &mut [u8],
    ) -> Result<u32, Error> {
        let (from, to) = (conversion.from, conversion.to);
        self.check(conversion)?;
        // Odd, so never 0, which is what memory holds that nobody wrote.
        let sentinel = self.sentinels.fetch_add(1, Ordering::Relaxed).wrapping_mul(2).wrapping_add(1);
        let prepared = self.caster.prepare_with_sentinel(*conversion, elements, Some(sentinel))?;

        let words = destination.len().next_multiple_of(4);
        let (source_size, result_size) = (source.len().next_multiple_of(4) as u64, words as u64 + 4);
        let storage = wgpu::BufferUsages::STORAGE;
        let input = self.buffer(conversion, "cast source", source_size, storage | wgpu::BufferUsages::COPY_DST)?;
        let output =
            self.buffer(conversion, "cast destination", result_size, storage | wgpu::BufferUsages::COPY_SRC)?;
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let staging = self.buffer(conversion, "cast read-back", result_size, usage)?;
        let bound = prepared.bind(input.slice(..), output.slice(..))?;

        let (sender, receiver) = futures_channel::oneshot::channel();
        let submitted = scoped(&self.device, || {
            let (whole, rest) = source.split_at(source.len() / 4 * 4);
            if !whole.is_empty() {
                self.queue.write_buffer(&input, 0, whole);
            }
            if !rest.is_empty() {
                let mut word = [0; 4];
                word[..rest.len()].copy_from_slice(rest);
                self.queue.write_buffer(&input, whole.len() as u64, &word);
            }
            let mut encoder =
                self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("cast") });
            bound.record(&mut encoder);
            encoder.copy_buffer_to_buffer(&output, 0, &staging, 0, result_size);
            let index = self.queue.submit([encoder.finish()]);
            // The receiver is gone only if this future was dropped.
            staging.slice(..).map_async(wgpu::MapMode::Read, move |result| drop(sender.send(result)));
            index
        });
        let index = device_result(conversion, result_size, submitted)?;
        self.wait(conversion, index)?;
        let mapped = receiver.await.unwrap_or(Err(wgpu::BufferAsyncError));
        self.check(conversion)?;
        mapped.map_err(|error| Error::Device { from, to, message: error.to_string() })?;
        {
            let view = staging.slice(..).get_mapped_range();
            let view = view.map_err(|error| Error::Device { from, to, message: error.to_string() })?;
            if view[words..] != sentinel.to_le_bytes() {
                return Err(Error::Incomplete { from, to });
            }
            destination.copy_from_slice(&view[..destination.len()]);
        }
        staging.unmap();
        Ok(prepared.dispatches())
    }

    /// A lost device shows first as some call that fails; its callback runs when somebody polls, and knows the reason.
    fn diagnose(&self, error: Error) -> Error {
        let _ = scoped(&self.device, || self.device.poll(wgpu::PollType::Poll));
        match (error, self.lost()) {
            (
                Error::DeviceLost { from, to, .. } | Error::Device { from, to, .. } | Error::Incomplete { from, to },
                Some(reason),
            ) => Error::DeviceLost { from, to, reason },
            (Error::DeviceLost { from, to, reason }, None) => {
                note(&self.lost, reason.clone());
                Error::DeviceLost { from, to, reason }
            }
            (error, _) => error,
        }
    }

    fn check(&self, conversion: &Conversion) -> Result<(), Error> {
        let (from, to) = (conversion.from, conversion.to);
        self.lost().map_or(Ok(()), |reason| Err(Error::DeviceLost { from, to, reason }))
    }

    fn buffer(
        &self,
        conversion: &Conversion,
        label: &str,
        size: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer, Error> {
        let descriptor = wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
        device_result(conversion, size, scoped(&self.device, || self.device.create_buffer(&descriptor)))
    }

    /// Natively nothing happens unless somebody polls; in a browser this returns at once.
    fn wait(&self, conversion: &Conversion, index: wgpu::SubmissionIndex) -> Result<(), Error> {
        let poll = wgpu::PollType::Wait { submission_index: Some(index), timeout: Some(TIMEOUT) };
        let polled = device_result(conversion, 0, scoped(&self.device, || self.device.poll(poll)))?;
        let (from, to) = (conversion.from, conversion.to);
        polled.map(drop).map_err(|error| match error {
            wgpu::PollError::Timeout => Error::Timeout { from, to, seconds: TIMEOUT.as_secs() },
            error => Error::Device { from, to, message: error.to_string() },
        })
    }
}

fn note(lost: &Mutex<Option<String>>, reason: String) {
    lost.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::ElementType;
    use crate::options::CastOptions;

    /// wgpu's backend that accepts everything, does nothing and reads zeros: what a broken driver looks like.
    #[test]
    fn a_device_that_does_nothing_is_found_out() {
        let (device, queue) = wgpu::Device::noop(&wgpu::DeviceDescriptor::default());
        let link = Link::new(device, queue);
        let (from, to) = (ElementType::FLOAT, ElementType::FLOAT16);
        let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
        // The right result of zeros is zeros: only the sentinel tells.
        for elements in [1usize, 1000, 5000] {
            let mut destination = vec![0; elements * 2];
            let result =
                pollster::block_on(link.cast(&conversion, &vec![0; elements * 4], elements as u64, &mut destination));
            assert_eq!(result, Err(Error::Incomplete { from, to }));
        }
    }
}
