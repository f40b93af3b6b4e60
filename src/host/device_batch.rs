//! Casts of tensors that stay on a device from one cast to the next, and the proof that the device did the work.

use std::sync::{Arc, Mutex, PoisonError};

use crate::caster::{Destination, Prepared, Source};
use crate::gpu::error_scope::{Verdict, scoped_for, watched};
use crate::host::device_link::DeviceLink;
use crate::plan;
use crate::types::conversion::Conversion;
use crate::types::error::{CastFault, Error};

/// The most dispatches in one submission. wgpu frees what a submission uses only after it, and the time of each compute
/// pass is proportional to the buffers that are alive: 100,000 casts in one submission took minutes.
const MOST_DISPATCHES: u32 = 256;

/// A tensor's packed bytes on the device, in whole words. A clone is the same memory.
#[derive(Clone, Debug)]
pub(crate) struct Resident {
    held: Arc<Held>,
    /// Bytes of the whole words. If a cast made the tensor, the sentinel follows them.
    words: u64,
    sentinel: Option<u32>,
}

/// A tensor to be read back, and the memory to read it into.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    /// The cast that made it, for errors.
    pub conversion: Conversion,
    pub source: Resident,
    pub bytes: &'a mut [u8],
}

/// Casts that follow each other on the device. They are recorded one by one. They are submitted when a result is read
/// back, or when enough of them are recorded.
#[derive(Debug)]
pub(crate) struct DeviceBatch<'a> {
    link: &'a DeviceLink,
    encoder: Option<wgpu::CommandEncoder>,
    /// Elements and dispatches recorded since the last submission.
    recorded: (u64, u32),
    /// The last submission, if it was not waited for yet.
    in_flight: Option<wgpu::SubmissionIndex>,
    /// A copy of the sentinel of each cast. So a result need not be kept to prove its cast.
    proofs: wgpu::Buffer,
    /// The number of casts whose sentinels fit `proofs`.
    casts: usize,
    /// The sentinels that `proofs` must hold.
    sentinels: Vec<u32>,
    pub dispatches: u32,
    /// The device's answers to the calls since it was last asked, with the cast and the bytes of each call.
    verdicts: Vec<(Conversion, u64, Verdict)>,
    unused: Arc<Unused>,
}

/// Buffers that are recorded no more. A browser frees their memory only in its garbage collection, unless they are
/// destroyed. Elsewhere buffers are freed as soon as nothing uses them, and none are kept here.
#[derive(Debug, Default)]
struct Unused(Mutex<Vec<wgpu::Buffer>>);

impl Unused {
    /// Frees the buffers. The device must be done with all submissions that use them.
    fn free(&self) {
        let mut buffers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        buffers.drain(..).for_each(|buffer| buffer.destroy());
    }
}

impl Drop for Unused {
    fn drop(&mut self) {
        self.free();
    }
}

/// The buffer of a resident tensor and its clones.
#[derive(Debug)]
struct Held {
    buffer: wgpu::Buffer,
    #[cfg_attr(not(target_family = "wasm"), expect(dead_code, reason = "used in browsers"))]
    unused: Arc<Unused>,
}

#[cfg(target_family = "wasm")]
impl Drop for Held {
    fn drop(&mut self) {
        // Commands that use the buffer may be recorded but not submitted, so it is not destroyed here.
        self.unused.0.lock().unwrap_or_else(PoisonError::into_inner).push(self.buffer.clone());
    }
}

impl<'a> DeviceBatch<'a> {
    /// An empty batch with room for the proofs of `casts` casts; `casts` is at least 1. When there is no room for a
    /// further proof, the batch waits for the device.
    pub(crate) fn new(link: &'a DeviceLink, conversion: &Conversion, casts: usize) -> Result<Self, Error> {
        let usage = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        let size = 4 * casts as u64;
        let (proofs, verdict) = watched(&link.device, || link.buffer(conversion, "cast proofs", size, usage));
        Ok(Self {
            casts,
            link,
            encoder: None,
            recorded: (0, 0),
            in_flight: None,
            proofs: proofs?,
            sentinels: Vec::new(),
            dispatches: 0,
            verdicts: vec![(*conversion, size, verdict)],
            unused: Arc::default(),
        })
    }

    /// The bytes that one buffer has for tensors that are read back together, beside the proofs of `casts` casts.
    pub(crate) fn room(link: &DeviceLink, casts: usize) -> u64 {
        link.caster.limits().buffer_size.saturating_sub(4 * casts as u64)
    }

    /// The most bytes that a tensor takes in that buffer: whole words, and its sentinel.
    pub(crate) fn taken(bytes: u64) -> u64 {
        bytes.saturating_add(8)
    }

    /// Whether a tensor of `bytes` can be read back.
    pub(crate) fn fits(link: &DeviceLink, bytes: u64, casts: usize) -> bool {
        Self::taken(bytes) <= Self::room(link, casts)
    }

    /// Puts packed bytes on the device.
    pub(crate) fn upload(&mut self, conversion: &Conversion, bytes: &[u8]) -> Result<Resident, Error> {
        let link = self.link;
        link.check(conversion)?;
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let fill = || link.filled(conversion, "cast source", bytes, usage);
        let buffer = self.watch(conversion, bytes.len() as u64, |_| fill())?;
        let words = buffer.size();
        Ok(Resident { held: self.held(buffer), words, sentinel: None })
    }

    fn held(&self, buffer: wgpu::Buffer) -> Arc<Held> {
        Arc::new(Held { buffer, unused: self.unused.clone() })
    }

    /// Runs calls of a cast that ask for `bytes`, and keeps the device's later answer.
    fn watch<T>(
        &mut self,
        conversion: &Conversion,
        bytes: u64,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let link = self.link;
        let (result, verdict) = watched(&link.device, || work(self));
        if cfg!(target_family = "wasm") {
            self.verdicts.push((*conversion, bytes, verdict));
        }
        result
    }

    /// The first error in the device's answers since it was last asked.
    async fn settle(&mut self) -> Result<(), Error> {
        let mut result = Ok(());
        for (conversion, bytes, verdict) in self.verdicts.drain(..) {
            result = result.and(verdict.with(&conversion, bytes, Ok(())).await);
        }
        result
    }

    /// Records the cast of a resident tensor.
    pub(crate) async fn cast(
        &mut self,
        conversion: &Conversion,
        elements: u64,
        source: &Resident,
    ) -> Result<Resident, Error> {
        let link = self.link;
        link.check(conversion)?;
        if self.sentinels.len() >= self.casts {
            self.read_back(conversion, &mut []).await?;
        }
        let sentinel = link.next_sentinel();
        let prepared = link.caster.prepare_host(*conversion, elements, sentinel).await?;
        let bytes = prepared.destination_bytes();
        self.watch(conversion, bytes, |batch| batch.record(conversion, &prepared, sentinel, source))
    }

    fn record(
        &mut self,
        conversion: &Conversion,
        prepared: &Prepared,
        sentinel: u32,
        source: &Resident,
    ) -> Result<Resident, Error> {
        let link = self.link;
        let words = prepared.destination_bytes().next_multiple_of(4);
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let buffer = link.buffer(conversion, "cast destination", words + 4, usage)?;
        let input = Source::whole(source.held.buffer.slice(..source.words));
        let bound = prepared.bind(input, Destination::whole(buffer.slice(..)))?;
        for (part, elements) in bound.parts(prepared.len()) {
            // Some systems reset a device that works for long on one submission, so submissions are limited.
            let (recorded, dispatches) = self.recorded;
            let is_long = recorded > 0 && recorded + elements > plan::HOST_ELEMENTS;
            if is_long || dispatches >= MOST_DISPATCHES {
                self.submit(conversion)?;
            }
            part.record(self.encoder(conversion)?);
            self.recorded.0 += elements;
            self.recorded.1 += 1;
        }
        let (proofs, offset) = (self.proofs.clone(), 4 * self.sentinels.len() as u64);
        self.encoder(conversion)?.copy_buffer_to_buffer(&buffer, words, &proofs, offset, 4);
        self.sentinels.push(sentinel);
        self.dispatches += prepared.dispatches();
        Ok(Resident { held: self.held(buffer), words, sentinel: Some(sentinel) })
    }

    /// Waits for everything that is recorded, proves that it was done, and copies the bytes of the tensors. This takes
    /// one submission, so the tensors and the proofs must together fit a buffer. There must be a tensor or a proof. An
    /// error that is not about one tensor names the types of `conversion`.
    pub(crate) async fn read_back(&mut self, conversion: &Conversion, wanted: &mut [Wanted<'_>]) -> Result<(), Error> {
        let link = self.link;
        let mut size = 4 * self.sentinels.len() as u64;
        for wanted in wanted.iter() {
            size += wanted.source.words + 4;
        }
        let staging = self.watch(conversion, size, |batch| batch.copy_out(conversion, wanted, size))?;
        self.settle().await?;
        let index = self.in_flight.take().ok_or_else(|| conversion.error(CastFault::Incomplete))?;
        {
            let view = link.mapped(conversion, &staging, index).await?;
            let proven = |bytes: &[u8], sentinels: &[u32]| {
                bytes.iter().copied().eq(sentinels.iter().flat_map(|sentinel| sentinel.to_le_bytes()))
            };
            let mut rest = &view[..];
            for Wanted { conversion, source, bytes } in wanted.iter_mut() {
                let (words, after) = rest.split_at(source.words as usize);
                let (sentinel, after) = after.split_at(4);
                if !proven(sentinel, &[source.sentinel.unwrap_or_default()]) {
                    return Err(conversion.error(CastFault::Incomplete));
                }
                bytes.copy_from_slice(&words[..bytes.len()]);
                rest = after;
            }
            if !proven(rest, &self.sentinels) {
                return Err(conversion.error(CastFault::Incomplete));
            }
        }
        self.sentinels.clear();
        if cfg!(target_family = "wasm") {
            staging.destroy();
        } else {
            staging.unmap();
        }
        Ok(())
    }

    /// Submits everything that is recorded. Also copies the tensors and the proofs, of `size` bytes together, to memory
    /// that the host can map.
    fn copy_out(&mut self, conversion: &Conversion, wanted: &[Wanted<'_>], size: u64) -> Result<wgpu::Buffer, Error> {
        let staging = self.link.staging(conversion, size)?;
        let mut offset = 0;
        for Wanted { conversion, source, .. } in wanted {
            // Only a tensor that a cast has made has a proof.
            let own = source.words + 4;
            source.sentinel.ok_or_else(|| conversion.error(CastFault::Incomplete))?;
            self.encoder(conversion)?.copy_buffer_to_buffer(&source.held.buffer, 0, &staging, offset, own);
            offset += own;
        }
        if offset < size {
            let proofs = self.proofs.clone();
            self.encoder(conversion)?.copy_buffer_to_buffer(&proofs, 0, &staging, offset, size - offset);
        }
        self.submit(conversion)?;
        Ok(staging)
    }

    fn encoder(&mut self, conversion: &Conversion) -> Result<&mut wgpu::CommandEncoder, Error> {
        let encoder = match self.encoder.take() {
            Some(encoder) => encoder,
            None => self.link.encoder(conversion)?,
        };
        Ok(self.encoder.insert(encoder))
    }

    /// Submits what is recorded, after waiting for the submission before. Two submissions at a time keep a device busy.
    /// More would only keep the memory alive that they read and write.
    fn submit(&mut self, conversion: &Conversion) -> Result<(), Error> {
        self.wait(conversion)?;
        let commands = self.encoder.take();
        self.recorded = (0, 0);
        self.link.run_callbacks();
        let submit = || self.link.queue.submit(commands.map(wgpu::CommandEncoder::finish));
        self.in_flight = Some(scoped_for(conversion, 0, &self.link.device, submit)?);
        self.unused.free();
        Ok(())
    }

    /// Waits for the last submission.
    fn wait(&mut self, conversion: &Conversion) -> Result<(), Error> {
        self.in_flight.take().map_or(Ok(()), |index| self.link.wait(conversion, index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::element::ElementType;
    use crate::types::options::CastOptions;

    #[test]
    fn long_work_is_submitted_in_parts() {
        let (device, queue) = wgpu::Device::noop(&wgpu::DeviceDescriptor::default());
        let link = DeviceLink::new(device, queue);
        let conversion = Conversion::new(ElementType::INT2, ElementType::INT4, &CastOptions::default()).unwrap();
        let mut batch = DeviceBatch::new(&link, &conversion, 602).unwrap();
        let short = batch.upload(&conversion, &[0; 4]).unwrap();
        for n in 0..600 {
            pollster::block_on(batch.cast(&conversion, 16, &short)).unwrap();
            assert_eq!(batch.recorded, (u64::from(16 * (n % MOST_DISPATCHES + 1)), n % MOST_DISPATCHES + 1));
        }
        let long = batch.upload(&conversion, &vec![0; 12 << 20]).unwrap();
        for _ in 0..2 {
            pollster::block_on(batch.cast(&conversion, 3 << 24, &long)).unwrap();
        }
        assert_eq!(batch.recorded.0, 3 << 24);
    }
}
