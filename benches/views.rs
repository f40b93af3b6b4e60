//! Casts of views beside the cast of a dense tensor and beside copies that are written by hand, in milliseconds.
//!
//! All work on 4 Mi elements of FLOAT and FLOAT16, in turns, on the best adapter. The copies move words: as many bytes as
//! the casts read and write, so 3 Mi words, or the low halves of 4 Mi words. Every figure is the median of 15 rounds, with the fastest and the slowest,
//! by the wall clock.

#![allow(missing_docs, reason = "a program")]

use std::time::Instant;

use wgpu_cast::wgpu::{self, BufferUsages};
use wgpu_cast::{Bound, CastSpec, Caster, Destination, ElementType, Prepared, Source, View};

const ROUNDS: usize = 15;
const ROWS: u64 = 2048;
const COLUMNS: u64 = 2048;
/// The matrix of words that a copy transposes.
const COPY: [u32; 2] = [1536, 2048];

/// Each invocation copies 16 bytes.
const COPY_DENSE: &str = "
@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> destination: array<vec4<u32>>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    destination[id.x] = source[id.x];
}";

/// Each invocation copies a word.
const COPY_WORDS: &str = "
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> destination: array<u32>;

@compute @workgroup_size(16, 16)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    destination[id.y * 1536u + id.x] = source[id.x * 2048u + id.y];
}";

/// Each workgroup copies a square of words by way of its memory, as GPUs like it.
const COPY_TILES: &str = "
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> destination: array<u32>;

var<workgroup> tile: array<u32, 1056>;

@compute @workgroup_size(32, 8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    for (var y = local.y; y < 32u; y = y + 8u) {
        tile[y * 33u + local.x] = source[(group.x * 32u + y) * 2048u + group.y * 32u + local.x];
    }
    workgroupBarrier();
    for (var y = local.y; y < 32u; y = y + 8u) {
        destination[(group.y * 32u + y) * 1536u + group.x * 32u + local.x] = tile[local.x * 33u + y];
    }
}";

/// As the cast, but each word's low half is all that is done to it.
const MOVE_BLOCKS: &str = "
@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> destination: array<vec2<u32>>;

fn halves(a: u32, b: u32, c: u32, d: u32) -> vec2<u32> {
    return vec2<u32>((a & 0xffffu) | (b << 16u), (c & 0xffffu) | (d << 16u));
}

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let first = id.x * 2048u + id.y;
    let a = source[first];
    let b = source[first + 512u];
    let c = source[first + 1024u];
    let d = source[first + 1536u];
    let start = id.y * 2048u + id.x;
    destination[start] = halves(a.x, b.x, c.x, d.x);
    destination[start + 512u] = halves(a.y, b.y, c.y, d.y);
    destination[start + 1024u] = halves(a.z, b.z, c.z, d.z);
    destination[start + 1536u] = halves(a.w, b.w, c.w, d.w);
}";

/// Each invocation copies a square of four by four words, as llvmpipe likes it.
const COPY_BLOCKS: &str = "
@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> destination: array<vec4<u32>>;

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let first = id.x * 2048u + id.y;
    let a = source[first];
    let b = source[first + 512u];
    let c = source[first + 1024u];
    let d = source[first + 1536u];
    let start = id.y * 1536u + id.x;
    destination[start] = vec4<u32>(a.x, b.x, c.x, d.x);
    destination[start + 384u] = vec4<u32>(a.y, b.y, c.y, d.y);
    destination[start + 768u] = vec4<u32>(a.z, b.z, c.z, d.z);
    destination[start + 1152u] = vec4<u32>(a.w, b.w, c.w, d.w);
}";

/// Work that is timed.
enum Work {
    Cast(Vec<Bound>),
    Copy(wgpu::ComputePipeline, wgpu::BindGroup, [u32; 2]),
}

struct Bench {
    device: wgpu::Device,
    queue: wgpu::Queue,
    caster: Caster,
    source: wgpu::Buffer,
    destination: wgpu::Buffer,
    works: Vec<(&'static str, Work, Vec<f64>)>,
}

fn main() {
    let instance = wgpu::Instance::default();
    let adapter = pollster::block_on(instance.request_adapter(&Default::default())).expect("no GPU adapter found");
    let descriptor = wgpu::DeviceDescriptor { required_limits: adapter.limits(), ..Default::default() };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).expect("a device");
    let size = 4 * (ROWS + 8) * (COLUMNS + 8);
    let buffer =
        |usage| device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    let source = buffer(BufferUsages::STORAGE | BufferUsages::COPY_DST);
    let numbers: Vec<u8> = (0..size as u32).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
    queue.write_buffer(&source, 0, &numbers);
    let destination = buffer(BufferUsages::STORAGE);
    let caster = Caster::new(&device);
    let mut bench = Bench { device, queue, caster, source, destination, works: Vec::new() };

    bench.copy("copy, dense", COPY_DENSE, [COPY[0] * COPY[1] / 1024, 1]);
    bench.copy("copy, transposed, words", COPY_WORDS, [COPY[0] / 16, COPY[1] / 16]);
    bench.copy("copy, transposed, workgroup memory", COPY_TILES, [COPY[0] / 32, COPY[1] / 32]);
    bench.copy("copy, transposed, blocks", COPY_BLOCKS, [COPY[0] / 32, COPY[1] / 32]);
    bench.copy("copy of low halves, transposed, blocks", MOVE_BLOCKS, [ROWS as u32 / 32, COLUMNS as u32 / 32]);
    let dense = bench.caster.prepare(&spec(), ROWS * COLUMNS).expect("a plan");
    bench.cast("cast, dense", &dense);
    let short = [ROWS, COLUMNS - 1];
    let (pitch, columns) = (COLUMNS as i64, COLUMNS as i64 - 1);
    bench.view("cast, rows of 2047 from a pitch of 2048", &View::new(&short).with_source_strides(&[pitch, 1]));
    bench.view("cast, rows of 2047 to a pitch of 2048", &View::new(&short).with_destination_strides(&[pitch, 1]));
    bench.rows("cast, rows of 2047, a cast per row");
    bench.view("cast, rows upwards", &View::new(&[ROWS, COLUMNS]).with_source_strides(&[-pitch, 1]));
    bench.view("cast, transposed", &View::new(&[COLUMNS, ROWS]).with_source_strides(&[1, pitch]));
    bench.view("cast, transposed, 2047 by 2047", &View::new(&[COLUMNS - 1; 2]).with_source_strides(&[1, columns]));
    bench.view("cast, every second element", &View::new(&[ROWS * COLUMNS / 2]).with_source_strides(&[2]));
    bench.view("cast, one row repeated", &View::new(&[ROWS, COLUMNS]).with_source_strides(&[0, 1]));

    for _ in 0..ROUNDS + 2 {
        bench.round();
    }
    bench.print(&adapter.get_info().name);
}

fn spec() -> CastSpec {
    CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16)
}

impl Bench {
    fn copy(&mut self, name: &'static str, wgsl: &str, workgroups: [u32; 2]) {
        let source = wgpu::ShaderSource::Wgsl(wgsl.into());
        let descriptor = wgpu::ShaderModuleDescriptor { label: Some(name), source };
        // As the casts' own modules: without checks of indices.
        #[allow(unsafe_code, reason = "wgpu's trusted shader modules are unsafe: see SAFETY")]
        // SAFETY: the numbers of workgroups and the sizes of the buffers suit the indices.
        let module =
            unsafe { self.device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked()) };
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache: None,
        });
        let buffers = [(0, &self.source), (1, &self.destination)];
        let entries = buffers.map(|(binding, buffer)| wgpu::BindGroupEntry {
            binding,
            resource: wgpu::BindingResource::Buffer(buffer.as_entire_buffer_binding()),
        });
        let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(name),
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        self.works.push((name, Work::Copy(pipeline, group, workgroups), Vec::new()));
    }

    fn view(&mut self, name: &'static str, view: &View<'_>) {
        let prepared = self.caster.prepare_view(&spec(), view).expect("a plan");
        self.cast(name, &prepared);
    }

    fn cast(&mut self, name: &'static str, prepared: &Prepared) {
        let bound = self.bind(prepared, 0, 0);
        self.works.push((name, Work::Cast(vec![bound]), Vec::new()));
    }

    /// The rows of a matrix one by one, each after the one before.
    fn rows(&mut self, name: &'static str) {
        let prepared = self.caster.prepare(&spec(), COLUMNS - 1).expect("a plan");
        let row = |row| self.bind(&prepared, row * COLUMNS * 4, row * (COLUMNS - 1) * 2);
        let bounds = (0..ROWS).map(row).collect();
        self.works.push((name, Work::Cast(bounds), Vec::new()));
    }

    fn bind(&self, prepared: &Prepared, from: u64, to: u64) -> Bound {
        let source = self.source.slice(from..from + prepared.source_bytes());
        let destination = self.destination.slice(to..to + prepared.destination_bytes());
        prepared.bind(Source::new(source), Destination::new(destination)).expect("slices")
    }

    /// Does each work once.
    fn round(&mut self) {
        for (_, work, times) in &mut self.works {
            let mut encoder = self.device.create_command_encoder(&Default::default());
            match work {
                Work::Cast(bounds) => Bound::record_all(bounds.iter(), &mut encoder),
                Work::Copy(pipeline, group, [x, y]) => {
                    let mut pass = encoder.begin_compute_pass(&Default::default());
                    pass.set_pipeline(pipeline);
                    pass.set_bind_group(0, &*group, &[]);
                    pass.dispatch_workgroups(*x, *y, 1);
                }
            }
            let commands = encoder.finish();
            let start = Instant::now();
            self.queue.submit([commands]);
            self.device.poll(wgpu::PollType::wait_indefinitely()).expect("the device answers");
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }

    fn print(mut self, adapter: &str) {
        println!("{} Mi elements of FLOAT to FLOAT16 on {adapter}", (ROWS * COLUMNS) >> 20);
        println!("milliseconds, medians of {ROUNDS} runs (fastest to slowest), and the speed of the dense cast");
        let median = |times: &mut Vec<f64>| {
            // Two rounds to warm up.
            times.drain(..times.len() - ROUNDS);
            times.sort_by(f64::total_cmp);
            times[ROUNDS / 2]
        };
        let medians: Vec<f64> = self.works.iter_mut().map(|(_, _, times)| median(times)).collect();
        let dense = self.works.iter().position(|(name, ..)| *name == "cast, dense").map_or(0.0, |at| medians[at]);
        for ((name, _, times), median) in self.works.iter().zip(&medians) {
            let speed = dense / median;
            println!("{name:42} {median:8.2} ({:.2} to {:.2}) {speed:6.2}", times[0], times[ROUNDS - 1]);
        }
    }
}
