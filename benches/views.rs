//! Casts of views beside the cast of a dense tensor and beside copies that are written by hand, in milliseconds.
//!
//! The casts and copies take turns on the best adapter. They are of a square matrix, whose elements become FLOAT16 from
//! FLOAT. The matrix has 4 Mi elements on a software adapter, and 64 Mi on a GPU, whose caches might hold a smaller
//! one. The copies move words. They read and write the bytes of the casts, three words for four elements, or the low
//! half of a word for each element. Every figure is the median of 15 rounds, with the fastest and the slowest. Times
//! are the device's own if it has timestamp queries. Otherwise they include submitting and waiting.

#![allow(missing_docs, reason = "a program")]

use support::clock::{Clock, Record};
use wgpu_cast::wgpu::{self, BufferUsages};
use wgpu_cast::{Bound, CastSpec, Caster, Context, Destination, DeviceChoice, ElementType, Prepared, Source, View};

const ROUNDS: usize = 15;
/// Rows and columns of the matrix that is cast: on software adapters, and on GPUs that can bind the larger one.
/// Multiples of 128.
const SIDES: [u64; 2] = [2048, 8192];
/// The number of times that a work is done in a round with the larger matrix, so that the time is not that of starting
/// a pass.
const TIMES: usize = 4;

/// Each invocation copies 16 bytes.
const COPY_DENSE: &str = "
@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> destination: array<vec4<u32>>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    destination[id.x] = source[id.x];
}";

/// Each invocation copies a word. A copy transposes a matrix of `side / 4 * 3` rows of `side` words.
const COPY_WORDS: &str = "
override side: u32;
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> destination: array<u32>;

@compute @workgroup_size(16, 16)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    destination[id.y * (side / 4u * 3u) + id.x] = source[id.x * side + id.y];
}";

/// Each workgroup copies a square of words by way of its memory, which is fast on GPUs.
const COPY_TILES: &str = "
override side: u32;
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> destination: array<u32>;

var<workgroup> tile: array<u32, 1056>;

@compute @workgroup_size(32, 8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    for (var y = local.y; y < 32u; y = y + 8u) {
        tile[y * 33u + local.x] = source[(group.x * 32u + y) * side + group.y * 32u + local.x];
    }
    workgroupBarrier();
    for (var y = local.y; y < 32u; y = y + 8u) {
        destination[(group.y * 32u + y) * (side / 4u * 3u) + group.x * 32u + local.x] = tile[local.x * 33u + y];
    }
}";

/// As the cast, but the kernel only takes the low half of each word.
const MOVE_BLOCKS: &str = "
override side: u32;
@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> destination: array<vec2<u32>>;

fn halves(a: u32, b: u32, c: u32, d: u32) -> vec2<u32> {
    return vec2<u32>((a & 0xffffu) | (b << 16u), (c & 0xffffu) | (d << 16u));
}

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let first = id.x * side + id.y;
    let a = source[first];
    let b = source[first + side / 4u];
    let c = source[first + side / 2u];
    let d = source[first + side / 4u * 3u];
    let start = id.y * side + id.x;
    destination[start] = halves(a.x, b.x, c.x, d.x);
    destination[start + side / 4u] = halves(a.y, b.y, c.y, d.y);
    destination[start + side / 2u] = halves(a.z, b.z, c.z, d.z);
    destination[start + side / 4u * 3u] = halves(a.w, b.w, c.w, d.w);
}";

/// Each invocation copies a square of four by four words, which is fast on llvmpipe.
const COPY_BLOCKS: &str = "
override side: u32;
@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> destination: array<vec4<u32>>;

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let first = id.x * side + id.y;
    let a = source[first];
    let b = source[first + side / 4u];
    let c = source[first + side / 2u];
    let d = source[first + side / 4u * 3u];
    let row = side / 16u * 3u;
    let start = id.y * 4u * row + id.x;
    destination[start] = vec4<u32>(a.x, b.x, c.x, d.x);
    destination[start + row] = vec4<u32>(a.y, b.y, c.y, d.y);
    destination[start + 2u * row] = vec4<u32>(a.z, b.z, c.z, d.z);
    destination[start + 3u * row] = vec4<u32>(a.w, b.w, c.w, d.w);
}";

/// Work that is timed.
enum Work {
    Cast(Vec<Bound>),
    Copy(wgpu::ComputePipeline, wgpu::BindGroup, [u32; 2]),
}

struct Bench<'a> {
    device: &'a wgpu::Device,
    caster: &'a Caster,
    source: wgpu::Buffer,
    destination: wgpu::Buffer,
    side: u64,
    works: Vec<(&'static str, Work, Vec<f64>)>,
}

fn main() {
    let context = pollster::block_on(Context::open(DeviceChoice::Gpu)).expect("an adapter");
    let (Some(device), Some(queue), Some(caster), Some(info)) =
        (context.device(), context.queue(), context.caster(), context.adapter_info())
    else {
        unreachable!("the context has a device");
    };
    let size = |side: u64| 4 * (side + 8) * (side + 8);
    let limits = device.limits();
    let is_large = info.device_type != wgpu::DeviceType::Cpu
        && size(SIDES[1]) <= limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
    let (side, times) = if is_large { (SIDES[1], TIMES) } else { (SIDES[0], 1) };
    let size = size(side);
    let buffer =
        |usage| device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    let source = buffer(BufferUsages::STORAGE | BufferUsages::COPY_DST);
    let numbers: Vec<u8> = (0..size as u32).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
    queue.write_buffer(&source, 0, &numbers);
    let destination = buffer(BufferUsages::STORAGE);
    let mut bench = Bench { device, caster, source, destination, side, works: Vec::new() };

    let groups = |of: u64| [side as u32 / 4 * 3 / of as u32, side as u32 / of as u32];
    bench.copy("copy, dense", COPY_DENSE, [(side * side / 4 * 3 / 1024) as u32, 1]);
    bench.copy("copy, transposed, words", COPY_WORDS, groups(16));
    bench.copy("copy, transposed, workgroup memory", COPY_TILES, groups(32));
    bench.copy("copy, transposed, blocks", COPY_BLOCKS, groups(32));
    bench.copy("copy of low halves, transposed, blocks", MOVE_BLOCKS, [side as u32 / 32; 2]);
    let dense = bench.caster.prepare(&spec(), side * side).expect("a plan");
    bench.cast("cast, dense", &dense);
    let short = [side, side - 1];
    let (pitch, columns) = (side as i64, side as i64 - 1);
    bench.view("cast, shorter rows from a pitch", &View::new(&short).with_source_strides(&[pitch, 1]));
    bench.view("cast, shorter rows to a pitch", &View::new(&short).with_destination_strides(&[pitch, 1]));
    bench.rows("cast, shorter rows, a cast per row");
    bench.view("cast, rows upwards", &View::new(&[side; 2]).with_source_strides(&[-pitch, 1]));
    bench.view("cast, transposed", &View::new(&[side; 2]).with_source_strides(&[1, pitch]));
    bench.view("cast, transposed, one less by one less", &View::new(&[side - 1; 2]).with_source_strides(&[1, columns]));
    bench.view("cast, every second element", &View::new(&[side * side / 2]).with_source_strides(&[2]));
    bench.view("cast, one row repeated", &View::new(&[side; 2]).with_source_strides(&[0, 1]));

    let clock = Clock::new(device, queue);
    for _ in 0..ROUNDS + 2 {
        bench.round(&clock, times);
    }
    bench.print(&info.name, clock.name());
}

fn spec() -> CastSpec {
    CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16)
}

impl Bench<'_> {
    fn copy(&mut self, name: &'static str, wgsl: &str, workgroups: [u32; 2]) {
        let source = wgpu::ShaderSource::Wgsl(wgsl.into());
        let descriptor = wgpu::ShaderModuleDescriptor { label: Some(name), source };
        // As in the modules of casts, indices are not checked.
        #[allow(unsafe_code, reason = "wgpu's trusted shader modules are unsafe: see SAFETY")]
        // SAFETY: the numbers of workgroups and the sizes of the buffers suit the indices.
        let module =
            unsafe { self.device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked()) };
        let side = [("side", self.side as f64)];
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                constants: if wgsl.contains("override side") { &side } else { &[] },
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

    /// Casts the rows of a matrix one by one, each after the one before.
    fn rows(&mut self, name: &'static str) {
        let prepared = self.caster.prepare(&spec(), self.side - 1).expect("a plan");
        let row = |row| self.bind(&prepared, row * self.side * 4, row * (self.side - 1) * 2);
        let bounds = (0..self.side).map(row).collect();
        self.works.push((name, Work::Cast(bounds), Vec::new()));
    }

    fn bind(&self, prepared: &Prepared, from: u64, to: u64) -> Bound {
        let source = self.source.slice(from..from + prepared.source_bytes());
        let destination = self.destination.slice(to..to + prepared.destination_bytes());
        prepared.bind(Source::whole(source), Destination::whole(destination)).expect("slices")
    }

    /// Does each work `times` times, and notes the milliseconds of one.
    fn round(&mut self, clock: &Clock<'_>, times: usize) {
        for (_, work, figures) in &mut self.works {
            let work = &*work;
            // A work of many casts takes long enough by itself.
            let times = if matches!(work, Work::Cast(bounds) if bounds.len() > 1) { 1 } else { times };
            let record: Record<'_> = &|pass| {
                for _ in 0..times {
                    match work {
                        Work::Cast(bounds) => Bound::record_all_in_pass(bounds.iter(), pass),
                        Work::Copy(pipeline, group, [x, y]) => {
                            pass.set_pipeline(pipeline);
                            pass.set_bind_group(0, group, &[]);
                            pass.dispatch_workgroups(*x, *y, 1);
                        }
                    }
                }
            };
            let [seconds] = clock.time([record]).expect("the device answers");
            figures.push(seconds * 1e3 / times as f64);
        }
    }

    fn print(mut self, adapter: &str, clock: &str) {
        let side = self.side;
        println!("{} Mi elements of FLOAT to FLOAT16, {side} rows of {side}, on {adapter}", (side * side) >> 20);
        println!(
            "milliseconds by {clock}, medians of {ROUNDS} runs (fastest to slowest), and the speed of the dense cast"
        );
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
