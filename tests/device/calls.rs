//! Kernels that call functions of `wgsl::Functions`, one part for each way to call them.

use std::fmt::LowerHex;

use support::buffers::{buffer, pipeline, read};
use support::{adapter, cases};
use wgpu_cast::wgsl::Type;
use wgpu_cast::{ElementType, wgpu};

/// A device, with `f16` if the adapter has it.
pub struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
}

impl Gpu {
    pub fn open() -> Self {
        let adapter = adapter::own();
        let required_features = adapter.features() & wgpu::Features::SHADER_F16;
        let descriptor = wgpu::DeviceDescriptor { required_features, ..Default::default() };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).unwrap();
        Self { device, queue }
    }

    pub fn has_f16(&self) -> bool {
        self.device.features().contains(wgpu::Features::SHADER_F16)
    }

    /// Runs a kernel with the words in binding 0 and the results in binding 1, over `workgroups` in x and y. All bits
    /// of the results are set before.
    pub fn run(&self, wgsl: &str, source: &[u32], results: usize, workgroups: (usize, usize)) -> Vec<u32> {
        let Self { device, queue } = self;
        let pipeline = pipeline(device, wgsl);
        let [input, output] = [source.len(), results].map(|words| buffer(device, 4 * words as u64));
        queue.write_buffer(&input, 0, bytemuck::cast_slice(source));
        queue.write_buffer(&output, 0, &vec![0xff; 4 * results]);
        let layout = pipeline.get_bind_group_layout(0);
        let entries = [(0, &input), (1, &output)]
            .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() });
        let group =
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries });
        let mut encoder = device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(workgroups.0 as u32, workgroups.1 as u32, 1);
        }
        words(&read(device, queue, encoder, &output))
    }
}

/// The most codes of a run: all codes of 16 bits.
const CODES: usize = 1 << 16;

/// Hard codes of a type: at most [`CODES`] codes, and a multiple of 64. Types of at most 16 bits have every code.
pub fn codes(element_type: ElementType) -> Vec<u64> {
    let all = cases::codes(element_type);
    let some = all.iter().step_by(all.len().div_ceil(CODES));
    let count = some.len().next_multiple_of(64);
    some.cycle().take(count).copied().collect()
}

pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// The types of the elements of the arrays `source` and `result` of a kernel.
pub struct Arrays<'a> {
    pub source: &'a str,
    pub result: &'a str,
}

/// A kernel of 64 invocations a workgroup. Each row of workgroups does one of the parts, for the element or the word
/// `i`. The part's results start at `at`. Every invocation does the lines of `start` first.
pub fn kernel(functions: &str, arrays: &Arrays<'_>, start: &str, parts: &[String], size: usize) -> String {
    let cases = parts.iter().enumerate().map(|(i, part)| format!("        case {i}u: {{\n{part}\n        }}\n"));
    format!(
        "{functions}
@group(0) @binding(0) var<storage, read> source: array<{}>;
@group(0) @binding(1) var<storage, read_write> result: array<{}>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {{
    {start}
    let i = id.x;
    let at = group.y * {size}u;
    switch group.y {{
{}        default: {{}}
    }}
}}
",
        arrays.source,
        arrays.result,
        cases.collect::<String>()
    )
}

pub fn first_wrong<T: PartialEq + LowerHex>(got: &[T], expected: &[T], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    if let Some(i) = (0..got.len()).find(|&i| got[i] != expected[i]) {
        panic!("{what}: element {i} is {:x}, expected {:x}", got[i], expected[i]);
    }
}

/// The word `i` of a type, or three words of a 6-bit type, and the number of codes in it.
pub fn word(element_type: ElementType) -> (&'static str, u32) {
    match element_type.bits().unwrap() {
        6 => ("vec3<u32>(source[3u * i], source[3u * i + 1u], source[3u * i + 2u])", 16),
        bits => ("source[i]", 32 / bits),
    }
}

/// Lines that store, one by one, the `count` values of a call for the `i`-th argument. The arguments together cover
/// `codes` codes. `stored` is what makes a value the word that is stored, such as `bitcast<u32>`.
pub fn by_count(call: &str, count: u32, codes: usize, stored: &str) -> String {
    let value = |k: u32| {
        let component = ["x", "y", "z", "w"][k as usize % 4];
        if count <= 4 { format!("v.{component}") } else { format!("v[{}].{component}", k / 4) }
    };
    let stores =
        (0..count).map(|k| format!("                result[at + i * {count}u + {k}u] = {stored}({});\n", value(k)));
    format!(
        "            if (i < {codes}u / {count}u) {{\n                let v = {call};\n{}            }}",
        stores.collect::<String>()
    )
}

/// The `i`-th value of the type `kind`, which holds `count` source values. `value` is the expression of the source
/// value at an index.
pub fn values(kind: Type, count: u32, value: impl Fn(&str) -> String) -> String {
    let values: Vec<_> = (0..count).map(|k| value(&format!("i * {count}u + {k}u"))).collect();
    if count <= 4 {
        return format!("{kind}({})", values.join(", "));
    }
    let scalar = if kind.wgsl().contains("f16") { "f16" } else { "f32" };
    let vectors: Vec<_> = values.chunks(4).map(|four| format!("vec4<{scalar}>({})", four.join(", "))).collect();
    format!("{kind}({})", vectors.join(", "))
}
