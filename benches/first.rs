//! The first cast on a new device, beside a kernel as an engine writes one by hand: text, module, pipeline, bind group,
//! dispatch, and the wait for the result.
//!
//! Both run in turns, each time on a new device of the best adapter, since drivers may keep pipelines as long as a device
//! exists. A figure is the median of 21 runs, in microseconds, and a ratio the median of the runs' ratios. The kernels by
//! hand give the same bits for the values of this bench. They do less: most give NaN and infinity other codes, and all of
//! them cast whole buffers only.
//!
//! Some drivers keep compiled kernels on the disk; the command below disables that for Mesa's.
//!
//! ```sh
//! MESA_SHADER_CACHE_DISABLE=true cargo bench --bench first
//! ```

#![allow(missing_docs, reason = "a program")]

use std::time::Instant;

use support::buffers;
use support::decoders;
use wgpu_cast::wgpu;
use wgpu_cast::{CastSpec, Caster, Destination, ElementType, Source};

const RUNS: usize = 21;
/// A multiple of what an invocation of each kernel casts. Our kernel for it casts a multiple of that, too.
const ELEMENTS: u64 = 1 << 16;

/// A kernel by hand: what precedes `main`, the types of the elements of both arrays, and the body of `main`.
struct ByHand {
    from: ElementType,
    to: ElementType,
    declarations: String,
    arrays: [&'static str; 2],
    body: &'static str,
    /// The elements that an invocation casts.
    each: u64,
}

fn by_hand() -> Vec<ByHand> {
    use ElementType::{BFLOAT16, FLOAT, FLOAT8E4M3FN, FLOAT16, INT32, INT64};
    let float8 = decoders::all().into_iter().find(|d| d.element_type == FLOAT8E4M3FN && !d.wrong.is_empty());
    vec![
        ByHand {
            from: FLOAT,
            to: FLOAT16,
            declarations: String::new(),
            arrays: ["vec4<f32>", "vec2<u32>"],
            body: "let x = source[i]; destination[i] = vec2<u32>(pack2x16float(x.xy), pack2x16float(x.zw));",
            each: 4,
        },
        ByHand {
            from: FLOAT,
            to: BFLOAT16,
            declarations: "fn round(x: vec4<u32>) -> vec4<u32> { return (x + 0x7fffu + ((x >> vec4(16u)) & vec4(1u))) >> vec4(16u); }".into(),
            arrays: ["vec4<u32>", "vec2<u32>"],
            body: "let x = round(source[i]); destination[i] = vec2<u32>(x.x | (x.y << 16u), x.z | (x.w << 16u));",
            each: 4,
        },
        ByHand {
            from: FLOAT,
            to: FLOAT8E4M3FN,
            declarations: FLOAT8.into(),
            arrays: ["vec4<f32>", "u32"],
            body: "let x = source[i]; \
                   destination[i] = encode(x.x) | (encode(x.y) << 8u) | (encode(x.z) << 16u) | (encode(x.w) << 24u);",
            each: 4,
        },
        ByHand {
            from: FLOAT8E4M3FN,
            to: FLOAT,
            declarations: float8.expect("a decoder by hand").wgsl,
            arrays: ["u32", "vec4<f32>"],
            body: "destination[i] = decode(source[i]);",
            each: 4,
        },
        ByHand {
            from: INT64,
            to: INT32,
            declarations: String::new(),
            arrays: ["vec4<u32>", "vec2<u32>"],
            body: "destination[i] = source[i].xz;",
            each: 2,
        },
    ]
}

/// Numbers to their magnitude's 8 bits, to nearest even, at most 448.
const FLOAT8: &str = "
fn encode(x: f32) -> u32 {
    let code = bitcast<u32>(x);
    let sign = (code >> 24u) & 0x80u;
    let magnitude = code & 0x7fffffffu;
    if (magnitude > 0x7f800000u) { return sign | 0x7fu; }
    if (magnitude < 0x3c800000u) { return sign | u32(round(abs(x) * 512.0)); }
    let rounded = (magnitude + 0x7ffffu + ((magnitude >> 20u) & 1u)) >> 20u;
    return sign | min(rounded - 960u, 0x7eu);
}
";

impl ByHand {
    fn wgsl(&self) -> String {
        let [source, destination] = self.arrays;
        format!(
            "@group(0) @binding(0) var<storage, read> source: array<{source}>;
@group(0) @binding(1) var<storage, read_write> destination: array<{destination}>;
{}
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    let i = id.x;
    if (i >= arrayLength(&source)) {{ return; }}
    {}
}}
",
            self.declarations, self.body
        )
    }

    fn record(&self, device: &wgpu::Device, tensors: &[wgpu::Buffer; 2], encoder: &mut wgpu::CommandEncoder) {
        let pipeline = buffers::pipeline(device, &self.wgsl());
        let entry =
            |binding: u32| wgpu::BindGroupEntry { binding, resource: tensors[binding as usize].as_entire_binding() };
        let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[entry(0), entry(1)],
        });
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &bind_group, &[]);
        pass.dispatch_workgroups(ELEMENTS.div_ceil(256 * self.each) as u32, 1, 1);
    }
}

fn ours(spec: &CastSpec, device: &wgpu::Device, tensors: &[wgpu::Buffer; 2], encoder: &mut wgpu::CommandEncoder) {
    let prepared = Caster::new(device).prepare(spec, ELEMENTS).expect("a plan");
    let [source, destination] = tensors.each_ref().map(|buffer| buffer.slice(..));
    prepared.record(encoder, Source::whole(source), Destination::whole(destination)).expect("slices");
}

/// Codes of ordinary numbers, of which some are too large for FLOAT8E4M3FN and some subnormal there.
fn codes(from: ElementType) -> Vec<u8> {
    let numbers = (0..ELEMENTS).map(|i| (i as f32 * 0.37).sin() * [0.01, 1.0, 30.0, 600.0][i as usize % 4]);
    match from {
        ElementType::FLOAT => numbers.flat_map(f32::to_le_bytes).collect(),
        ElementType::INT64 => (0..ELEMENTS).flat_map(|i| (i as i64 * 77_777 - 9).to_le_bytes()).collect(),
        // Without NaN.
        _ => (0..ELEMENTS).map(|i| (i % 127) as u8 | (i as u8 & 0x80)).collect(),
    }
}

/// The times until the commands are submitted and until the result is there, in microseconds, and the result.
fn first(
    adapter: &wgpu::Adapter,
    spec: &CastSpec,
    source: &[u8],
    record: impl FnOnce(&wgpu::Device, &[wgpu::Buffer; 2], &mut wgpu::CommandEncoder),
) -> ([f64; 2], Vec<u8>) {
    let (device, queue) = pollster::block_on(adapter.request_device(&Default::default())).expect("a device");
    let size = |element_type: ElementType| element_type.packed_bytes(ELEMENTS).expect("a size");
    let tensors = [spec.from, spec.to].map(|element_type| buffers::buffer(&device, size(element_type)));
    queue.write_buffer(&tensors[0], 0, source);
    let wait = |index| {
        let poll = wgpu::PollType::Wait { submission_index: Some(index), timeout: None };
        device.poll(poll).expect("the device answers");
    };
    wait(queue.submit([]));
    let start = Instant::now();
    let mut encoder = device.create_command_encoder(&Default::default());
    record(&device, &tensors, &mut encoder);
    let index = queue.submit([encoder.finish()]);
    let submitted = start.elapsed();
    wait(index);
    let times = [submitted, start.elapsed()].map(|time| time.as_secs_f64() * 1e6);
    (times, buffers::read(&device, &queue, device.create_command_encoder(&Default::default()), &tensors[1]))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let adapter = support::adapter::own();
    let info = adapter.get_info();
    println!("{} ({:?}), {ELEMENTS} elements, medians of {RUNS} runs, microseconds", info.name, info.backend);
    println!("{:24} | {:^29} | {:^29} |", "", "until submitted", "until the result is there");
    let columns = format!("{:>9} {:>10} {:>8}", "wgpu-cast", "by hand", "ratio");
    println!("{:24} | {columns} | {columns} | lines of WGSL", "");
    for kernel in by_hand() {
        let spec = CastSpec::new(kernel.from, kernel.to);
        let source = codes(kernel.from);
        let runs: Vec<[[f64; 2]; 2]> = (0..RUNS)
            .map(|_| {
                let (own, result) = first(&adapter, &spec, &source, |device, tensors, encoder| {
                    ours(&spec, device, tensors, encoder);
                });
                let (hand, expected) = first(&adapter, &spec, &source, |device, tensors, encoder| {
                    kernel.record(device, tensors, encoder);
                });
                assert_eq!(result, expected, "{} to {}", kernel.from, kernel.to);
                [own, hand]
            })
            .collect();
        let columns = [0, 1].map(|phase| {
            let of = |side: usize| median(runs.iter().map(|run| run[side][phase]).collect());
            let ratio = median(runs.iter().map(|[own, hand]| own[phase] / hand[phase]).collect());
            format!("{:9.0} {:10.0} {ratio:8.2}", of(0), of(1))
        });
        let text = wgpu_cast::wgsl::kernel(&spec, wgpu_cast::wgsl::KernelVariant::Computed).expect("a kernel");
        let lines = [text.wgsl(), &kernel.wgsl()].map(|text| text.lines().count());
        let pair = format!("{} to {}", kernel.from, kernel.to);
        println!("{pair:24} | {} | {} | {}, {}", columns[0], columns[1], lines[0], lines[1]);
    }
}
