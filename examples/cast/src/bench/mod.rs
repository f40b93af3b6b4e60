//! `wgpu-cast bench`: measures casts and a copy of the same number of bytes.

mod clock;
mod copy;

use serde_json::json;
use wgpu_cast::wgpu::{self, BufferUsages};
use wgpu_cast::{CastSpec, Caster, Destination, ElementType, Source};

use crate::args::BenchArgs;
use crate::checks::{cases, numeric};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::verify::adapter_name;
use crate::{output, session};
use clock::{Clock, Record};
use copy::Copy;

const WARM_UPS: usize = 2;
const RUNS: usize = 7;

/// The result of one pair.
struct Measured {
    from: ElementType,
    to: ElementType,
    /// 10^9 bytes a second, read and written.
    gbps: f64,
    copy_gbps: f64,
}

impl Measured {
    fn ratio(&self) -> f64 {
        self.gbps / self.copy_gbps
    }

    fn to_json(&self) -> serde_json::Value {
        let Self { from, to, gbps, copy_gbps } = self;
        json!({
            "from": from.name(), "to": to.name(), "gbps": gbps, "copy_gbps": copy_gbps, "ratio": self.ratio(),
        })
    }
}

pub fn bench(args: &BenchArgs) -> Result<(), Failure> {
    let context = pollster::block_on(session::open(args.device.adapter_choice()?))?;
    let (Some(device), Some(queue), Some(caster)) = (context.device(), context.queue(), context.caster()) else {
        return Err(Failure::Work("the adapter provides no device".to_owned()));
    };
    let sources: Vec<_> = numeric().filter(|from| args.from.is_none_or(|only| only == *from)).collect();
    let targets: Vec<_> = numeric().filter(|to| args.to.is_none_or(|only| only == *to)).collect();
    let mut stage = Stage {
        caster,
        clock: Clock::new(device, queue),
        copy: Copy::new(device),
        source: buffer(device, "source", 16),
        destination: buffer(device, "destination", 16),
        elements: 0,
    };
    let adapter = adapter_name(&context);
    let pairs = sources.len() * targets.len() * args.elements.len();
    let mut progress = Progress::of_steps(pairs as u64, args.print.is_silent());
    for &wanted in &args.elements {
        let elements = elements(&device.limits(), wanted, &sources, &targets);
        let largest = |types: &[ElementType]| types.iter().map(|t| bytes(*t, elements)).max().unwrap_or(0);
        // The copy moves half the bytes of both sides.
        let size = largest(&sources).max(largest(&targets));
        (stage.source, stage.destination) = (buffer(device, "source", size), buffer(device, "destination", size));
        stage.elements = elements;
        fill(queue, &stage.source);
        let clock = stage.clock.name();
        if args.print.json {
            output::line(json!({"adapter": adapter, "clock": clock, "elements": elements}))?;
        } else if !args.print.is_silent() {
            let per_cast = output::counted(elements, "element");
            progress.suspend(|| output::line(format_args!("{adapter}: {per_cast} per cast, timed by {clock}")))?;
        }
        for (&from, &to) in sources.iter().flat_map(|from| targets.iter().map(move |to| (from, to))) {
            let measured = stage.measure(from, to)?;
            // Each result is printed at once, so that a stopped run has printed what it measured.
            if args.print.json {
                output::line(measured.to_json())?;
            } else if !args.print.is_silent() {
                progress.suspend(|| print(&measured))?;
            }
            progress.advance(1, &format!("{from} -> {to}"));
        }
    }
    progress.stop();
    Ok(())
}

/// The requested number of elements, or the number that fits one binding if that is less.
fn elements(limits: &wgpu::Limits, wanted: u64, sources: &[ElementType], targets: &[ElementType]) -> u64 {
    let allowed = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size) / 16 * 16;
    let types = sources.iter().chain(targets);
    let held = types.filter_map(|t| t.elements_in(allowed)).min().unwrap_or(wanted);
    wanted.min(held)
}

/// Packed bytes, rounded up to a multiple of 16.
fn bytes(element_type: ElementType, elements: u64) -> u64 {
    element_type.packed_bytes(elements).unwrap_or(0).next_multiple_of(16)
}

fn buffer(device: &wgpu::Device, label: &str, size: u64) -> wgpu::Buffer {
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
    device.create_buffer(&wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false })
}

/// Fills a buffer with random bytes, which are valid codes of every type.
fn fill(queue: &wgpu::Queue, buffer: &wgpu::Buffer) {
    const CHUNK: usize = 1 << 20;
    let words = cases::random(ElementType::UINT64, CHUNK / 8, 1);
    let chunk: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    for offset in (0..buffer.size()).step_by(CHUNK) {
        let size = (buffer.size() - offset).min(CHUNK as u64) as usize;
        queue.write_buffer(buffer, offset, &chunk[..size]);
    }
    queue.submit([]);
}

/// The resources that all pairs share.
struct Stage<'a> {
    caster: &'a Caster,
    clock: Clock<'a>,
    copy: Copy<'a>,
    source: wgpu::Buffer,
    destination: wgpu::Buffer,
    elements: u64,
}

impl Stage<'_> {
    fn measure(&self, from: ElementType, to: ElementType) -> Result<Measured, Failure> {
        let prepared = self.caster.prepare(&CastSpec::new(from, to), self.elements)?;
        let words = |t: ElementType| t.packed_bytes(self.elements).unwrap_or(0).next_multiple_of(4);
        let cast = prepared.bind(
            Source::whole(self.source.slice(..words(from))),
            Destination::whole(self.destination.slice(..words(to))),
        )?;
        let moved = bytes(from, self.elements) + bytes(to, self.elements);
        let copied = (moved / 2).next_multiple_of(16);
        let copy = self.copy.bind(&self.source, &self.destination, copied);
        let (mut casts, mut copies) = (Vec::new(), Vec::new());
        for run in 0..WARM_UPS + RUNS {
            let passes: [Record<'_>; 2] = [&|pass| cast.record_in_pass(pass), &|pass| copy.record(pass)];
            let [cast, copy] = self.clock.time(passes).map_err(Failure::Work)?;
            if run >= WARM_UPS {
                casts.push(cast);
                copies.push(copy);
            }
        }
        let gbps = |bytes: u64, seconds: &mut Vec<f64>| bytes as f64 / median(seconds) / 1e9;
        Ok(Measured { from, to, gbps: gbps(moved, &mut casts), copy_gbps: gbps(2 * copied, &mut copies) })
    }
}

fn median(seconds: &mut [f64]) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn print(measured: &Measured) -> Result<(), Failure> {
    let Measured { from, to, gbps, copy_gbps } = measured;
    let percent = 100.0 * measured.ratio();
    let of_copy = format!("{percent:.0} % of copy bandwidth ({copy_gbps:.2} GB/s)");
    output::line(format_args!("{from:>14} -> {to:<14} {gbps:8.2} GB/s, {of_copy}"))
}
