//! Functions with values of `f16`: the bits of the cast to FLOAT16, and the codes of the cast from FLOAT. WGSL lets
//! drivers treat ∞, NaN and subnormals of `f16` differently. No driver that was tried does so.

use support::numeric;
use support::options::variants;
use wgpu_cast::wgsl::{Functions, ValueType};
use wgpu_cast::{CastOptions, ElementType, Tensor, cpu};

use crate::calls::{Arrays, Gpu, by_count, codes, first_wrong, kernel, values, word, words};
use crate::functions::fours;

/// A device with `f16`.
fn open() -> Option<Gpu> {
    let gpu = Gpu::open();
    if !gpu.has_f16() {
        support::not_tested("this adapter has no f16");
        return None;
    }
    Some(gpu)
}

fn functions() -> Functions {
    Functions::new("t").unwrap().with_values(ValueType::F16)
}

/// The source as a FLOAT16 tensor whose NaNs are those that a cast makes, and its values.
fn halves(tensor: &Tensor) -> [Tensor; 2] {
    let options = CastOptions::default();
    let cast = |tensor: &Tensor, to| cpu::cast(tensor, to, &options).unwrap();
    let values = cast(&cast(tensor, ElementType::FLOAT16), ElementType::FLOAT);
    [cast(&values, ElementType::FLOAT16), values]
}

#[test]
fn every_type_is_decoded() {
    let Some(gpu) = open() else { return };
    for from in numeric() {
        let codes = codes(from);
        let tensor = Tensor::from_codes(from, [codes.len()], codes.iter().copied()).unwrap();
        let expected: Vec<u16> = halves(&tensor)[0].codes().map(|code| code as u16).collect();
        let mut functions = functions();
        let mut start = String::new();
        let [load_value, load] =
            [functions.load_value(from, "source"), functions.load(from, "source")].map(Result::unwrap);
        let decode = functions.decode(from).unwrap();
        let mut parts = vec![
            format!("            result[at + i] = {}(i);", load_value.name()),
            format!("            result[at + i] = {}({}(i));", decode.name(), load.name()),
        ];
        if from.bits() <= Some(16) {
            let (argument, count) = word(from);
            let by_word = functions.decode_word(from).unwrap();
            parts.push(by_count(&format!("{}({argument})", by_word.name()), count, codes.len(), ""));
            let by_vector = functions.decode_vector(from).unwrap();
            let vector = |i: u32| {
                let words: Vec<_> = (4 * i..4 * i + 4).map(|k| format!("source[WORDSu * i + {k}u]")).collect();
                format!("vec4<u32>({})", words.join(", "))
            };
            let argument = match from.bits() {
                Some(6) => {
                    format!("array<vec4<u32>, 3>({}, {}, {})", vector(0), vector(1), vector(2)).replace("WORDS", "12")
                }
                _ => vector(0).replace("WORDS", "4"),
            };
            parts.push(by_count(&format!("{}({argument})", by_vector.name()), 4 * count, codes.len(), ""));
        }
        if let Some(bits) = from.bits().filter(|bits| *bits <= 8) {
            let four = functions.decode_four(from).unwrap();
            let code = |k: u32| format!("({}(4u * i + {k}u) << {}u)", load.name(), k * bits);
            let packed: Vec<_> = (0..4).map(code).collect();
            parts.push(by_count(&format!("{}({})", four.name(), packed.join(" | ")), 4, codes.len(), ""));
            let table = functions.decode_table(from).unwrap();
            start = format!("{}(local, 64u);", table.fill.name());
            parts.push(format!("            result[at + i] = {}({}(i));", table.look_up.name(), load.name()));
            let (argument, count) = word(from);
            let look_up = table.look_up_word.unwrap();
            parts.push(by_count(&format!("{}({argument})", look_up.name()), count, codes.len(), ""));
        }
        let arrays = Arrays { source: "u32", result: "f16" };
        let text = format!("enable f16;\n{}", kernel(functions.wgsl(), &arrays, &start, &parts, codes.len()));
        let source = words(tensor.bytes().unwrap());
        let got = gpu.run(&text, &source, codes.len() * parts.len() / 2, (codes.len() / 64, parts.len()));
        let got: Vec<u16> = got.iter().flat_map(|&word| [word as u16, (word >> 16) as u16]).collect();
        for (part, got) in got.chunks(codes.len()).enumerate() {
            first_wrong(got, &expected, &format!("values of {from}, part {part}\n{}", parts[part]));
        }
    }
}

#[test]
fn every_type_is_encoded() {
    let Some(gpu) = open() else { return };
    let all = Tensor::from_codes(ElementType::FLOAT16, [1 << 16], 0..1 << 16).unwrap();
    let [halves, floats] = halves(&all);
    let source = words(halves.bytes().unwrap());
    let count_of_values = 1 << 16;
    for to in numeric() {
        let bits = to.bits().unwrap();
        for options in variants(to) {
            let result = cpu::cast(&floats, to, &options).unwrap();
            let expected = words(result.bytes().unwrap());
            let mut functions = functions();
            // An invocation stores elements that fill whole words.
            let store = functions.store_value(to, &options, "result").unwrap();
            let mut parts = vec![format!(
                "            if (i < {count_of_values}u / 16u) {{
                for (var k = 16u * i; k < 16u * i + 16u; k = k + 1u) {{
                    {}(k, source[k]);
                }}
            }}",
                store.name()
            )];
            let value = |k: &str| format!("source[{k}]");
            let mut by = |call: &str, count: u32, results: &[String]| {
                let width = results.len();
                let stores: String = (0..)
                    .zip(results)
                    .map(|(k, w): (u32, _)| format!("result[at + {width}u * i + {k}u] = {w}; "))
                    .collect();
                parts.push(format!(
                    "            if (i < {count_of_values}u / {count}u) {{
                let w = {call};
                {stores}
            }}"
                ));
            };
            if bits <= 16 {
                let (_, count) = word(to);
                let encode = functions.encode_word(to, &options).unwrap();
                let call = format!("{}({})", encode.name(), values(encode.arguments()[0], count, value));
                let words: Vec<String> = match bits {
                    6 => ["w.x", "w.y", "w.z"].map(str::to_owned).into(),
                    _ => vec!["w".to_owned()],
                };
                by(&call, count, &words);
                let encode = functions.encode_vector(to, &options).unwrap();
                let call = format!("{}({})", encode.name(), values(encode.arguments()[0], 4 * count, value));
                let words: Vec<String> = match bits {
                    6 => (0..12).map(|k| format!("w[{}][{}]", k / 4, k % 4)).collect(),
                    _ => (0..4).map(|k| format!("w[{k}]")).collect(),
                };
                by(&call, 4 * count, &words);
            }
            let arrays = Arrays { source: "f16", result: "u32" };
            let run = |functions: &Functions, part: &String, results: usize| {
                let text = kernel(functions.wgsl(), &arrays, "", std::slice::from_ref(part), results);
                gpu.run(&format!("enable f16;\n{text}"), &source, results, (count_of_values / 64, 1))
            };
            for part in &parts {
                let got = run(&functions, part, expected.len());
                first_wrong(&got, &expected, &format!("values to {to}, {options:?}\n{part}"));
            }
            if bits <= 8 {
                let four = functions.encode_four(to, &options).unwrap();
                let argument = values(four.arguments()[0], 4, value);
                let part = format!(
                    "            if (i < {count_of_values}u / 4u) {{\n                result[i] = {}({argument});\n            }}",
                    four.name()
                );
                let got = run(&functions, &part, count_of_values / 4);
                first_wrong(&got, &fours(&result), &format!("values to {to} by four, {options:?}"));
            }
        }
    }
}
