//! The time that a device needs for the cast of a host tensor, compared with its parts: upload, dispatches and
//! read-back. The time that the host needs for the copies to and from any device, compared with the whole cast on the
//! CPU. The time of the first cast of a pair.
//!
//! Every figure is the median of seven runs, in microseconds, on the best adapter.

#![allow(missing_docs, reason = "a program")]

use std::hint::black_box;
use std::time::Instant;

use wgpu_cast::wgpu::{self, BufferUsages};
use wgpu_cast::wgsl::{self, KernelVariant};
use wgpu_cast::{
    CastOptions, CastSpec, Context, Coverage, Destination, DeviceChoice, ElementType, Source, Tensor, cpu,
};

const ROUNDS: usize = 7;
const PAIRS: [(ElementType, ElementType); 4] = [
    (ElementType::FLOAT, ElementType::FLOAT16),
    (ElementType::FLOAT16, ElementType::FLOAT),
    (ElementType::FLOAT, ElementType::FLOAT8E4M3FN),
    (ElementType::INT64, ElementType::INT32),
];

fn main() {
    let context = pollster::block_on(Context::open(DeviceChoice::Gpu)).expect("an adapter");
    let name = context.adapter_info().map(|info| info.name.clone()).unwrap_or_default();
    println!("{name}, microseconds, medians of {ROUNDS} runs");
    println!("On a new device: text and module of a kernel, its pipeline, and the first cast of 5000 elements");
    println!("{:30} {:>9} {:>9} {:>9}", "", "module", "kernel", "cast");
    let adapter = adapter(&context);
    for (from, to) in PAIRS {
        let pair = format!("{from} to {to}");
        println!(
            "{pair:30} {:9.0} {:9.0} {:9.0}",
            module(&context, from, to),
            kernel(&adapter, from, to),
            first(&adapter, from, to)
        );
    }
    println!(
        "\n{:30} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}",
        "", "elements", "upload", "dispatch", "read", "cast", "/ sum"
    );
    for (from, to) in PAIRS {
        for elements in (4..=24).step_by(4).map(|log| 1usize << log) {
            let [upload, dispatch, read] = parts(&context, from, to, elements);
            let cast = whole(&context, from, to, elements);
            let ratio = cast / (upload + dispatch + read);
            let pair = format!("{from} to {to}");
            println!("{pair:30} {elements:>9} {upload:9.0} {dispatch:9.0} {read:9.0} {cast:9.0} {ratio:7.2}");
        }
    }
    println!("\n{:30} {:>9} {:>9} {:>9} {:>9}", "", "elements", "copies", "CPU cast", "/ copies");
    for (from, to) in PAIRS {
        for elements in (8..=26).step_by(3).map(|log| 1usize << log) {
            let [copies, cast] = host(from, to, elements);
            let pair = format!("{from} to {to}");
            println!("{pair:30} {elements:>9} {copies:9.1} {cast:9.1} {:9.2}", cast / copies);
        }
    }
}

fn median(mut work: impl FnMut() -> f64) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS).map(|_| work()).collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

fn timed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e6
}

fn tensor(from: ElementType, elements: usize) -> Tensor {
    let bytes = from.packed_bytes(elements as u64).expect("a size") as usize;
    let bytes = (0..bytes).map(|i| (i as u32).wrapping_mul(0x9e37_79b9).to_le_bytes()[3]).collect();
    Tensor::from_bytes(from, [elements], bytes).expect("a tensor")
}

/// The times to copy a tensor in and its result out by way of a few MiB that stay in the caches, and to cast it on the
/// CPU. Both write new memory. Small tensors are copied and cast many times.
fn host(from: ElementType, to: ElementType, elements: usize) -> [f64; 2] {
    let tensor = tensor(from, elements);
    let source = tensor.bytes().expect("a numeric tensor");
    let size = to.packed_bytes(elements as u64).expect("a size") as usize;
    let mut ring = vec![1u8; 4 << 20];
    let mut copies = || {
        for piece in source.chunks(ring.len()) {
            ring[..piece.len()].copy_from_slice(piece);
            black_box(&mut ring);
        }
        let mut result = vec![0u8; size];
        for piece in result.chunks_mut(ring.len()) {
            piece.copy_from_slice(&ring[..piece.len()]);
        }
        drop(black_box(result));
    };
    let cast = || drop(black_box(cpu::cast(&tensor, to, &CastOptions::default()).expect("a cast")));
    let times = (1 << 20) / elements.min(1 << 20);
    // Both take turns, so that other load on the machine affects both.
    let rounds: [_; ROUNDS] = std::array::from_fn(|_| {
        let copies = timed(|| (0..times).for_each(|_| copies()));
        [copies, timed(|| (0..times).for_each(|_| cast()))]
    });
    [0, 1].map(|what| {
        let mut times = rounds.map(|round| round[what] / times as f64);
        times.sort_by(f64::total_cmp);
        times[ROUNDS / 2]
    })
}

/// The context's adapter. Devices are made of one adapter, because searching for it takes longest.
fn adapter(context: &Context) -> wgpu::Adapter {
    let used = context.adapter_info().expect("an adapter");
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let mut found = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all())).into_iter();
    let is_used = |info: wgpu::AdapterInfo| (&info.name, info.backend) == (&used.name, used.backend);
    found.find(|adapter| is_used(adapter.get_info())).expect("the same adapter")
}

/// A context on a new device, because drivers may keep pipelines as long as a device exists.
fn anew(adapter: &wgpu::Adapter) -> Context {
    let descriptor = wgpu::DeviceDescriptor { required_limits: adapter.limits(), ..Default::default() };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).expect("a device");
    Context::on_device(&device, &queue)
}

/// The time to compose a kernel's text, and of naga's part.
fn module(context: &Context, from: ElementType, to: ElementType) -> f64 {
    let device = context.device().expect("a device");
    median(|| {
        timed(|| {
            let kernel = wgsl::kernel(&CastSpec::new(from, to), KernelVariant::Computed).expect("a kernel");
            let source = wgpu::ShaderSource::Wgsl(kernel.wgsl().into());
            drop(device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source }));
        })
    })
}

/// As [`module`], with the driver's part: one kernel, for a number of elements that needs no other kernel.
fn kernel(adapter: &wgpu::Adapter, from: ElementType, to: ElementType) -> f64 {
    median(|| {
        let context = anew(adapter);
        let caster = context.caster().expect("a device");
        timed(|| drop(caster.prepare(&CastSpec::new(from, to), 4096).expect("a plan")))
    })
}

/// The time to compose, compile and run a kernel.
fn first(adapter: &wgpu::Adapter, from: ElementType, to: ElementType) -> f64 {
    let tensor = tensor(from, 5000);
    median(|| {
        let context = anew(adapter);
        timed(|| drop(pollster::block_on(context.cast(&tensor, to, &CastOptions::default())).expect("a cast")))
    })
}

fn whole(context: &Context, from: ElementType, to: ElementType, elements: usize) -> f64 {
    let tensor = tensor(from, elements);
    let cast = || drop(pollster::block_on(context.cast(&tensor, to, &CastOptions::default())).expect("a cast"));
    cast();
    median(|| timed(cast))
}

fn parts(context: &Context, from: ElementType, to: ElementType, elements: usize) -> [f64; 3] {
    let (Some(device), Some(queue), Some(caster)) = (context.device(), context.queue(), context.caster()) else {
        unreachable!("the context has a device");
    };
    let spec = CastSpec::new(from, to);
    caster.warm_up(&[spec], Coverage::Aligned).expect("kernels");
    let tensor = tensor(from, elements);
    let buffer = |size: u64, usage| {
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    };
    let prepared = caster.prepare(&spec, elements as u64).expect("a plan");
    let [input, output] = [prepared.source_bytes(), prepared.destination_bytes()].map(|n| n.next_multiple_of(4));
    let storage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
    let (source, destination) = (buffer(input, storage), buffer(output, storage));
    let staging = buffer(output, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
    let bound =
        prepared.bind(Source::whole(source.slice(..)), Destination::whole(destination.slice(..))).expect("slices");
    let wait = |index| {
        let poll = wgpu::PollType::Wait { submission_index: Some(index), timeout: None };
        device.poll(poll).expect("the device answers");
    };
    let mut result = vec![0u8; output as usize];
    let mut bytes = tensor.bytes().expect("a numeric tensor").to_vec();
    bytes.resize(input as usize, 0);
    let upload = median(|| {
        timed(|| {
            queue.write_buffer(&source, 0, &bytes);
            wait(queue.submit([]));
        })
    });
    let dispatch = median(|| {
        timed(|| {
            let mut encoder = device.create_command_encoder(&Default::default());
            bound.record(&mut encoder);
            wait(queue.submit([encoder.finish()]));
        })
    });
    let read = median(|| {
        timed(|| {
            let mut encoder = device.create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(&destination, 0, &staging, 0, output);
            let index = queue.submit([encoder.finish()]);
            staging.slice(..).map_async(wgpu::MapMode::Read, |mapped| mapped.expect("mapped"));
            wait(index);
            result.copy_from_slice(&staging.slice(..).get_mapped_range().expect("mapped"));
            staging.unmap();
        })
    });
    [upload, dispatch, read]
}
