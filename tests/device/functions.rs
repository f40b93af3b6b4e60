//! Casts as WGSL functions in kernels of a caller: every function gives the bits of the CPU path.

use std::collections::BTreeSet;

use support::buffers::{buffer, pipeline, read};
use support::options::variants;
use support::{adapter, cases, decoders, numeric};
use wgpu_cast::wgpu;
use wgpu_cast::wgsl::Functions;
use wgpu_cast::{CastOptions, CastSpec, Context, ElementType, Tensor, cpu};

/// Every function from each type and to it.
fn every_type(first: usize) {
    let context = adapter::open();
    for element_type in numeric().skip(first).step_by(4) {
        casts(&context, element_type);
        decoding(&context, element_type);
        encoding(&context, element_type);
    }
}

// Four tests, which run side by side.

#[test]
fn every_fourth_type() {
    every_type(0);
}

#[test]
fn every_fourth_type_from_the_second() {
    every_type(1);
}

#[test]
fn every_fourth_type_from_the_third() {
    every_type(2);
}

#[test]
fn every_fourth_type_from_the_fourth() {
    every_type(3);
}

/// The most codes of a run: all codes of 16 bits.
const CODES: usize = 1 << 16;

/// Hard codes of a type, at most [`CODES`] of them and a multiple of 64; of types of at most 16 bits every code.
fn codes(element_type: ElementType) -> Vec<u64> {
    let all = cases::codes(element_type);
    let some = all.iter().step_by(all.len().div_ceil(CODES));
    let count = some.len().next_multiple_of(64);
    some.cycle().take(count).copied().collect()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Runs a kernel whose binding 0 has the words and binding 1 the results, over `workgroups` in x and y. The results are
/// full of ones before.
fn run(context: &Context, wgsl: &str, source: &[u32], results: usize, workgroups: (usize, usize)) -> Vec<u32> {
    let (device, queue) = (context.device().unwrap(), context.queue().unwrap());
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

/// A kernel of 64 invocations a workgroup. The row of workgroups says which of the parts it does, for the element or
/// the word `i`; `at` is where the part's results start. Every invocation does the lines of `start` first.
fn kernel(functions: &str, results: &str, start: &str, parts: &[String], size: usize) -> String {
    let cases = parts.iter().enumerate().map(|(i, part)| format!("        case {i}u: {{\n{part}\n        }}\n"));
    format!(
        "{functions}
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> result: array<{results}>;

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
        cases.collect::<String>()
    )
}

fn first_wrong<T: PartialEq + std::fmt::LowerHex>(got: &[T], expected: &[T], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    if let Some(i) = (0..got.len()).find(|&i| got[i] != expected[i]) {
        panic!("{what}: element {i} is {:x}, expected {:x}", got[i], expected[i]);
    }
}

/// From code to code: every destination under every option, several in one module, computed and, of few codes, looked up.
fn casts(context: &Context, from: ElementType) {
    let codes = codes(from);
    let tensor = Tensor::from_codes(from, [codes.len()], codes.iter().copied()).unwrap();
    let wide_source = from.bits() == Some(64);
    let source: Vec<u32> = if wide_source {
        codes.iter().flat_map(|&code| [code as u32, (code >> 32) as u32]).collect()
    } else {
        codes.iter().map(|&code| code as u32).collect()
    };
    let code = if wide_source { "vec2<u32>(source[2u * i], source[2u * i + 1u])" } else { "source[i]" };
    // Two words a code.
    let size = 2 * codes.len();
    let specs: Vec<_> = numeric()
        .flat_map(|to| variants(to).into_iter().map(move |options| CastSpec::new(from, to).with_options(options)))
        .collect();
    for table in [false, true].into_iter().take(if from.bits() <= Some(8) { 2 } else { 1 }) {
        // Drivers compile many conversions in one kernel slowly, above all with the barriers of tables.
        for specs in specs.chunks(if table { 2 } else { 6 }) {
            let mut functions = Functions::new("t").unwrap();
            let mut start = String::new();
            let mut parts = Vec::new();
            for spec in specs {
                let name = if table {
                    let table = functions.cast_table(spec).unwrap();
                    start.push_str(&format!("{}(local, 64u);\n    ", table.fill.name()));
                    table.look_up
                } else {
                    functions.cast(spec).unwrap()
                };
                let store = match spec.to.bits() {
                    Some(64) => "result[at + 2u * i] = code.x;\n            result[at + 2u * i + 1u] = code.y;",
                    _ => "result[at + 2u * i] = code;",
                };
                parts.push(format!("            let code = {}({code});\n            {store}", name.name()));
            }
            let text = kernel(functions.wgsl(), "u32", &start, &parts, size);
            let got = run(context, &text, &source, size * parts.len(), (codes.len() / 64, parts.len()));
            for (spec, got) in specs.iter().zip(got.chunks(size)) {
                let result = cpu::cast(&tensor, spec.to, &spec.options).unwrap();
                let wide = spec.to.bits() == Some(64);
                let got: Vec<_> = got
                    .chunks(2)
                    .map(|code| if wide { u64::from(code[0]) | u64::from(code[1]) << 32 } else { u64::from(code[0]) })
                    .collect();
                let expected: Vec<_> = result.codes().collect();
                first_wrong(&got, &expected, &format!("{spec:?}, table: {table}"));
            }
        }
    }
}

/// Codes to values: the bits are those of the cast to FLOAT. One by one from an array, by words, looked up; and lanes.
fn decoding(context: &Context, from: ElementType) {
    let codes = codes(from);
    let tensor = Tensor::from_codes(from, [codes.len()], codes.iter().copied()).unwrap();
    let floats = cpu::cast(&tensor, ElementType::FLOAT, &CastOptions::default()).unwrap();
    let floats: Vec<u32> = floats.codes().map(|code| code as u32).collect();
    let narrow = from.bits() <= Some(8);
    let mut functions = Functions::new("t").unwrap();
    let mut start = String::new();
    let one = |name: &str| format!("            result[at + i] = bitcast<u32>({name}(i));");
    let mut parts = vec![one(functions.load_value(from, "source").unwrap().name())];
    let load = functions.load(from, "source").unwrap();
    let decode = functions.decode(from).unwrap();
    parts.push(format!("            result[at + i] = bitcast<u32>({}({}(i)));", decode.name(), load.name()));
    let mut lanes_part = None;
    if from.bits() <= Some(16) {
        let (argument, count) = word(from);
        let word_values = functions.decode_word(from).unwrap();
        parts.push(by_word(word_values.name(), argument, count));
        let [lane, with_lane] = [functions.lane(from).unwrap(), functions.with_lane(from).unwrap()];
        lanes_part = Some(parts.len());
        // A word put together from its lanes, the odd ones first, is the word.
        parts.push(format!(
            "            if (i < {}u / {count}u) {{
                let word = {argument};
                var built = ~word;
                for (var k = 0u; k < {count}u; k = k + 1u) {{
                    let lane = select(2u * k + 1u, 2u * k - {count}u, 2u * k >= {count}u);
                    let code = {}(word, lane + {count}u * 5u);
                    result[at + i * {count}u + lane] = code;
                    built = {}(built, lane, code);
                }}
                if (any(built != word)) {{
                    result[at + i * {count}u] = 0xffffffffu;
                }}
            }}",
            codes.len(),
            lane.name(),
            with_lane.name()
        ));
    }
    if narrow {
        let bits = from.bits().unwrap();
        let four = functions.decode_four(from).unwrap();
        let code = |k: u32| format!("({}(4u * i + {k}u) << {}u)", load.name(), k * bits);
        let packed: Vec<_> = (0..4).map(code).collect();
        parts.push(by_word(four.name(), &packed.join(" | "), 4));
        let table = functions.decode_table(from).unwrap();
        start = format!("{}(local, 64u);", table.fill.name());
        parts.push(format!("            result[at + i] = bitcast<u32>({}({}(i)));", table.look_up.name(), load.name()));
        let (argument, count) = word(from);
        parts.push(by_word(table.look_up_word.unwrap().name(), argument, count));
    }
    let parts: Vec<_> = parts.iter().map(|part| part.replace("COUNT", &codes.len().to_string())).collect();
    let text = kernel(functions.wgsl(), "u32", &start, &parts, codes.len());
    let source = words(tensor.bytes().unwrap());
    let got = run(context, &text, &source, codes.len() * parts.len(), (codes.len() / 64, parts.len()));
    for (part, got) in got.chunks(codes.len()).enumerate() {
        if lanes_part == Some(part) {
            let expected: Vec<_> = codes.iter().map(|&code| code as u32).collect();
            first_wrong(got, &expected, &format!("lanes of {from}"));
        } else {
            first_wrong(got, &floats, &format!("values of {from}, part {part}\n{}", parts[part]));
        }
    }
}

/// The word `i` of a type, and how many codes it holds; of 6-bit types three words.
fn word(element_type: ElementType) -> (&'static str, u32) {
    match element_type.bits().unwrap() {
        6 => ("vec3<u32>(source[3u * i], source[3u * i + 1u], source[3u * i + 2u])", 16),
        bits => ("source[i]", 32 / bits),
    }
}

/// The values of the word `i`, stored one by one.
fn by_word(function: &str, argument: &str, count: u32) -> String {
    let component = |k: u32| ["x", "y", "z", "w"][k as usize % 4];
    let value =
        |k: u32| if count <= 4 { format!("v.{}", component(k)) } else { format!("v[{}].{}", k / 4, component(k)) };
    let stores =
        (0..count).map(|k| format!("                result[at + i * {count}u + {k}u] = bitcast<u32>({});\n", value(k)));
    format!(
        "            if (i < COUNTu / {count}u) {{\n                let v = {function}({argument});\n{}            }}",
        stores.collect::<String>()
    )
}

/// Values to codes: the bits are those of the cast from FLOAT. One by one into an array, by words, and by several
/// invocations into one word.
fn encoding(context: &Context, to: ElementType) {
    let values = codes(ElementType::FLOAT);
    let source: Vec<u32> = values.iter().map(|&code| code as u32).collect();
    let tensor = Tensor::from_codes(ElementType::FLOAT, [values.len()], values).unwrap();
    let bits = to.bits().unwrap();
    for options in variants(to) {
        let expected = words(cpu::cast(&tensor, to, &options).unwrap().bytes().unwrap());
        let what = |how: &str| format!("values to {to}, {how}, {options:?}");
        let size = expected.len();

        // An invocation stores elements that fill whole words.
        let mut functions = Functions::new("t").unwrap();
        let store = functions.store_value(to, &options, "result").unwrap();
        let own = format!(
            "            if (i < {}u / 16u) {{
                for (var k = 16u * i; k < 16u * i + 16u; k = k + 1u) {{
                    {}(k, bitcast<f32>(source[k]));
                }}
            }}",
            source.len(),
            store.name()
        );
        let text = kernel(functions.wgsl(), "u32", "", &[own], size);
        first_wrong(&run(context, &text, &source, size, (source.len() / 64, 1)), &expected, &what("stored"));
        if bits > 16 {
            continue;
        }

        let mut functions = Functions::new("t").unwrap();
        let mut parts = Vec::new();
        let (_, count) = word(to);
        let word = functions.encode_word(to, &options).unwrap();
        let vector = |first: u32, n: u32| {
            let value = |k| format!("bitcast<f32>(source[i * {count}u + {k}u])");
            format!("vec{n}<f32>({})", (first..first + n).map(value).collect::<Vec<_>>().join(", "))
        };
        let argument = match count {
            2 | 4 => vector(0, count),
            _ => {
                let vectors: Vec<_> = (0..count / 4).map(|v| vector(4 * v, 4)).collect();
                format!("{}({})", word.arguments()[0], vectors.join(", "))
            }
        };
        let store = match bits {
            6 => "result[at + 3u * i] = w.x; result[at + 3u * i + 1u] = w.y; result[at + 3u * i + 2u] = w.z;",
            _ => "result[at + i] = w;",
        };
        parts.push(format!(
            "            if (i < {}u / {count}u) {{
                let w = {}({argument});
                {store}
            }}",
            source.len(),
            word.name()
        ));
        let text = kernel(functions.wgsl(), "u32", "", &parts, size);
        first_wrong(&run(context, &text, &source, size, (source.len() / 64, 1)), &expected, &what("by words"));

        let mut functions = Functions::new("t").unwrap();
        let store = functions.store_atomic(to, "result").unwrap();
        let encode = functions.encode(to, &options).unwrap();
        let each = format!("            {}(i, {}(bitcast<f32>(source[i])));", store.name(), encode.name());
        let text = kernel(functions.wgsl(), "atomic<u32>", "", &[each], size);
        first_wrong(&run(context, &text, &source, size, (source.len() / 64, 1)), &expected, &what("atomically"));
        if bits > 8 {
            continue;
        }

        let mut functions = Functions::new("t").unwrap();
        let four = functions.encode_four(to, &options).unwrap();
        let values: Vec<_> = (0..4).map(|k| format!("bitcast<f32>(source[4u * i + {k}u])")).collect();
        let part = format!(
            "            if (i < {}u / 4u) {{\n                result[i] = {}(vec4<f32>({}));\n            }}",
            source.len(),
            four.name(),
            values.join(", ")
        );
        let text = kernel(functions.wgsl(), "u32", "", &[part], size);
        let got = run(context, &text, &source, source.len() / 4, (source.len() / 64, 1));
        let codes: Vec<u64> = cpu::cast(&tensor, to, &options).unwrap().codes().collect();
        let expected: Vec<u32> = codes
            .chunks(4)
            .map(|four| four.iter().enumerate().map(|(k, &code)| (code as u32) << (k as u32 * bits)).sum())
            .collect();
        first_wrong(&got, &expected, &what("by four"));
    }
}

/// The decoders of engines, whose instructions are counted beside ours: which of them give the bits of the cast to
/// FLOAT for every code.
#[test]
fn decoders_by_hand_are_wrong_where_they_say() {
    let context = adapter::open();
    for decoder in decoders::all() {
        let bits = decoder.element_type.bits().unwrap();
        let codes: Vec<u64> = (0..1u64 << bits).cycle().take(64 * 32 / bits as usize).collect();
        let tensor = Tensor::from_codes(decoder.element_type, [codes.len()], codes.iter().copied()).unwrap();
        let floats = cpu::cast(&tensor, ElementType::FLOAT, &CastOptions::default()).unwrap();
        let source = words(tensor.bytes().unwrap());
        let got = run(&context, &decoder.kernel(), &source, codes.len(), (1, 1));
        let pairs = codes.iter().zip(floats.codes().zip(got));
        let wrong: BTreeSet<u32> =
            pairs.filter(|(_, (expected, got))| *expected as u32 != *got).map(|(code, _)| *code as u32).collect();
        let said: BTreeSet<u32> = decoder.wrong.iter().copied().collect();
        // A driver's functions of floats may be less exact than they could be.
        let more = if said.is_empty() { wrong == said } else { wrong.is_superset(&said) };
        assert!(more, "{} of {}: {wrong:x?}, expected {said:x?}", decoder.engine, decoder.element_type);
    }
}
