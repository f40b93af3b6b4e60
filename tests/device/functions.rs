//! Casts as WGSL functions in kernels of a caller: every function gives the bits of the CPU path.

use std::collections::BTreeSet;

use support::options::variants;
use support::{decoders, numeric};
use wgpu_cast::wgsl::Functions;
use wgpu_cast::{CastOptions, CastSpec, ElementType, Kind, Tensor, cpu};

use crate::calls::{Arrays, Gpu, by_count, codes, first_wrong, kernel, values, word, words};

const WORDS: Arrays<'_> = Arrays { source: "u32", result: "u32" };

/// Every function from each of these types and to it. The types are in four tests, which run side by side.
fn functions_of(is_float: bool, is_wide: bool) {
    let gpu = Gpu::open();
    let is_one = |t: &ElementType| is_float == !matches!(t.kind(), Kind::Int { .. } | Kind::Bool);
    for element_type in numeric().filter(is_one).filter(|t| is_wide == (t.bits() > Some(8))) {
        casts(&gpu, element_type);
        decoding(&gpu, element_type);
        encoding(&gpu, element_type);
    }
}

#[test]
fn functions_of_floats_of_more_than_8_bits() {
    functions_of(true, true);
}

#[test]
fn functions_of_floats_of_at_most_8_bits() {
    functions_of(true, false);
}

#[test]
fn functions_of_integers_of_more_than_8_bits() {
    functions_of(false, true);
}

#[test]
fn functions_of_integers_of_at_most_8_bits() {
    functions_of(false, false);
}

/// From code to code: every destination under every option, several in one module. Casts are computed and, from types
/// with few codes, also looked up.
fn casts(gpu: &Gpu, from: ElementType) {
    let codes = codes(from);
    let tensor = Tensor::from_codes(from, [codes.len()], codes.iter().copied()).unwrap();
    let wide_source = from.bits() == Some(64);
    let source: Vec<u32> = if wide_source {
        codes.iter().flat_map(|&code| [code as u32, (code >> 32) as u32]).collect()
    } else {
        codes.iter().map(|&code| code as u32).collect()
    };
    let code = if wide_source { "vec2<u32>(source[2u * i], source[2u * i + 1u])" } else { "source[i]" };
    // The results have two words for each code.
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
            let text = kernel(functions.wgsl(), &WORDS, &start, &parts, size);
            let got = gpu.run(&text, &source, size * parts.len(), (codes.len() / 64, parts.len()));
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

/// Codes to values: the bits are those of the cast to FLOAT. Codes are read one by one from an array, by words, by
/// look-ups, and by lanes.
fn decoding(gpu: &Gpu, from: ElementType) {
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
        parts.push(by_count(&format!("{}({argument})", word_values.name()), count, codes.len(), "bitcast<u32>"));
        let [lane, with_lane] = [functions.lane(from).unwrap(), functions.with_lane(from).unwrap()];
        lanes_part = Some(parts.len());
        // A word that is composed of its lanes, the odd ones first, is the word.
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
        parts.push(by_count(&format!("{}({})", four.name(), packed.join(" | ")), 4, codes.len(), "bitcast<u32>"));
        let table = functions.decode_table(from).unwrap();
        start = format!("{}(local, 64u);", table.fill.name());
        parts.push(format!("            result[at + i] = bitcast<u32>({}({}(i)));", table.look_up.name(), load.name()));
        let (argument, count) = word(from);
        let look_up = table.look_up_word.unwrap();
        parts.push(by_count(&format!("{}({argument})", look_up.name()), count, codes.len(), "bitcast<u32>"));
    }
    let text = kernel(functions.wgsl(), &WORDS, &start, &parts, codes.len());
    let source = words(tensor.bytes().unwrap());
    let got = gpu.run(&text, &source, codes.len() * parts.len(), (codes.len() / 64, parts.len()));
    for (part, got) in got.chunks(codes.len()).enumerate() {
        if lanes_part == Some(part) {
            let expected: Vec<_> = codes.iter().map(|&code| code as u32).collect();
            first_wrong(got, &expected, &format!("lanes of {from}"));
        } else {
            first_wrong(got, &floats, &format!("values of {from}, part {part}\n{}", parts[part]));
        }
    }
}

/// Values to codes: the bits are those of the cast from FLOAT. Codes are stored one by one into an array, by words, and
/// by several invocations into one word.
fn encoding(gpu: &Gpu, to: ElementType) {
    let codes = codes(ElementType::FLOAT);
    let source: Vec<u32> = codes.iter().map(|&code| code as u32).collect();
    let tensor = Tensor::from_codes(ElementType::FLOAT, [codes.len()], codes).unwrap();
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
        let text = kernel(functions.wgsl(), &WORDS, "", &[own], size);
        first_wrong(&gpu.run(&text, &source, size, (source.len() / 64, 1)), &expected, &what("stored"));
        if bits > 16 {
            continue;
        }

        let mut functions = Functions::new("t").unwrap();
        let mut parts = Vec::new();
        let (_, count) = word(to);
        let word = functions.encode_word(to, &options).unwrap();
        let argument = values(word.arguments()[0], count, |k| format!("bitcast<f32>(source[{k}])"));
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
        let text = kernel(functions.wgsl(), &WORDS, "", &parts, size);
        first_wrong(&gpu.run(&text, &source, size, (source.len() / 64, 1)), &expected, &what("by words"));

        let mut functions = Functions::new("t").unwrap();
        let store = functions.store_atomic(to, "result").unwrap();
        let encode = functions.encode(to, &options).unwrap();
        let each = format!("            {}(i, {}(bitcast<f32>(source[i])));", store.name(), encode.name());
        let atomic = Arrays { source: "u32", result: "atomic<u32>" };
        let text = kernel(functions.wgsl(), &atomic, "", &[each], size);
        first_wrong(&gpu.run(&text, &source, size, (source.len() / 64, 1)), &expected, &what("atomically"));
        if bits > 8 {
            continue;
        }

        let mut functions = Functions::new("t").unwrap();
        let four = functions.encode_four(to, &options).unwrap();
        let argument = values(four.arguments()[0], 4, |k| format!("bitcast<f32>(source[{k}])"));
        let part = format!(
            "            if (i < {}u / 4u) {{\n                result[i] = {}({argument});\n            }}",
            source.len(),
            four.name(),
        );
        let text = kernel(functions.wgsl(), &WORDS, "", &[part], size);
        let got = gpu.run(&text, &source, source.len() / 4, (source.len() / 64, 1));
        let expected = fours(&cpu::cast(&tensor, to, &options).unwrap());
        first_wrong(&got, &expected, &what("by four"));
    }
}

/// The words that hold four codes each, in their lowest bits.
pub fn fours(tensor: &Tensor) -> Vec<u32> {
    let bits = tensor.element_type().bits().unwrap();
    let codes: Vec<u64> = tensor.codes().collect();
    let word = |four: &[u64]| four.iter().rev().fold(0, |word, &code| word << bits | code as u32);
    codes.chunks(4).map(word).collect()
}

/// The decoders of engines, whose instructions are counted beside ours. The test shows which of them give the bits of
/// the cast to FLOAT for every code.
#[test]
fn decoders_by_hand_are_wrong_where_they_say() {
    let gpu = Gpu::open();
    for decoder in decoders::all() {
        let bits = decoder.element_type.bits().unwrap();
        let codes: Vec<u64> = (0..1u64 << bits).cycle().take(64 * 32 / bits as usize).collect();
        let tensor = Tensor::from_codes(decoder.element_type, [codes.len()], codes.iter().copied()).unwrap();
        let floats = cpu::cast(&tensor, ElementType::FLOAT, &CastOptions::default()).unwrap();
        let source = words(tensor.bytes().unwrap());
        let got = gpu.run(&decoder.kernel(), &source, codes.len(), (1, 1));
        let pairs = codes.iter().zip(floats.codes().zip(got));
        let wrong: BTreeSet<u32> =
            pairs.filter(|(_, (expected, got))| *expected as u32 != *got).map(|(code, _)| *code as u32).collect();
        let said: BTreeSet<u32> = decoder.wrong.iter().copied().collect();
        // A driver may compute functions of floats less exactly than possible.
        let more = if said.is_empty() { wrong == said } else { wrong.is_superset(&said) };
        assert!(more, "{} of {}: {wrong:x?}, expected {said:x?}", decoder.engine, decoder.element_type);
    }
}
