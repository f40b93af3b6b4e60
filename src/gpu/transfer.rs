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

/// A submission that takes longer is given up: the slowest software adapter needs a few seconds.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A device and what goes to it and comes from it.
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
        let mut limits = *Caster::new(&device).limits();
        limits.dispatch_elements = plan::HOST_ELEMENTS;
        let caster = Caster::with_limits(&device, limits);
        Self { device, queue, caster, sentinels: AtomicU32::new(0), lost }
    }

    /// On a device of somebody else's, on which nothing is set: only its answers tell that it is gone.
    pub(crate) fn borrowed(device: &wgpu::Device, queue: &wgpu::Queue, caster: &Caster) -> Self {
        let (device, queue, caster) = (device.clone(), queue.clone(), caster.clone());
        Self { device, queue, caster, sentinels: AtomicU32::new(0), lost: Arc::default() }
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
        let mut batch = Batch::new(self, conversion, 0)?;
        let input = batch.upload(conversion, source)?;
        let source = batch.cast(conversion, elements, &input)?;
        batch.read_back(&mut [Wanted { conversion: *conversion, source, bytes: destination }]).await?;
        Ok(batch.dispatches)
    }

    /// A lost device shows first as some call that fails; its callback runs when somebody polls, and knows the reason.
    pub(crate) fn diagnose(&self, error: Error) -> Error {
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

    /// Not 0, which is what memory holds that nobody wrote.
    fn next_sentinel(&self) -> u32 {
        self.sentinels.fetch_add(1, Ordering::Relaxed).wrapping_mul(2).wrapping_add(1)
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

    /// A buffer with these bytes, and zeros up to a whole word.
    pub(crate) fn filled(
        &self,
        conversion: &Conversion,
        label: &str,
        bytes: &[u8],
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer, Error> {
        let words = bytes.len().next_multiple_of(4) as u64;
        let buffer = self.buffer(conversion, label, words, usage)?;
        let written = scoped(&self.device, || {
            let (whole, rest) = bytes.split_at(bytes.len() / 4 * 4);
            if !whole.is_empty() {
                self.queue.write_buffer(&buffer, 0, whole);
            }
            if !rest.is_empty() {
                let mut word = [0; 4];
                word[..rest.len()].copy_from_slice(rest);
                self.queue.write_buffer(&buffer, whole.len() as u64, &word);
            }
        });
        device_result(conversion, words, written)?;
        Ok(buffer)
    }

    /// What a buffer of whole words holds after some commands.
    pub(crate) async fn contents(
        &self,
        conversion: &Conversion,
        mut encoder: wgpu::CommandEncoder,
        buffer: &wgpu::Buffer,
    ) -> Result<Vec<u8>, Error> {
        let staging = self.staging(conversion, buffer.size())?;
        let submitted = scoped(&self.device, || {
            encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
            self.queue.submit([encoder.finish()])
        });
        let index = device_result(conversion, 0, submitted)?;
        let view = self.mapped(conversion, &staging, index).await?;
        Ok(view.to_vec())
    }

    fn staging(&self, conversion: &Conversion, size: u64) -> Result<wgpu::Buffer, Error> {
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        self.buffer(conversion, "cast read-back", size, usage)
    }

    /// The bytes of a staging buffer once a submission is done.
    async fn mapped(
        &self,
        conversion: &Conversion,
        staging: &wgpu::Buffer,
        index: wgpu::SubmissionIndex,
    ) -> Result<wgpu::BufferView, Error> {
        let (from, to) = (conversion.from, conversion.to);
        let (sender, receiver) = futures_channel::oneshot::channel();
        // The receiver is gone only if this future was dropped.
        let map = || staging.slice(..).map_async(wgpu::MapMode::Read, move |result| drop(sender.send(result)));
        device_result(conversion, staging.size(), scoped(&self.device, map))?;
        self.wait(conversion, index)?;
        let mapped = receiver.await.unwrap_or(Err(wgpu::BufferAsyncError));
        self.check(conversion)?;
        mapped.map_err(|error| Error::Device { from, to, message: error.to_string() })?;
        let view = staging.slice(..).get_mapped_range();
        view.map_err(|error| Error::Device { from, to, message: error.to_string() })
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

/// A tensor's packed bytes on the device, in whole words. A clone is the same memory.
#[derive(Clone, Debug)]
pub(crate) struct Resident {
    buffer: wgpu::Buffer,
    /// Bytes of the words; what a cast has made is followed by its sentinel.
    words: u64,
    sentinel: Option<u32>,
}

/// A tensor to be read back, and where to.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    /// The cast that made it, for errors.
    pub conversion: Conversion,
    pub source: Resident,
    pub bytes: &'a mut [u8],
}

/// Casts that follow each other on the device: recorded as they come, submitted when somebody wants a result or enough
/// is recorded.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    link: &'a Link,
    encoder: Option<wgpu::CommandEncoder>,
    /// Elements recorded since the last submission.
    recorded: u64,
    /// The last submission, if nobody has waited for it.
    in_flight: Option<wgpu::SubmissionIndex>,
    /// Where casts leave their sentinels, so that their results need not be kept to prove them: there is room for as
    /// many as `new` was told.
    proofs: Option<wgpu::Buffer>,
    /// The sentinels that should be there by now.
    sentinels: Vec<u32>,
    pub dispatches: u32,
}

impl<'a> Batch<'a> {
    /// Room for the proofs of `casts` casts whose results are not themselves read back.
    pub(crate) fn new(link: &'a Link, conversion: &Conversion, casts: usize) -> Result<Self, Error> {
        let usage = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        let size = 4 * casts as u64;
        let proofs = if casts == 0 { None } else { Some(link.buffer(conversion, "cast proofs", size, usage)?) };
        Ok(Self { link, encoder: None, recorded: 0, in_flight: None, proofs, sentinels: Vec::new(), dispatches: 0 })
    }

    /// Whether a tensor of so many bytes fits a buffer, with its sentinel, and the read-back of it the proofs too.
    #[cfg(feature = "onnx")]
    pub(crate) fn fits(link: &Link, bytes: u64, casts: usize) -> bool {
        bytes.saturating_add(8 + 4 * casts as u64) <= link.caster.limits().buffer_size
    }

    /// Puts packed bytes on the device.
    pub(crate) fn upload(&self, conversion: &Conversion, bytes: &[u8]) -> Result<Resident, Error> {
        let link = self.link;
        link.check(conversion)?;
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let buffer = link.filled(conversion, "cast source", bytes, usage)?;
        let words = buffer.size();
        Ok(Resident { buffer, words, sentinel: None })
    }

    /// Records the cast of a resident tensor.
    pub(crate) fn cast(
        &mut self,
        conversion: &Conversion,
        elements: u64,
        source: &Resident,
    ) -> Result<Resident, Error> {
        let link = self.link;
        link.check(conversion)?;
        let sentinel = link.next_sentinel();
        let prepared = link.caster.prepare_with_sentinel(*conversion, elements, Some(sentinel))?;
        let words = prepared.destination_bytes().next_multiple_of(4);
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let buffer = link.buffer(conversion, "cast destination", words + 4, usage)?;
        let bound = prepared.bind(source.buffer.slice(..source.words), buffer.slice(..))?;
        for (part, elements) in bound.parts(elements) {
            // A device that works for long without an answer is taken for a dead one by some systems.
            if self.recorded > 0 && self.recorded + elements > plan::HOST_ELEMENTS {
                self.submit(conversion)?;
            }
            part.record(self.encoder());
            self.recorded += elements;
        }
        if let Some(proofs) = self.proofs.clone() {
            let place = 4 * self.sentinels.len() as u64;
            self.encoder().copy_buffer_to_buffer(&buffer, words, &proofs, place, 4);
            self.sentinels.push(sentinel);
        }
        self.dispatches += prepared.dispatches();
        Ok(Resident { buffer, words, sentinel: Some(sentinel) })
    }

    /// Waits for everything recorded, proves that all was done, and copies the tensors' bytes: in one submission, so
    /// together they and the proofs must fit a buffer.
    pub(crate) async fn read_back(&mut self, wanted: &mut [Wanted<'_>]) -> Result<(), Error> {
        let Some(first) = wanted.first() else { return Ok(()) };
        let (link, conversion) = (self.link, first.conversion);
        let (from, to) = (conversion.from, conversion.to);
        let mut size = 4 * self.sentinels.len() as u64;
        for wanted in wanted.iter() {
            size += wanted.source.words + 4;
        }
        let staging = link.staging(&conversion, size)?;
        let mut place = 0;
        for Wanted { conversion, source, .. } in wanted.iter() {
            // Only what a cast has made can be proven.
            let own = source.words + 4;
            source.sentinel.ok_or(Error::Incomplete { from: conversion.from, to: conversion.to })?;
            self.encoder().copy_buffer_to_buffer(&source.buffer, 0, &staging, place, own);
            place += own;
        }
        if let Some(proofs) = self.proofs.clone().filter(|_| place < size) {
            self.encoder().copy_buffer_to_buffer(&proofs, 0, &staging, place, size - place);
        }
        self.submit(&conversion)?;
        let Some(index) = self.in_flight.take() else { return Ok(()) };
        {
            let view = link.mapped(&conversion, &staging, index).await?;
            let proven = |bytes: &[u8], sentinels: &[u32]| {
                bytes.iter().copied().eq(sentinels.iter().flat_map(|sentinel| sentinel.to_le_bytes()))
            };
            let mut rest = &view[..];
            for Wanted { conversion, source, bytes } in wanted.iter_mut() {
                let (words, after) = rest.split_at(source.words as usize);
                let (sentinel, after) = after.split_at(4);
                if !proven(sentinel, &[source.sentinel.unwrap_or_default()]) {
                    return Err(Error::Incomplete { from: conversion.from, to: conversion.to });
                }
                bytes.copy_from_slice(&words[..bytes.len()]);
                rest = after;
            }
            if !proven(rest, &self.sentinels) {
                return Err(Error::Incomplete { from, to });
            }
        }
        self.sentinels.clear();
        staging.unmap();
        Ok(())
    }

    fn encoder(&mut self) -> &mut wgpu::CommandEncoder {
        let device = &self.link.device;
        let descriptor = wgpu::CommandEncoderDescriptor { label: Some("cast") };
        self.encoder.get_or_insert_with(|| device.create_command_encoder(&descriptor))
    }

    /// Submits what is recorded. The submission before must be done by then: two at a time keep a device busy, and more
    /// would keep the memory of all that they read and write.
    fn submit(&mut self, conversion: &Conversion) -> Result<(), Error> {
        self.wait(conversion)?;
        let commands = self.encoder.take();
        self.recorded = 0;
        let submit = || self.link.queue.submit(commands.map(wgpu::CommandEncoder::finish));
        self.in_flight = Some(device_result(conversion, 0, scoped(&self.link.device, submit))?);
        Ok(())
    }

    /// Waits for the last submission.
    fn wait(&mut self, conversion: &Conversion) -> Result<(), Error> {
        self.in_flight.take().map_or(Ok(()), |index| self.link.wait(conversion, index))
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
