//! What a cast costs the host: preparing, binding and recording many small ones, in microseconds each, beside the same
//! bind groups and dispatches written by hand.
//!
//! Every figure is the median of seven rounds, with the fastest and the slowest. The adapter is the best of the
//! machine. Its own work is not counted, but the work of a software adapter shares the processor. The first figures are
//! the memory (on Linux) and the buffers that casts take when they are bound, if each has parameters of its own.

#![allow(missing_docs, reason = "a program")]

use std::time::Instant;

use wgpu_cast::wgpu::{self, BufferUsages};
use wgpu_cast::{
    Bound, BoundDispatch, CastSpec, Context, Coverage, Destination, DeviceChoice, ElementType, Placement, Plan,
    Position, Prepared, Source,
};

const CASTS: usize = 10_000;
const ELEMENTS: u64 = 256;
const ROUNDS: usize = 7;
const NAMES: [&str; 10] = [
    "prepare",
    "bind, two buffers",
    "bind, one buffer",
    "a bind group by hand",
    "record, one pass per cast",
    "by hand",
    "finish, one pass per cast",
    "record_all, one pass",
    "by hand",
    "finish, one pass",
];

/// Sets a pipeline and a bind group and dispatches, as a program without this crate does.
fn by_hand(dispatch: &BoundDispatch<'_>, group: &wgpu::BindGroup, pass: &mut wgpu::ComputePass<'_>) {
    pass.set_pipeline(dispatch.pipeline);
    pass.set_bind_group(0, group, &[]);
    let [x, y, z] = dispatch.workgroups;
    pass.dispatch_workgroups(x, y, z);
}

/// The memory of this process in KiB, if it can be read.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// Prints what casts in one buffer hold, if each has another distance from its source.
fn print_memory(device: &wgpu::Device, prepared: &Prepared, pool: &wgpu::Buffer) {
    let buffers = || device.get_internal_counters().hal.buffers.read();
    let before = (resident(), buffers());
    let bounds: Vec<Bound> = (1..=CASTS as u64).map(|i| apart(prepared, pool, i)).collect();
    let grown = resident().zip(before.0).map(|(after, before)| format!("{} KiB more memory, ", after - before));
    let grown = grown.unwrap_or_default();
    println!("{} casts with parameters of their own: {grown}{} more buffers", bounds.len(), buffers() - before.1);
}

/// A cast from the start of a buffer to another part of it.
fn apart(prepared: &Prepared, pool: &wgpu::Buffer, number: u64) -> Bound {
    let start = 1024 + number * 512;
    let destination = Destination::whole(pool.slice(start..start + 2 * ELEMENTS));
    prepared.bind(Source::whole(pool.slice(0..4 * ELEMENTS)), destination).expect("slices")
}

fn main() {
    let context = pollster::block_on(Context::open(DeviceChoice::Gpu)).expect("an adapter");
    let (Some(device), Some(queue), Some(caster), Some(info)) =
        (context.device(), context.queue(), context.caster(), context.adapter_info())
    else {
        unreachable!("the context has a device");
    };
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
    caster.warm_up(&[spec], Coverage::OneBuffer).expect("kernels");
    let buffer = |size| {
        let usage = BufferUsages::STORAGE;
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    };
    // The parameters have the size of those of this crate's dispatches.
    let placement = Placement::two_buffers(Position::whole(0), Position::whole(0));
    let plan = Plan::new(&spec, ELEMENTS, &placement, &Default::default()).expect("a plan");
    let parameters = plan.dispatches()[0].parameters().len() as u64;
    let parameters = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: parameters,
        usage: BufferUsages::UNIFORM,
        mapped_at_creation: false,
    });
    // Slices of two pools, 1 KiB of float each.
    let pools = (buffer(CASTS as u64 * 1024), buffer(CASTS as u64 * 1024));
    print_memory(device, &caster.prepare(&spec, ELEMENTS).expect("a plan"), &pools.0);
    let mut figures = [const { Vec::new() }; NAMES.len()];
    for _ in 0..ROUNDS {
        let prepared =
            timed_each(&mut figures[0], || (0..CASTS).map(|_| caster.prepare(&spec, ELEMENTS).expect("a plan")));
        let bounds: Vec<Bound> = timed_each(&mut figures[1], || {
            prepared.iter().enumerate().map(|(i, prepared)| {
                let start = i as u64 * 1024;
                let source = pools.0.slice(start..start + 4 * ELEMENTS);
                prepared
                    .bind(Source::whole(source), Destination::whole(pools.1.slice(start..start + 2 * ELEMENTS)))
                    .expect("slices")
            })
        });
        // Each result has another distance from its source, so that no two casts have the same parameters.
        let others: Vec<Bound> = timed_each(&mut figures[2], || {
            prepared.iter().enumerate().map(|(i, prepared)| apart(prepared, &pools.0, 1 + i as u64))
        });
        drop(others);
        let dispatch = bounds[0].dispatches().next().expect("a dispatch");
        let layout = dispatch.pipeline.get_bind_group_layout(0);
        // All casts share one block of parameters, as in a program that is written by hand.
        let groups: Vec<wgpu::BindGroup> = timed_each(&mut figures[3], || {
            (0..CASTS as u64).map(|i| {
                let entry = |binding, buffer, start, size| wgpu::BindGroupEntry {
                    binding,
                    resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                        buffer,
                        offset: start,
                        size: wgpu::BufferSize::new(size),
                    }),
                };
                let entries = [
                    entry(0, &pools.0, i * 1024, 4 * ELEMENTS),
                    entry(1, &pools.1, i * 1024, 2 * ELEMENTS),
                    entry(4, &parameters, 0, parameters.size()),
                ];
                let descriptor = wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries };
                device.create_bind_group(&descriptor)
            })
        });
        let mut encoder = device.create_command_encoder(&Default::default());
        timed_each(&mut figures[4], || bounds.iter().map(|bound| bound.record(&mut encoder)));
        let mut other = device.create_command_encoder(&Default::default());
        timed_each(&mut figures[5], || {
            groups.iter().map(|group| by_hand(&dispatch, group, &mut other.begin_compute_pass(&Default::default())))
        });
        drop(other);
        let commands = timed(&mut figures[6], || encoder.finish());
        queue.submit([commands]);
        let mut encoder = device.create_command_encoder(&Default::default());
        timed(&mut figures[7], || Bound::record_all(&bounds, &mut encoder));
        let mut other = device.create_command_encoder(&Default::default());
        timed(&mut figures[8], || {
            let mut pass = other.begin_compute_pass(&Default::default());
            groups.iter().for_each(|group| by_hand(&dispatch, group, &mut pass));
        });
        drop(other);
        let commands = timed(&mut figures[9], || encoder.finish());
        queue.submit([commands]);
        device.poll(wgpu::PollType::wait_indefinitely()).expect("the device answers");
    }
    println!("{CASTS} casts of {ELEMENTS} elements on {}", info.name);
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
