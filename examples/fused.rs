//! A cast inside a kernel of your own: a matrix-vector product that decodes its FLOAT8E4M3FN weights where it uses
//! them. The program compares it with the same product of weights that were cast to FLOAT before. A second product has
//! MXFP4 weights: blocks of 32 FLOAT4E2M1 elements, each with a FLOAT8E8M0 scale.
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

/// The elements of MXFP4 that share a scale.
const BLOCK: usize = 32;

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
    let factors: Vec<f32> = (0..COLUMNS).map(|i| (i as f32 * 0.11).cos()).collect();
    let x = gpu.buffer(bytemuck::cast_slice(&factors));
    let [y, y_float] = [4 * ROWS, 4 * ROWS].map(|bytes| gpu.empty(bytes));
    let [decoded, floats] = [4 * WEIGHTS, 4 * WEIGHTS].map(|bytes| gpu.empty(bytes));

    // The fused kernel. A word holds four weights, and the function gives their values.
    let mut functions = Functions::new("w")?;
    let decode = functions.decode_word(ElementType::FLOAT8E4M3FN)?;
    let word = format!("{}(weights[i])", decode.name());
    let fused = gpu.kernel(&product(functions.wgsl(), "u32", &format!("dot({word}, x[k])"), COLUMNS / 4));
    let fused_group = gpu.group(&fused, &[&weights, &x, &y]);
    // The same kernel for FLOAT weights, and their cast.
    let plain = gpu.kernel(&product("", "vec4<f32>", "dot(weights[i], x[k])", COLUMNS / 4));
    let plain_group = gpu.group(&plain, &[&floats, &x, &y_float]);
    let spec = CastSpec::new(ElementType::FLOAT8E4M3FN, ElementType::FLOAT);
    let prepared = Caster::new(&gpu.device).prepare(&spec, WEIGHTS as u64)?;
    let cast = prepared.bind(Source::whole(weights.slice(..)), Destination::whole(floats.slice(..)))?;
    // Stores the values of the function, only to compare them with the cast.
    let all = gpu.kernel(&decoding(functions.wgsl(), &format!("decoded[i] = {word};")));
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
    compare(&gpu.read(&y)?, &gpu.read(&y_float)?)?;
    mxfp4(&gpu, &values, &factors, &x)?;

    writeln!(output, "{ROWS} x {COLUMNS} weights of {} on {}", spec.from, adapter.get_info().name)?;
    writeln!(output, "the decoded weights have the bits of the cast; the sums agree; so do those of MXFP4")?;
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

/// Compares sums. Drivers may contract and reorder float operations differently in two kernels.
fn compare(fused: &[u8], expected: &[u8]) -> Result<(), Box<dyn Error>> {
    let (fused, expected): (&[f32], &[f32]) = (bytemuck::cast_slice(fused), bytemuck::cast_slice(expected));
    let unequal = |(a, b): (&f32, &f32)| !relative_eq!(*a, *b, epsilon = 1e-3, max_relative = 1e-4);
    match fused.iter().zip(expected).position(unequal) {
        Some(row) => Err(format!("row {row}: {} with fused weights, expected {}", fused[row], expected[row]).into()),
        None => Ok(()),
    }
}

/// The product of MXFP4 weights, compared with `cpu::cast_scaled`. A product of an element and a power of two is exact.
fn mxfp4(gpu: &Gpu, values: &Tensor, factors: &[f32], x: &Buffer) -> Result<(), Box<dyn Error>> {
    // The elements, and a scale from 2^-7 to 2^5 for each block of a row.
    let codes = cpu::cast(values, ElementType::FLOAT4E2M1, &CastOptions::default())?;
    let codes = codes.bytes().ok_or("no bytes")?;
    let exponents: Vec<u8> = (0..WEIGHTS / BLOCK).map(|i| 120 + (i % 13) as u8).collect();
    let scales: Vec<f32> = exponents.iter().map(|&code| f32::from_bits(u32::from(code) << 23)).collect();
    let scales = cpu::Scales::new(&[ROWS, COLUMNS], &[1, BLOCK], &scales)?;
    let mut floats = vec![0; 4 * WEIGHTS];
    let spec = CastSpec::new(ElementType::FLOAT4E2M1, ElementType::FLOAT);
    cpu::cast_scaled(&spec, &scales, codes, &mut floats)?;

    // A word holds eight elements, so that four words share a scale.
    let mut functions = Functions::new("mx")?;
    let decode = functions.decode_word(spec.from)?;
    let scale = functions.load_value(ElementType::FLOAT8E8M0, "scales")?;
    let module = |binding: u32| {
        format!(
            "{}
@group(0) @binding({binding}) var<storage, read> scales: array<u32>;

fn scaled(i: u32) -> array<vec4<f32>, 2> {{
    let values = {}(weights[i]);
    let scale = {}(i / 4u);
    return array<vec4<f32>, 2>(scale * values[0], scale * values[1]);
}}
",
            functions.wgsl(),
            decode.name(),
            scale.name()
        )
    };
    let (weights, scales) = (gpu.buffer(codes), gpu.buffer(&exponents));
    let (y, decoded) = (gpu.empty(4 * ROWS), gpu.empty(4 * WEIGHTS));
    let term = "dot(scaled(i)[0], x[2u * k]) + dot(scaled(i)[1], x[2u * k + 1u])";
    let fused = gpu.kernel(&product(&module(3), "u32", term, COLUMNS / 8));
    let fused_group = gpu.group(&fused, &[&weights, x, &y, &scales]);
    let store = "let values = scaled(i);\n    decoded[2u * i] = values[0];\n    decoded[2u * i + 1u] = values[1];";
    let all = gpu.kernel(&decoding(&module(2), store));
    let all_group = gpu.group(&all, &[&weights, &decoded, &scales]);
    gpu.time(&|pass| {
        dispatch(pass, &fused, &fused_group, ROWS as u32);
        dispatch(pass, &all, &all_group, (WEIGHTS / 8 / 256) as u32);
    })?;
    if gpu.read(&decoded)? != floats {
        return Err("the scaled weights differ from the cast ones".into());
    }
    let floats: Vec<f32> = bytemuck::pod_collect_to_vec(&floats);
    let sum = |row: &[f32]| row.iter().zip(factors).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>() as f32;
    let sums: Vec<f32> = floats.chunks(COLUMNS).map(sum).collect();
    compare(&gpu.read(&y)?, bytemuck::cast_slice(&sums))
}

/// A matrix-vector product; a workgroup computes one row. `term` is the part of the sum of the weights at index `i`, which
/// is index `k` in its row of `words`.
fn product(functions: &str, element: &str, term: &str, words: usize) -> String {
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
        sum = sum + {term};
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
"
    )
}

/// Decodes all weights, a word for each invocation. `store` stores the values of the word at index `i`.
fn decoding(functions: &str, store: &str) -> String {
    format!(
        "{functions}
@group(0) @binding(0) var<storage, read> weights: array<u32>;
@group(0) @binding(1) var<storage, read_write> decoded: array<vec4<f32>>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    let i = id.x;
    {store}
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
