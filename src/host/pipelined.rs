//! Moves host tensors to a device and back in pieces. While the device casts one piece, the host writes the next piece
//! and reads the one before.

use std::collections::VecDeque;

use crate::caster::{Bound, Destination, Prepared, Source};
use crate::gpu::error_scope::{Verdict, scoped_for, watched};
use crate::host::device_link::{DeviceLink, Mapping, map};
use crate::plan;
use crate::types::conversion::Conversion;
use crate::types::error::{CastFault, Error};

/// The most bytes of a piece on either side. They are enough to be worth a submission. They are few enough to stay in a
/// processor's caches, which matters if the device shares them.
const PIECE_BYTES: u64 = if cfg!(target_family = "wasm") { 16 << 20 } else { 4 << 20 };

/// The number of pieces on their way at a time. Each has its own buffers.
const PIECES_IN_FLIGHT: usize = 3;

/// Casts `elements` packed elements into `destination`. Returns the number of dispatches.
pub(crate) async fn cast(
    link: &DeviceLink,
    conversion: &Conversion,
    source: &[u8],
    elements: u64,
    destination: &mut [u8],
) -> Result<u32, Error> {
    if elements == 0 {
        return Ok(0);
    }
    let transfer = PipelinedTransfer::new(link, conversion, elements).await;
    let result = match transfer {
        Ok(transfer) => transfer.run(source, elements, destination).await,
        Err(error) => Err(error),
    };
    match result {
        Err(error) => Err(link.diagnose(error).await),
        done => done,
    }
}

/// The cast of a host tensor in pieces. All pieces but the last have the same length, so one plan serves all of them.
struct PipelinedTransfer<'a> {
    link: &'a DeviceLink,
    conversion: &'a Conversion,
    /// The cast of a whole piece.
    piece: Prepared,
    /// The pieces that use the same buffers write these two in turn. Each piece is proven before its buffers are used
    /// again. So the buffers never hold the sentinel that is expected next.
    sentinels: [u32; 2],
}

impl<'a> PipelinedTransfer<'a> {
    async fn new(link: &'a DeviceLink, conversion: &'a Conversion, elements: u64) -> Result<Self, Error> {
        link.check(conversion)?;
        let sentinels = [link.next_sentinel(), link.next_sentinel()];
        let most = plan::host_chunk(conversion, link.caster.settings(), PIECE_BYTES)?;
        let piece = link.caster.prepare_host(*conversion, most.min(elements), sentinels[0]).await?;
        Ok(Self { link, conversion, piece, sentinels })
    }

    async fn run(&self, source: &[u8], elements: u64, destination: &mut [u8]) -> Result<u32, Error> {
        let rest = match elements % self.piece.len() {
            0 => None,
            rest => {
                let caster = &self.link.caster;
                Some(caster.prepare_host(*self.conversion, rest, self.sentinels[0]).await?)
            }
        };
        let [read, written] = [self.piece.source_bytes(), self.piece.destination_bytes()].map(|bytes| bytes as usize);
        let pieces = source.chunks(read).zip(destination.chunks_mut(written));
        let whole_pieces = elements / self.piece.len();
        let mut in_flight = VecDeque::with_capacity(PIECES_IN_FLIGHT);
        let mut dispatches = 0;
        for (i, (source, destination)) in pieces.enumerate() {
            let oldest = if in_flight.len() == PIECES_IN_FLIGHT { in_flight.pop_front() } else { None };
            let free = match oldest {
                Some(piece) => Some(self.complete(piece).await?),
                None => None,
            };
            let prepared = match &rest {
                Some(rest) if i as u64 == whole_pieces => rest,
                _ => &self.piece,
            };
            let (submitted, verdict) = watched(&self.link.device, || {
                let mut buffers = free.map_or_else(|| PieceBuffers::new(self), Ok)?;
                buffers.bind(self, prepared)?;
                self.submit(buffers, prepared, source, destination)
            });
            in_flight.push_back(match submitted {
                Ok(piece) => InFlight { verdict: Some(verdict), ..piece },
                Err(error) => return verdict.with(self.conversion, self.piece_bytes(), Err(error)).await,
            });
            dispatches += prepared.dispatches();
        }
        while let Some(piece) = in_flight.pop_front() {
            self.complete(piece).await?;
        }
        Ok(dispatches)
    }

    /// Writes a piece to its buffers and submits its cast.
    fn submit<'b>(
        &self,
        mut buffers: PieceBuffers,
        prepared: &Prepared,
        source: &[u8],
        destination: &'b mut [u8],
    ) -> Result<InFlight<'b>, Error> {
        let (link, conversion) = (self.link, self.conversion);
        link.check(conversion)?;
        let [input, output] = [prepared.source_bytes(), prepared.destination_bytes()].map(|n| n.next_multiple_of(4));
        match &buffers.staging {
            Some(_) => link.write(conversion, &buffers.source, source)?,
            None => {
                let view = buffers.source.slice(..input).get_mapped_range_mut();
                let mut view = view.map_err(|error| link.device_error(conversion, &error))?;
                view.slice(..source.len()).copy_from_slice(source);
                drop(view);
                buffers.source.unmap();
            }
        }
        link.run_callbacks();
        let (submission, read, write) = scoped_for(conversion, 0, &link.device, || {
            let descriptor = wgpu::CommandEncoderDescriptor { label: Some("cast") };
            let mut encoder = link.device.create_command_encoder(&descriptor);
            if let Some((_, bound)) = &buffers.bounds[buffers.turn] {
                bound.record(&mut encoder);
            }
            if let Some(staging) = &buffers.staging {
                encoder.copy_buffer_to_buffer(&buffers.destination, 0, staging, 0, output + 4);
            }
            let submission = link.queue.submit([encoder.finish()]);
            let read = map(buffers.result(), wgpu::MapMode::Read, output + 4);
            let write = || map(&buffers.source, wgpu::MapMode::Write, buffers.source.size());
            (submission, read, buffers.staging.is_none().then(write))
        })?;
        let sentinel = self.sentinels[buffers.turn];
        buffers.turn ^= 1;
        Ok(InFlight { buffers, submission, sentinel, words: output, destination, read, write, verdict: None })
    }

    /// The bytes that the cast of a piece reads and writes.
    fn piece_bytes(&self) -> u64 {
        self.piece.source_bytes() + self.piece.destination_bytes()
    }

    /// Waits for a piece, proves that it was done, and copies its result.
    async fn complete(&self, piece: InFlight<'_>) -> Result<PieceBuffers, Error> {
        let (link, conversion) = (self.link, self.conversion);
        let InFlight { buffers, submission, sentinel, words, destination, read, write, verdict } = piece;
        if let Some(verdict) = verdict {
            verdict.with(conversion, self.piece_bytes(), Ok(())).await?;
        }
        link.wait(conversion, submission)?;
        for mapping in [Some(read), write].into_iter().flatten() {
            link.arrive(conversion, mapping).await?;
        }
        {
            let view = buffers.result().slice(..words + 4).get_mapped_range();
            let view = view.map_err(|error| link.device_error(conversion, &error))?;
            let (result, proof) = view.split_at(words as usize);
            if proof != sentinel.to_le_bytes() {
                return Err(conversion.error(CastFault::Incomplete));
            }
            destination.copy_from_slice(&result[..destination.len()]);
        }
        buffers.result().unmap();
        Ok(buffers)
    }
}

/// The buffers of one piece, and its cast bound to them.
struct PieceBuffers {
    source: wgpu::Buffer,
    destination: wgpu::Buffer,
    /// The buffer from which the host reads the destination. `None` if the host maps the source and the destination
    /// themselves.
    staging: Option<wgpu::Buffer>,
    /// For each sentinel, the last cast that was bound, and its number of elements.
    bounds: [Option<(u64, Bound)>; 2],
    /// The index of the sentinel that the next piece writes.
    turn: usize,
}

impl PieceBuffers {
    fn new(transfer: &PipelinedTransfer<'_>) -> Result<Self, Error> {
        use wgpu::BufferUsages as Usages;
        let (link, conversion, piece) = (transfer.link, transfer.conversion, &transfer.piece);
        let [source, destination] = [piece.source_bytes(), piece.destination_bytes()].map(|n| n.next_multiple_of(4));
        let primary = link.maps_primary_buffers;
        let (write, read) =
            if primary { (Usages::MAP_WRITE, Usages::MAP_READ) } else { (Usages::COPY_DST, Usages::COPY_SRC) };
        // The sentinel follows the destination.
        let result = destination + 4;
        Ok(Self {
            source: link.buffer(conversion, "cast source", source, Usages::STORAGE | write)?,
            destination: link.buffer(conversion, "cast destination", result, Usages::STORAGE | read)?,
            staging: if primary { None } else { Some(link.staging(conversion, result)?) },
            bounds: [None, None],
            turn: 0,
        })
    }

    /// Binds the cast with the next sentinel, unless it is bound already.
    fn bind(&mut self, transfer: &PipelinedTransfer<'_>, prepared: &Prepared) -> Result<(), Error> {
        let bound = &mut self.bounds[self.turn];
        if bound.as_ref().is_none_or(|(elements, _)| *elements != prepared.len()) {
            let prepared = prepared.with_sentinel(transfer.sentinels[self.turn]);
            let [input, output] =
                [prepared.source_bytes(), prepared.destination_bytes()].map(|n| n.next_multiple_of(4));
            let destination = Destination::whole(self.destination.slice(..output + 4));
            let made = prepared.bind(Source::whole(self.source.slice(..input)), destination)?;
            *bound = Some((prepared.len(), made));
        }
        Ok(())
    }

    /// The buffer that the host reads.
    fn result(&self) -> &wgpu::Buffer {
        self.staging.as_ref().unwrap_or(&self.destination)
    }
}

/// A browser frees the memory of a buffer only in its garbage collection, unless the buffer is destroyed.
impl Drop for PieceBuffers {
    fn drop(&mut self) {
        let buffers = [Some(&self.source), Some(&self.destination), self.staging.as_ref()];
        buffers.into_iter().flatten().for_each(wgpu::Buffer::destroy);
    }
}

/// A piece that the device works on.
struct InFlight<'a> {
    buffers: PieceBuffers,
    submission: wgpu::SubmissionIndex,
    sentinel: u32,
    /// Bytes of the whole words before the sentinel.
    words: u64,
    destination: &'a mut [u8],
    read: Mapping,
    /// The next mapping of the source, if the host maps the source itself.
    write: Option<Mapping>,
    /// The device's later answer to the calls that submitted the piece.
    verdict: Option<Verdict>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::element::ElementType;
    use crate::types::options::CastOptions;

    /// wgpu's backend that accepts everything, does nothing and reads zeros behaves like a broken driver.
    #[test]
    fn a_device_that_does_nothing_is_found_out() {
        let (device, queue) = wgpu::Device::noop(&wgpu::DeviceDescriptor::default());
        let link = DeviceLink::new(device, queue);
        let (from, to) = (ElementType::FLOAT, ElementType::FLOAT16);
        let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
        // The right results of zeros are zeros, so only the sentinel shows the fault.
        for elements in [1usize, 1000, 5000, 1 << 22] {
            let mut destination = vec![0; elements * 2];
            let source = vec![0; elements * 4];
            let result = pollster::block_on(cast(&link, &conversion, &source, elements as u64, &mut destination));
            assert_eq!(result, Err(Error::cast(from, to, CastFault::Incomplete)));
        }
    }

    /// What a piece leaves in its buffers does not prove the next piece.
    #[test]
    fn pieces_in_the_same_buffers_have_different_sentinels() {
        let (device, queue) = wgpu::Device::noop(&wgpu::DeviceDescriptor::default());
        let link = DeviceLink::new(device, queue);
        let conversion = Conversion::new(ElementType::FLOAT, ElementType::FLOAT16, &CastOptions::default()).unwrap();
        let transfer = pollster::block_on(PipelinedTransfer::new(&link, &conversion, 1000)).unwrap();
        let (mut buffers, mut seen) = (PieceBuffers::new(&transfer).unwrap(), Vec::new());
        for _ in 0..3 {
            let mut result = vec![0; 2000];
            buffers.bind(&transfer, &transfer.piece).unwrap();
            let piece = transfer.submit(buffers, &transfer.piece, &[0; 4000], &mut result).unwrap();
            link.wait(&conversion, piece.submission).unwrap();
            piece.buffers.result().unmap();
            seen.push(piece.sentinel);
            buffers = piece.buffers;
        }
        assert!(seen[0] != seen[1] && seen[0] == seen[2], "{seen:x?}");
    }
}
