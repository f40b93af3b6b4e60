//! What a cast costs the host: preparing, binding and recording many small ones, in microseconds each.
//!
//! Every figure is the median of seven rounds, with the fastest and the slowest. The adapter is the best there is; its
//! own work is not counted, but a software adapter's shares the processor.

#![allow(missing_docs, reason = "a program")]

use std::time::Instant;

use wgpu_cast::wgpu::{self, BufferUsages};
use wgpu_cast::{Bound, CastSpec, Caster, Destination, ElementType, Slices, Source};

const CASTS: usize = 10_000;
const ELEMENTS: u64 = 256;
const ROUNDS: usize = 7;
const NAMES: [&str; 7] = [
    "prepare",
    "bind, two buffers",
    "bind, one buffer",
    "record, one pass per cast",
    "finish, one pass per cast",
    "record_all, one pass",
    "finish, one pass",
];

fn main() {
    let instance = wgpu::Instance::default();
    let adapter = pollster::block_on(instance.request_adapter(&Default::default())).expect("no GPU adapter found");
    let (device, queue) = pollster::block_on(adapter.request_device(&Default::default())).expect("a device");
    let caster = Caster::new(&device);
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
    caster.warm_up(&[spec], Slices::OneBuffer).expect("kernels");
    let buffer = |size| {
        let usage = BufferUsages::STORAGE;
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    };
    // Slices of two pools, 1 KiB of float each.
    let pools = (buffer(CASTS as u64 * 1024), buffer(CASTS as u64 * 1024));
    let mut figures = [const { Vec::new() }; 7];
    for _ in 0..ROUNDS {
        let prepared =
            timed_each(&mut figures[0], || (0..CASTS).map(|_| caster.prepare(&spec, ELEMENTS).expect("a plan")));
        let bounds: Vec<Bound> = timed_each(&mut figures[1], || {
            prepared.iter().enumerate().map(|(i, prepared)| {
                let start = i as u64 * 1024;
                let source = pools.0.slice(start..start + 4 * ELEMENTS);
                prepared
                    .bind(Source::new(source), Destination::new(pools.1.slice(start..start + 2 * ELEMENTS)))
                    .expect("slices")
            })
        });
        // Each lies at another distance from its source, so that no two have the same parameters.
        let apart: Vec<Bound> = timed_each(&mut figures[2], || {
            prepared.iter().enumerate().map(|(i, prepared)| {
                let start = (1 + i as u64) * 512;
                let source = pools.0.slice(0..4 * ELEMENTS);
                prepared
                    .bind(
                        Source::new(source),
                        Destination::new(pools.0.slice(1024 + start..1024 + start + 2 * ELEMENTS)),
                    )
                    .expect("slices")
            })
        });
        drop(apart);
        let mut encoder = device.create_command_encoder(&Default::default());
        timed_each(&mut figures[3], || bounds.iter().map(|bound| bound.record(&mut encoder)));
        let commands = timed(&mut figures[4], || encoder.finish());
        queue.submit([commands]);
        let mut encoder = device.create_command_encoder(&Default::default());
        timed(&mut figures[5], || Bound::record_all(&bounds, &mut encoder));
        let commands = timed(&mut figures[6], || encoder.finish());
        queue.submit([commands]);
        device.poll(wgpu::PollType::wait_indefinitely()).expect("the device answers");
    }
    println!("{CASTS} casts of {ELEMENTS} elements on {}", adapter.get_info().name);
    println!("microseconds per cast, medians of {ROUNDS} runs (fastest to slowest)");
    for (name, figures) in NAMES.iter().zip(&mut figures) {
        figures.sort_by(f64::total_cmp);
        println!("{name:26} {:6.2} ({:.2} to {:.2})", figures[ROUNDS / 2], figures[0], figures[ROUNDS - 1]);
    }
}

/// Runs the work and notes how long each item took.
fn timed_each<T, I: Iterator<Item = T>>(figures: &mut Vec<f64>, work: impl FnOnce() -> I) -> Vec<T> {
    timed(figures, || work().collect())
}

/// Runs the work and notes how long it took for each cast.
fn timed<T>(figures: &mut Vec<f64>, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let made = work();
    figures.push(start.elapsed().as_secs_f64() * 1e6 / CASTS as f64);
    made
}
