//! Functions of an `array<vec4<u32>>` of the caller, and of whole vectors: the bits of the CPU path.

use support::numeric;
use support::options::variants;
use wgpu_cast::wgsl::{Array, Functions};
use wgpu_cast::{CastOptions, ElementType, Tensor, cpu};

use crate::calls::{Arrays, Gpu, by_count, codes, first_wrong, kernel, values, words};

#[test]
fn vectors_of_every_type_are_decoded() {
    let gpu = Gpu::open();
    for from in numeric() {
        let codes = codes(from);
        let tensor = Tensor::from_codes(from, [codes.len()], codes.iter().copied()).unwrap();
        let floats = cpu::cast(&tensor, ElementType::FLOAT, &CastOptions::default()).unwrap();
        let expected: Vec<u32> = floats.codes().map(|code| code as u32).collect();
        let mut functions = Functions::new("t").unwrap();
        let load = functions.load_value(from, Array::of_vectors("source")).unwrap();
        let mut parts = vec![format!("            result[at + i] = bitcast<u32>({}(i));", load.name())];
        if from.bits() <= Some(16) {
            let (argument, count) = vector(from);
            let decode = functions.decode_vector(from).unwrap();
            parts.push(by_count(&format!("{}({argument})", decode.name()), count, codes.len(), "bitcast<u32>"));
        }
        let arrays = Arrays { source: "vec4<u32>", result: "u32" };
        let text = kernel(functions.wgsl(), &arrays, "", &parts, codes.len());
        let source = words(tensor.bytes().unwrap());
        let got = gpu.run(&text, &source, codes.len() * parts.len(), (codes.len() / 64, parts.len()));
        for (part, got) in got.chunks(codes.len()).enumerate() {
            first_wrong(got, &expected, &format!("values of {from}, part {part}\n{}", parts[part]));
        }
    }
}

#[test]
fn vectors_of_every_type_are_encoded() {
    let gpu = Gpu::open();
    let codes = codes(ElementType::FLOAT);
    let source: Vec<u32> = codes.iter().map(|&code| code as u32).collect();
    let tensor = Tensor::from_codes(ElementType::FLOAT, [codes.len()], codes).unwrap();
    for to in numeric() {
        for options in variants(to) {
            let expected = words(cpu::cast(&tensor, to, &options).unwrap().bytes().unwrap());
            let mut functions = Functions::new("t").unwrap();
            let store = functions.store_value(to, &options, Array::of_vectors("result")).unwrap();
            // An invocation stores elements that fill whole vectors.
            let mut parts = vec![format!(
                "            if (i < {}u / 64u) {{
                for (var k = 64u * i; k < 64u * i + 64u; k = k + 1u) {{
                    {}(k, bitcast<f32>(source[k]));
                }}
            }}",
                source.len(),
                store.name()
            )];
            if to.bits() <= Some(16) {
                let (_, count) = vector(to);
                let encode = functions.encode_vector(to, &options).unwrap();
                let argument = values(encode.arguments()[0], count, |k| format!("bitcast<f32>(source[{k}])"));
                let store = match to.bits() {
                    Some(6) => {
                        "result[at + 3u * i] = w[0]; result[at + 3u * i + 1u] = w[1]; result[at + 3u * i + 2u] = w[2];"
                    }
                    _ => "result[at + i] = w;",
                };
                parts.push(format!(
                    "            if (i < {}u / {count}u) {{
                let w = {}({argument});
                {store}
            }}",
                    source.len(),
                    encode.name()
                ));
            }
            for (i, part) in parts.into_iter().enumerate() {
                let arrays = Arrays { source: "u32", result: "vec4<u32>" };
                let text = kernel(functions.wgsl(), &arrays, "", &[part], expected.len() / 4);
                let got = gpu.run(&text, &source, expected.len(), (source.len() / 64, 1));
                first_wrong(&got, &expected, &format!("values to {to}, part {i}, {options:?}"));
            }
        }
    }
}

/// The vector `i` of a type, or three vectors of a 6-bit type, and the number of codes in it.
fn vector(element_type: ElementType) -> (&'static str, u32) {
    match element_type.bits().unwrap() {
        6 => ("array<vec4<u32>, 3>(source[3u * i], source[3u * i + 1u], source[3u * i + 2u])", 64),
        bits => ("source[i]", 128 / bits),
    }
}
