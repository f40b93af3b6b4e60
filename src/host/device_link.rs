//! A device and its queue. Fills, maps and waits for buffers, and notices when the device is lost.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_channel::oneshot;

use crate::caster::{Caster, CasterDescriptor};
use crate::gpu::device;
use crate::gpu::error_scope::{one_line, scoped_for, watched};
use crate::plan::{self, PlanTuning};
use crate::types::conversion::Conversion;
use crate::types::error::{CastFault, Error};

/// How long to wait for a submission on any device. The slowest software adapter needs a few seconds.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A device, its queue, and the caster of casts between host and device.
#[derive(Debug)]
pub(crate) struct DeviceLink {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub caster: Caster,
    sentinels: AtomicU32,
    lost: Arc<Mutex<Option<String>>>,
    /// How long to wait for a submission.
    timeout: Duration,
    /// Whether the host maps the buffers that kernels use. On a device that shares the host's memory, this saves
    /// copies.
    pub(super) maps_primary_buffers: bool,
}

impl DeviceLink {
    pub(crate) fn new(device: wgpu::Device, queue: wgpu::Queue) -> Self {
        let lost = Arc::new(Mutex::new(None));
        let seen = lost.clone();
        device.set_device_lost_callback(move |reason, text| note(&seen, format!("{reason:?}: {text}")));
        // Every call that can fail runs in an error scope. wgpu would panic on an error that a driver reports outside
        // of scopes. Such errors are logged instead.
        device.on_uncaptured_error(Arc::new(|error: wgpu::Error| log::error!("{}", one_line(&error))));
        let tuning = PlanTuning { dispatch_elements: plan::HOST_ELEMENTS, ..device::plan_settings(&device).tuning };
        let caster = Caster::with_descriptor(&device, &CasterDescriptor { tuning: Some(tuning), ..Default::default() });
        let maps_primary_buffers = device::maps_primary_buffers(&device);
        Self { device, queue, caster, sentinels: AtomicU32::new(0), lost, timeout: TIMEOUT, maps_primary_buffers }
    }

    /// A link to the application's device. No handler is set on it, so its loss shows only in the errors of later
    /// calls.
    pub(crate) fn borrowed(device: &wgpu::Device, queue: &wgpu::Queue, caster: &Caster) -> Self {
        let (device, queue, caster) = (device.clone(), queue.clone(), caster.clone());
        let maps_primary_buffers = device::maps_primary_buffers(&device);
        let (sentinels, lost) = (AtomicU32::new(0), Arc::default());
        Self { device, queue, caster, sentinels, lost, timeout: TIMEOUT, maps_primary_buffers }
    }

    /// The reason for the loss of the device, if it is lost.
    pub(crate) fn lost(&self) -> Option<String> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Finds out whether an error is due to the loss of the device. The loss shows first in a call that fails. The
    /// callback with the reason runs only when the device is polled. In a browser it runs only while this function
    /// waits for an answer of the device.
    pub(crate) async fn diagnose(&self, error: Error) -> Error {
        self.run_callbacks();
        let _ = watched(&self.device, || {}).1.error().await;
        let Error::Cast { from, to, entry, cause } = error else { return error };
        let cause = match (cause, self.lost()) {
            (CastFault::DeviceLost { .. } | CastFault::Device { .. } | CastFault::Incomplete, Some(reason)) => {
                CastFault::DeviceLost { reason }
            }
            (CastFault::DeviceLost { reason }, None) => {
                note(&self.lost, reason.clone());
                CastFault::DeviceLost { reason }
            }
            (cause, _) => cause,
        };
        Error::Cast { from, to, entry, cause }
    }

    /// A value that proves a cast. It is odd, so it differs from the zeros of memory that was never written. It is
    /// spread over 32 bits, so it is unlikely to be one of the small numbers that tensors often hold.
    pub(super) fn next_sentinel(&self) -> u32 {
        const SPREAD: u32 = 0x9e37_79b1;
        (self.sentinels.fetch_add(1, Ordering::Relaxed).wrapping_mul(2) + 1).wrapping_mul(SPREAD)
    }

    pub(super) fn check(&self, conversion: &Conversion) -> Result<(), Error> {
        self.lost().map_or(Ok(()), |reason| Err(conversion.error(CastFault::DeviceLost { reason })))
    }

    pub(super) fn buffer(
        &self,
        conversion: &Conversion,
        label: &str,
        size: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer, Error> {
        // A buffer that the host maps for writing is written before its first use, so it is mapped from the start.
        let mapped_at_creation = usage.contains(wgpu::BufferUsages::MAP_WRITE);
        let descriptor = wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation };
        scoped_for(conversion, size, &self.device, || self.device.create_buffer(&descriptor))
    }

    /// A buffer with these bytes, followed by zeros up to a whole word.
    pub(crate) fn filled(
        &self,
        conversion: &Conversion,
        label: &str,
        bytes: &[u8],
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer, Error> {
        let words = bytes.len().next_multiple_of(4) as u64;
        let buffer = self.buffer(conversion, label, words, usage)?;
        self.write(conversion, &buffer, bytes)?;
        Ok(buffer)
    }

    /// Writes bytes to the start of a buffer, followed by zeros up to a whole word.
    pub(super) fn write(&self, conversion: &Conversion, buffer: &wgpu::Buffer, bytes: &[u8]) -> Result<(), Error> {
        scoped_for(conversion, bytes.len() as u64, &self.device, || {
            let (whole, rest) = bytes.split_at(bytes.len() / 4 * 4);
            if !whole.is_empty() {
                self.queue.write_buffer(buffer, 0, whole);
            }
            if !rest.is_empty() {
                let mut word = [0; 4];
                word[..rest.len()].copy_from_slice(rest);
                self.queue.write_buffer(buffer, whole.len() as u64, &word);
            }
        })
    }

    /// Turns a failed mapping or wait into this crate's error.
    pub(super) fn device_error(&self, conversion: &Conversion, error: &impl ToString) -> Error {
        conversion.error(CastFault::Device { message: error.to_string() })
    }

    pub(crate) fn encoder(&self, conversion: &Conversion) -> Result<wgpu::CommandEncoder, Error> {
        let descriptor = wgpu::CommandEncoderDescriptor { label: Some("cast") };
        scoped_for(conversion, 0, &self.device, || self.device.create_command_encoder(&descriptor))
    }

    /// Runs the application's callbacks that are due. Otherwise they would run in the error scope of the next
    /// submission, and the scope would take their errors for the submission's.
    pub(super) fn run_callbacks(&self) {
        let _ = self.device.poll(wgpu::PollType::Poll);
    }

    /// Submits commands and returns the content of a buffer of whole words after them.
    pub(crate) async fn contents(
        &self,
        conversion: &Conversion,
        mut encoder: wgpu::CommandEncoder,
        buffer: &wgpu::Buffer,
    ) -> Result<Vec<u8>, Error> {
        let submit = || {
            let staging = self.staging(conversion, buffer.size())?;
            self.run_callbacks();
            let index = scoped_for(conversion, 0, &self.device, || {
                encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
                self.queue.submit([encoder.finish()])
            })?;
            Ok((staging, index))
        };
        let (submitted, verdict) = watched(&self.device, submit);
        let (staging, index) = verdict.with(conversion, buffer.size(), submitted).await?;
        let contents = self.mapped(conversion, &staging, index).await.map(|view| view.to_vec());
        staging.destroy();
        contents
    }

    pub(super) fn staging(&self, conversion: &Conversion, size: u64) -> Result<wgpu::Buffer, Error> {
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        self.buffer(conversion, "cast read-back", size, usage)
    }

    /// The bytes of a staging buffer after a submission is done.
    pub(super) async fn mapped(
        &self,
        conversion: &Conversion,
        staging: &wgpu::Buffer,
        index: wgpu::SubmissionIndex,
    ) -> Result<wgpu::BufferView, Error> {
        let map = || map(staging, wgpu::MapMode::Read, staging.size());
        let mapping = scoped_for(conversion, staging.size(), &self.device, map)?;
        self.wait(conversion, index)?;
        self.arrive(conversion, mapping).await?;
        staging.slice(..).get_mapped_range().map_err(|error| self.device_error(conversion, &error))
    }

    /// Waits until a buffer is mapped.
    pub(super) async fn arrive(&self, conversion: &Conversion, mapping: Mapping) -> Result<(), Error> {
        let mapped = mapping.await.unwrap_or(Err(wgpu::BufferAsyncError));
        self.check(conversion)?;
        mapped.map_err(|error| self.device_error(conversion, &error))
    }

    /// Waits for a submission. In a browser this returns at once, because only the page's event loop can wait.
    pub(super) fn wait(&self, conversion: &Conversion, index: wgpu::SubmissionIndex) -> Result<(), Error> {
        let poll = wgpu::PollType::Wait { submission_index: Some(index), timeout: Some(self.timeout) };
        // This is not in an error scope: polling runs the application's callbacks, and their errors are not this
        // cast's.
        let polled = self.device.poll(poll);
        polled.map(drop).map_err(|error| match error {
            wgpu::PollError::Timeout => conversion.error(CastFault::Timeout { seconds: self.timeout.as_secs() }),
            error => self.device_error(conversion, &error),
        })
    }
}

/// A requested mapping.
pub(super) type Mapping = oneshot::Receiver<Result<(), wgpu::BufferAsyncError>>;

/// Requests the mapping of the first bytes of a buffer.
pub(super) fn map(buffer: &wgpu::Buffer, mode: wgpu::MapMode, bytes: u64) -> Mapping {
    let (sender, receiver) = oneshot::channel();
    // Sending fails only if the future of the cast was dropped. Then the result is not needed.
    buffer.slice(..bytes).map_async(mode, move |result| drop(sender.send(result)));
    receiver
}

fn note(lost: &Mutex<Option<String>>, reason: String) {
    lost.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
}
