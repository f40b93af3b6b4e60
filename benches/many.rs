//! Casts of many small tensors, in milliseconds: all at once by `bind_many`, one by one, and as one cast of the same
//! number of elements. Then casts with a count on the device beside casts without a count.
//!
//! Tensors have 800 elements of FLOAT, which become FLOAT16. The ways take turns on the best adapter. Every figure is
//! the median of 15 rounds, with the fastest and the slowest, by the wall clock.

#![allow(missing_docs, reason = "a program")]

use std::time::Instant;

use wgpu_cast::wgpu::{self, BufferUsages};
use wgpu_cast::{Bound, CastSpec, Context, Destination, DeviceChoice, ElementType, Source};

const ROUNDS: usize = 15;
const TENSORS: u64 = 500;
const ELEMENTS: u64 = 800;

/// For each name, a figure of each round.
struct Figures(Vec<(&'static str, Vec<f64>)>);

impl Figures {
    fn timed<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let made = work();
        let figure = start.elapsed().as_secs_f64() * 1e3;
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, figures)) => figures.push(figure),
            None => self.0.push((name, vec![figure])),
        }
        made
    }
}

fn main() {
    let context = pollster::block_on(Context::open(DeviceChoice::Gpu)).expect("an adapter");
    let (Some(device), Some(queue), Some(caster), Some(info)) =
        (context.device(), context.queue(), context.caster(), context.adapter_info())
    else {
        unreachable!("the context has a device");
    };
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
    let buffer = |size| {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    };
    let pools = [buffer(TENSORS * ELEMENTS * 4), buffer(TENSORS * ELEMENTS * 2)];
    let apart: Vec<_> = (0..TENSORS).map(|_| [buffer(ELEMENTS * 4), buffer(ELEMENTS * 2)]).collect();
    let count = buffer(4);
    queue.write_buffer(&count, 0, &((TENSORS * ELEMENTS) as u32).to_le_bytes());
    let in_pool = |i: u64| {
        let source = pools[0].slice(i * ELEMENTS * 4..(i + 1) * ELEMENTS * 4);
        (Source::whole(source), Destination::whole(pools[1].slice(i * ELEMENTS * 2..(i + 1) * ELEMENTS * 2)), ELEMENTS)
    };
    let in_buffers = |i: u64| {
        let [source, destination] = &apart[i as usize];
        (Source::whole(source.slice(..)), Destination::whole(destination.slice(..)), ELEMENTS)
    };
    let run = |bounds: &[Bound]| {
        let mut encoder = device.create_command_encoder(&Default::default());
        Bound::record_all(bounds, &mut encoder);
        let index = queue.submit([encoder.finish()]);
        device.poll(wgpu::PollType::Wait { submission_index: Some(index), timeout: None }).expect("the device answers");
    };
    let prepared = caster.prepare(&spec, ELEMENTS).expect("a plan");
    let whole = caster.prepare(&spec, TENSORS * ELEMENTS).expect("a plan");
    let mut figures = Figures(Vec::new());
    for round in 0..=ROUNDS {
        // The first round compiles.
        if round == 1 {
            figures.0.clear();
        }
        let many = figures
            .timed("bind_many, one pool", || [caster.bind_many(&spec, (0..TENSORS).map(in_pool)).expect("slices")]);
        figures.timed("  submit and wait", || run(&many));
        let each = figures.timed("bind for each, one pool", || {
            let bind = |(source, destination, _)| prepared.bind(source, destination).expect("slices");
            (0..TENSORS).map(in_pool).map(bind).collect::<Vec<_>>()
        });
        figures.timed("  submit and wait ", || run(&each));
        let many = figures.timed("bind_many, 1,000 buffers", || {
            [caster.bind_many(&spec, (0..TENSORS).map(in_buffers)).expect("slices")]
        });
        figures.timed("  submit and wait  ", || run(&many));
        let slices = || (Source::whole(pools[0].slice(..)), Destination::whole(pools[1].slice(..)));
        let one = figures.timed("bind, one tensor", || [whole.bind(slices().0, slices().1).expect("slices")]);
        figures.timed("  submit and wait   ", || run(&one));
        let counted = figures.timed("bind_counted, one tensor", || {
            [whole.bind_counted(slices().0, slices().1, count.slice(..)).expect("slices")]
        });
        figures.timed("  submit and wait    ", || run(&counted));
    }
    println!("{TENSORS} tensors of {ELEMENTS} elements on {}", info.name);
    println!("milliseconds, medians of {ROUNDS} rounds (fastest to slowest)");
    for (name, figures) in &mut figures.0 {
        figures.sort_by(f64::total_cmp);
        println!("{name:28} {:7.3} ({:.3} to {:.3})", figures[ROUNDS / 2], figures[0], figures[ROUNDS - 1]);
    }
}
