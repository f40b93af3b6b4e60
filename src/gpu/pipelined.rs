//! Host tensors to a device and back in pieces: while the device casts one, the host brings the next and takes the last.

use std::collections::VecDeque;

use crate::conversion::Conversion;
use crate::error::Error;
use crate::gpu::device_link::{DeviceLink, Mapping, map};
use crate::gpu::error_scope::scoped;
use crate::gpu::record::device_result;
use crate::plan;

/// Most bytes of a piece on either side: enough to be worth a submission, few enough to stay in a processor's caches
/// where the device shares them.
const PIECE_BYTES: u64 = 4 << 20;

/// Pieces on their way at once, each with buffers of its own.
const PIECES_IN_FLIGHT: usize = 3;

/// Casts packed bytes of `elements` elements. Returns the number of dispatches.
pub(super) async fn cast(
    link: &DeviceLink,
    conversion: &Conversion,
    source: &[u8],
    elements: u64,
    destination: &mut [u8],
) -> Result<u32, Error> {
    let piece = plan::host_chunk(conversion, link.caster.limits(), PIECE_BYTES)?;
    let bytes = |bits: u32, elements: u64| (elements * u64::from(bits)).div_ceil(8) as usize;
    let (from, to) = (conversion.from.code_bits(), conversion.to.code_bits());
    let room = [from, to].map(|bits| bytes(bits, piece.min(elements)).next_multiple_of(4) as u64);
    let mut in_flight = VecDeque::with_capacity(PIECES_IN_FLIGHT);
    let mut dispatches = 0;
    let pieces = source.chunks(bytes(from, piece)).zip(destination.chunks_mut(bytes(to, piece)));
    for (i, (source, destination)) in pieces.enumerate() {
        let oldest = if in_flight.len() == PIECES_IN_FLIGHT { in_flight.pop_front() } else { None };
        let buffers = match oldest {
            Some(piece_in_flight) => complete(link, conversion, piece_in_flight).await?,
            None => PieceBuffers::new(link, conversion, room)?,
        };
        let count = piece.min(elements - i as u64 * piece);
        let (piece_in_flight, recorded) = submit(link, conversion, buffers, count, source, destination)?;
        dispatches += recorded;
        in_flight.push_back(piece_in_flight);
    }
    while let Some(piece_in_flight) = in_flight.pop_front() {
        complete(link, conversion, piece_in_flight).await?;
    }
    Ok(dispatches)
}

/// The buffers of one piece.
struct PieceBuffers {
    source: wgpu::Buffer,
    destination: wgpu::Buffer,
    /// Where the host reads the destination. Without, the host maps both buffers themselves.
    staging: Option<wgpu::Buffer>,
}

impl PieceBuffers {
    fn new(link: &DeviceLink, conversion: &Conversion, [source, destination]: [u64; 2]) -> Result<Self, Error> {
        use wgpu::BufferUsages as Usages;
        let primary = link.maps_primary_buffers;
        let (write, read) =
            if primary { (Usages::MAP_WRITE, Usages::MAP_READ) } else { (Usages::COPY_DST, Usages::COPY_SRC) };
        // The sentinel follows the destination.
        let result = destination + 4;
        Ok(Self {
            source: link.buffer(conversion, "cast source", source, Usages::STORAGE | write)?,
            destination: link.buffer(conversion, "cast destination", result, Usages::STORAGE | read)?,
            staging: if primary { None } else { Some(link.staging(conversion, result)?) },
        })
    }

    /// What the host reads.
    fn result(&self) -> &wgpu::Buffer {
        self.staging.as_ref().unwrap_or(&self.destination)
    }
}

/// A piece that the device works on.
struct InFlight<'a> {
    buffers: PieceBuffers,
    submission: wgpu::SubmissionIndex,
    sentinel: u32,
    /// Bytes of whole words before the sentinel.
    words: u64,
    destination: &'a mut [u8],
    read: Mapping,
    /// Where the host maps the source itself, its next mapping.
    write: Option<Mapping>,
}

/// Brings a piece to the device and submits its cast.
fn submit<'a>(
    link: &DeviceLink,
    conversion: &Conversion,
    buffers: PieceBuffers,
    elements: u64,
    source: &[u8],
    destination: &'a mut [u8],
) -> Result<(InFlight<'a>, u32), Error> {
    link.check(conversion)?;
    let sentinel = link.next_sentinel();
    let prepared = link.caster.prepare_with_sentinel(*conversion, elements, Some(sentinel))?;
    let [input, output] = [prepared.source_bytes(), prepared.destination_bytes()].map(|n| n.next_multiple_of(4));
    let bound = prepared.bind(buffers.source.slice(..input), buffers.destination.slice(..output + 4))?;
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
    let submitted = scoped(&link.device, || {
        let descriptor = wgpu::CommandEncoderDescriptor { label: Some("cast") };
        let mut encoder = link.device.create_command_encoder(&descriptor);
        bound.record(&mut encoder);
        if let Some(staging) = &buffers.staging {
            encoder.copy_buffer_to_buffer(&buffers.destination, 0, staging, 0, output + 4);
        }
        let submission = link.queue.submit([encoder.finish()]);
        let read = map(buffers.result(), wgpu::MapMode::Read, output + 4);
        let write =
            buffers.staging.is_none().then(|| map(&buffers.source, wgpu::MapMode::Write, buffers.source.size()));
        (submission, read, write)
    });
    let (submission, read, write) = device_result(conversion, 0, submitted)?;
    let piece_in_flight = InFlight { buffers, submission, sentinel, words: output, destination, read, write };
    Ok((piece_in_flight, prepared.dispatches()))
}

/// Waits for a piece, proves that it was done, and takes its result.
async fn complete(
    link: &DeviceLink,
    conversion: &Conversion,
    piece_in_flight: InFlight<'_>,
) -> Result<PieceBuffers, Error> {
    let InFlight { buffers, submission, sentinel, words, destination, read, write } = piece_in_flight;
    link.wait(conversion, submission)?;
    for mapping in [Some(read), write].into_iter().flatten() {
        link.arrive(conversion, mapping).await?;
    }
    {
        let view = buffers.result().slice(..words + 4).get_mapped_range();
        let view = view.map_err(|error| link.device_error(conversion, &error))?;
        let (result, proof) = view.split_at(words as usize);
        if proof != sentinel.to_le_bytes() {
            return Err(Error::Incomplete { from: conversion.from, to: conversion.to });
        }
        destination.copy_from_slice(&result[..destination.len()]);
    }
    buffers.result().unmap();
    Ok(buffers)
}
