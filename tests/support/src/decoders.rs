//! Decoders of narrow weights to `f32` beside the functions of `wgpu_cast::wgsl`. The decoders are those that engines
//! write by hand, written anew from what the engines publish. Each has a function `decode` of a word to the values of
//! its codes.

use wgpu_cast::wgsl::Functions;
use wgpu_cast::{CastSpec, ElementType};

/// A decoder of the four or eight codes of a word.
#[derive(Clone, Debug)]
pub struct Decoder {
    /// The engine that uses it.
    pub engine: &'static str,
    /// What it decodes.
    pub element_type: ElementType,
    /// The codes that it decodes to other bits than the cast to FLOAT.
    pub wrong: &'static [u32],
    /// Declarations, among them `fn decode(word: u32)` to `vec4<f32>` or, of eight codes, `array<vec4<f32>, 2>`.
    pub wgsl: String,
}

/// All decoders. Those of one type follow one another, ours first.
pub fn all() -> Vec<Decoder> {
    use ElementType::{FLOAT4E2M1, FLOAT8E4M3FN, INT4, UINT4};
    let by_hand =
        |engine, element_type, wrong, wgsl: &str| Decoder { engine, element_type, wrong, wgsl: wgsl.to_owned() };
    vec![
        ours(FLOAT8E4M3FN),
        integers_only(FLOAT8E4M3FN),
        by_hand("ONNX Runtime (FLOAT8 weights)", FLOAT8E4M3FN, &[0x7f, 0xff], ORT_FLOAT8),
        by_hand("barraCuda", FLOAT8E4M3FN, BARRACUDA_WRONG, BARRACUDA_FLOAT8),
        ours(UINT4),
        by_hand("ONNX Runtime (MatMulNBits)", UINT4, &[], ORT_UINT4),
        by_hand("llama.cpp (q4_0)", UINT4, &[], LLAMA_UINT4),
        ours(INT4),
        ours(FLOAT4E2M1),
        integers_only(FLOAT4E2M1),
        by_hand("RLX", FLOAT4E2M1, &[], RLX_FLOAT4),
    ]
}

fn ours(element_type: ElementType) -> Decoder {
    let mut functions = Functions::new("ours").expect("a prefix");
    let word = functions.decode_word(element_type).expect("a numeric type");
    let result = word.result().expect("values");
    let decode = format!("fn decode(word: u32) -> {result} {{\n    return {}(word);\n}}\n", word.name());
    Decoder { engine: "wgpu-cast", element_type, wrong: &[], wgsl: format!("{}\n{decode}", functions.wgsl()) }
}

/// Our cast from code to code. The bits of its result are the value, without an operation on floats.
fn integers_only(element_type: ElementType) -> Decoder {
    let mut functions = Functions::new("ours").expect("a prefix");
    let cast = functions.cast(&CastSpec::new(element_type, ElementType::FLOAT)).expect("a numeric type");
    let bits = element_type.bits().expect("a numeric type");
    let (last, mask) = (32 / bits - 1, (1 << bits) - 1);
    let lane = |i| format!("bitcast<f32>({}((word >> {}u) & {mask}u))", cast.name(), i * bits);
    let lanes: Vec<_> = (0..=last).map(lane).collect();
    let vectors: Vec<_> = lanes.chunks(4).map(|four| format!("vec4<f32>({})", four.join(", "))).collect();
    let body = match &vectors[..] {
        [vector] => format!("vec4<f32> {{\n    return {vector};"),
        vectors => format!("array<vec4<f32>, 2> {{\n    return array<vec4<f32>, 2>({});", vectors.join(", ")),
    };
    let wgsl = format!("{}\nfn decode(word: u32) -> {body}\n}}\n", functions.wgsl());
    Decoder { engine: "wgpu-cast (integers only)", element_type, wrong: &[], wgsl }
}

/// Subnormals are multiplied. Other numbers get the bits of their exponent. NaN gets the code as its payload, and no
/// sign. (onnxruntime, `matmul_block_quantized_fp8_weight.wgsl.template`)
const ORT_FLOAT8: &str = "
fn decode_one(code: u32) -> f32 {
    let field = (code >> 3u) & 15u;
    let fraction = code & 7u;
    let small = f32(fraction) * 0.001953125;
    let large = bitcast<f32>(((field + 120u) << 23u) | (fraction << 20u));
    let positive = select(small, large, field != 0u);
    let number = select(positive, -positive, (code & 128u) != 0u);
    return select(number, bitcast<f32>(0x7fc00000u | code), field == 15u && fraction == 7u);
}

fn decode(word: u32) -> vec4<f32> {
    return vec4<f32>(
        decode_one(word & 255u),
        decode_one((word >> 8u) & 255u),
        decode_one((word >> 16u) & 255u),
        decode_one((word >> 24u) & 255u),
    );
}
";

/// Multiplies by powers of two. Every code with the top exponent becomes NaN, although most of these codes are numbers
/// in FLOAT8E4M3FN (barraCuda, the preamble for FLOAT8 of its shader templates, where the bytes have the opposite
/// order).
const BARRACUDA_FLOAT8: &str = "
fn decode_one(code: u32) -> f32 {
    let negative = ((code >> 7u) & 1u) != 0u;
    let field = (code >> 3u) & 15u;
    let fraction = f32(code & 7u) / 8.0;
    if (field == 0u) {
        let small = fraction * exp2(-6.0);
        if (negative) {
            return -small;
        }
        return small;
    }
    if (field == 15u) {
        return bitcast<f32>(0x7fc00000u);
    }
    let large = (1.0 + fraction) * exp2(f32(field) - 7.0);
    if (negative) {
        return -large;
    }
    return large;
}

fn decode(word: u32) -> vec4<f32> {
    return vec4<f32>(
        decode_one(word & 255u),
        decode_one((word >> 8u) & 255u),
        decode_one((word >> 16u) & 255u),
        decode_one((word >> 24u) & 255u),
    );
}
";

/// The numbers from 256 on, and NaN with a sign.
const BARRACUDA_WRONG: &[u32] =
    &[0x78, 0x79, 0x7a, 0x7b, 0x7c, 0x7d, 0x7e, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff];

/// Decodes the low halves of four bytes at once, and their high halves. The zero point is subtracted afterwards, and is
/// not part of this function. (onnxruntime, `matmul_nbits.wgsl.template`)
const ORT_UINT4: &str = "
fn decode(word: u32) -> array<vec4<f32>, 2> {
    let low = vec4<f32>(unpack4xU8(word & 0x0f0f0f0fu));
    let high = vec4<f32>(unpack4xU8((word >> 4u) & 0x0f0f0f0fu));
    return array<vec4<f32>, 2>(
        vec4<f32>(low[0], high[0], low[1], high[1]),
        vec4<f32>(low[2], high[2], low[3], high[3]),
    );
}
";

/// Decodes byte by byte, each in two halves. The engine's zero point of 8 is left out. (llama.cpp, `ggml-webgpu`,
/// `quant_inner_loops.tmpl`)
const LLAMA_UINT4: &str = "
fn byte_of(word: u32, index: u32) -> u32 {
    return (word >> (index * 8u)) & 255u;
}

fn decode(word: u32) -> array<vec4<f32>, 2> {
    var values: array<vec4<f32>, 2>;
    let a = byte_of(word, 0u);
    let b = byte_of(word, 1u);
    let c = byte_of(word, 2u);
    let d = byte_of(word, 3u);
    values[0] = vec4<f32>(f32(a & 15u), f32((a >> 4u) & 15u), f32(b & 15u), f32((b >> 4u) & 15u));
    values[1] = vec4<f32>(f32(c & 15u), f32((c >> 4u) & 15u), f32(d & 15u), f32((d >> 4u) & 15u));
    return values;
}
";

/// Looks up magnitudes in an array of eight. (rlx, `rlx-wgpu`, its scaled matrix product)
const RLX_FLOAT4: &str = "
fn decode_one(code: u32) -> f32 {
    var magnitudes = array<f32, 8>(0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0);
    let magnitude = magnitudes[code & 7u];
    if ((code & 8u) != 0u) {
        return -magnitude;
    }
    return magnitude;
}

fn decode(word: u32) -> array<vec4<f32>, 2> {
    return array<vec4<f32>, 2>(
        vec4<f32>(
            decode_one(word & 15u),
            decode_one((word >> 4u) & 15u),
            decode_one((word >> 8u) & 15u),
            decode_one((word >> 12u) & 15u),
        ),
        vec4<f32>(
            decode_one((word >> 16u) & 15u),
            decode_one((word >> 20u) & 15u),
            decode_one((word >> 24u) & 15u),
            decode_one((word >> 28u) & 15u),
        ),
    );
}
";

impl Decoder {
    /// A kernel of 64 invocations a workgroup: each decodes the word of its index in binding 0 and stores the values'
    /// bits in binding 1.
    pub fn kernel(&self) -> String {
        let four = self.element_type.bits() == Some(8);
        let store = match four {
            true => "values[i] = decode(words[i]);",
            false => "let v = decode(words[i]);\n    values[2u * i] = v[0];\n    values[2u * i + 1u] = v[1];",
        };
        format!(
            "{}
@group(0) @binding(0) var<storage, read> words: array<u32>;
@group(0) @binding(1) var<storage, read_write> values: array<vec4<f32>>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    let i = id.x;
    {store}
}}
",
            self.wgsl
        )
    }
}
