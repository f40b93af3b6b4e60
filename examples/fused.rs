//! A cast inside a kernel of your own: a matrix-vector product that decodes its FLOAT8E4M3FN weights where it uses
//! them. The program compares it with the same product of weights that were cast to FLOAT before.
//!
//! ```sh
//! cargo run --release --example fused
//! ```

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use approx::relative_eq;
use wgpu_cast::wgpu::{self, Buffer, BufferUsages};
use wgpu_cast::wgsl::Functions;
use wgpu_cast::{CastOptions, CastSpec, Caster, Destination, ElementType, Source, Tensor, cpu};

const ROWS: usize = 1024;
const COLUMNS: usize = 4096;
const WEIGHTS: usize = ROWS * COLUMNS;

/// How many times each way is timed.
const RUNS: usize = 10;

/// Public because a test calls it, as `run` is.
pub fn main() -> ExitCode {
    match run(&mut std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fused: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the results and the times.
pub fn run(output: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let instance = wgpu::Instance::default();
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))
        .map_err(|error| format!("no GPU adapter ({error}); a software one, such as Mesa's llvmpipe, is enough"))?;
    let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default()))?;
    let gpu = Gpu { device, queue };

    // The weights of a model, a byte for each.
    let values: Vec<f32> = (0..WEIGHTS).map(|i| (i as f32 * 0.37).sin() * 0.25).collect();
    let values = Tensor::from_slice([ROWS, COLUMNS], &values)?;
    let weights = cpu::cast(&values, ElementType::FLOAT8E4M3FN, &CastOptions::default())?;
    let weights = gpu.buffer(weights.bytes().ok_or("no bytes")?);
    let x: Vec<f32> = (0..COLUMNS).map(|i| (i as f32 * 0.11).cos()).collect();
    let x = gpu.buffer(bytemuck::cast_slice(&x));
    let [y, y_float] = [4 * ROWS, 4 * ROWS].map(|bytes| gpu.empty(bytes));
    let [decoded, floats] = [4 * WEIGHTS, 4 * WEIGHTS].map(|bytes| gpu.empty(bytes));

    // The fused kernel. A word holds four weights, and the function gives their values.
    let mut functions = Functions::new("w")?;
    let decode = functions.decode_word(ElementType::FLOAT8E4M3FN)?;
    let word = format!("{}(weights[i])", decode.name());
    let fused = gpu.kernel(&product(functions.wgsl(), "u32", &word));
    let fused_group = gpu.group(&fused, &[&weights, &x, &y]);
    // The same kernel for FLOAT weights, and their cast.
    let plain = gpu.kernel(&product("", "vec4<f32>", "weights[i]"));
    let plain_group = gpu.group(&plain, &[&floats, &x, &y_float]);
    let spec = CastSpec::new(ElementType::FLOAT8E4M3FN, ElementType::FLOAT);
    let prepared = Caster::new(&gpu.device).prepare(&spec, WEIGHTS as u64)?;
    let cast = prepared.bind(Source::whole(weights.slice(..)), Destination::whole(floats.slice(..)))?;
    // Stores the values of the function, only to compare them with the cast.
    let all = gpu.kernel(&decoding(functions.wgsl(), &word));
    let all_group = gpu.group(&all, &[&weights, &decoded]);

    let rows = ROWS as u32;
    let record_fused = |pass: &mut wgpu::ComputePass<'_>| dispatch(pass, &fused, &fused_group, rows);
    let record_plain = |pass: &mut wgpu::ComputePass<'_>| dispatch(pass, &plain, &plain_group, rows);
    let record_cast = |pass: &mut wgpu::ComputePass<'_>| cast.record_in_pass(pass);
    gpu.time(&|pass| {
        record_cast(pass);
        record_plain(pass);
        record_fused(pass);
        dispatch(pass, &all, &all_group, (WEIGHTS / 4 / 256) as u32);
    })?;

    if gpu.read(&decoded)? != gpu.read(&floats)? {
        return Err("the decoded weights differ from the cast ones".into());
    }
    // Drivers may contract and reorder float operations differently in the two kernels.
    let (one, other) = (gpu.read(&y)?, gpu.read(&y_float)?);
    let (one, other): (&[f32], &[f32]) = (bytemuck::cast_slice(&one), bytemuck::cast_slice(&other));
    let unequal = |(a, b): (&f32, &f32)| !relative_eq!(*a, *b, epsilon = 1e-3, max_relative = 1e-4);
    if let Some(row) = one.iter().zip(other).position(unequal) {
        return Err(format!("row {row}: {} with fused weights, {} with cast ones", one[row], other[row]).into());
    }

    writeln!(output, "{ROWS} x {COLUMNS} weights of {} on {}", spec.from, adapter.get_info().name)?;
    writeln!(output, "the decoded weights have the bits of the cast; the sums agree")?;
    let ways: [(&str, &Record<'_>); 3] = [
        ("decoded in the product", &record_fused),
        ("cast, then the product", &|pass| {
            record_cast(pass);
            record_plain(pass);
        }),
        ("the product of FLOAT weights alone", &record_plain),
    ];
    for (name, record) in ways {
        let mut times = (0..RUNS).map(|_| gpu.time(record)).collect::<Result<Vec<_>, _>>()?;
        times.sort();
        writeln!(output, "{:8.3} ms  {name}", times[RUNS / 2].as_secs_f64() * 1e3)?;
    }
    Ok(())
}

/// A matrix-vector product; a workgroup computes one row. `value` is the expression of the four weights at index `i`.
fn product(functions: &str, element: &str, value: &str) -> String {
    format!(
        "{functions}
@group(0) @binding(0) var<storage, read> weights: array<{element}>;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

var<workgroup> sums: array<f32, 64>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {{
    let row = group.x;
    var sum = 0.0;
    for (var k = local; k < {words}u; k = k + 64u) {{
        let i = row * {words}u + k;
        sum = sum + dot({value}, x[k]);
    }}
    sums[local] = sum;
    for (var half = 32u; half > 0u; half = half >> 1u) {{
        workgroupBarrier();
        if (local < half) {{
            sums[local] = sums[local] + sums[local + half];
        }}
    }}
    if (local == 0u) {{
        y[row] = sums[0];
    }}
}}
",
        words = COLUMNS / 4
    )
}

/// Decodes all weights, four for each invocation.
fn decoding(functions: &str, value: &str) -> String {
    format!(
        "{functions}
@group(0) @binding(0) var<storage, read> weights: array<u32>;
@group(0) @binding(1) var<storage, read_write> decoded: array<vec4<f32>>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    let i = id.x;
    decoded[i] = {value};
}}
"
    )
}

type Record<'a> = dyn Fn(&mut wgpu::ComputePass<'_>) + 'a;

fn dispatch(
    pass: &mut wgpu::ComputePass<'_>,
    pipeline: &wgpu::ComputePipeline,
    group: &wgpu::BindGroup,
    workgroups: u32,
) {
    pass.set_pipeline(pipeline);
    pass.set_bind_group(0, group, &[]);
    pass.dispatch_workgroups(workgroups, 1, 1);
}

struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
}

impl Gpu {
    fn empty(&self, bytes: usize) -> Buffer {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let descriptor = wgpu::BufferDescriptor { label: None, size: bytes as u64, usage, mapped_at_creation: false };
        self.device.create_buffer(&descriptor)
    }

    fn buffer(&self, bytes: &[u8]) -> Buffer {
        let buffer = self.empty(bytes.len());
        self.queue.write_buffer(&buffer, 0, bytes);
        buffer
    }

    fn kernel(&self, wgsl: &str) -> wgpu::ComputePipeline {
        let source = wgpu::ShaderSource::Wgsl(wgsl.into());
        let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
        self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        })
    }

    fn group(&self, pipeline: &wgpu::ComputePipeline, buffers: &[&Buffer]) -> wgpu::BindGroup {
        let bindings = buffers.iter().map(|buffer| buffer.as_entire_binding());
        let entries: Vec<_> =
            (0..).zip(bindings).map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource }).collect();
        let layout = pipeline.get_bind_group_layout(0);
        self.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries })
    }

    /// Submits what is recorded in one pass, and waits.
    fn time(&self, record: &Record<'_>) -> Result<Duration, wgpu::PollError> {
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        record(&mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()));
        let commands = encoder.finish();
        let start = Instant::now();
        self.queue.submit([commands]);
        self.device.poll(wgpu::PollType::wait_indefinitely())?;
        Ok(start.elapsed())
    }

    fn read(&self, buffer: &Buffer) -> Result<Vec<u8>, Box<dyn Error>> {
        let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
        let size = buffer.size();
        let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
        let staging = self.device.create_buffer(&descriptor);
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, size);
        self.queue.submit([encoder.finish()]);
        staging.slice(..).map_async(wgpu::MapMode::Read, |_| {});
        self.device.poll(wgpu::PollType::wait_indefinitely())?;
        Ok(staging.slice(..).get_mapped_range()?.to_vec())
    }
}
