//! `convert --dequantize`: codes become plain tensors.

use std::path::Path;

use crate::convert::checkpoint;
use crate::tool::{Folder, floats};

/// The models that `golden/make_scales.py` wrote, with the summary of their conversion.
const MODELS: [(&str, &str); 17] = [
    ("comfy", "2 of 7 tensors cast (float8e4m3fn -> bfloat16)"),
    ("comfy-metadata", "2 of 5 tensors cast (float8e4m3fn -> bfloat16, float8e5m2 -> bfloat16)"),
    ("compressed-tensors-experts", "1 of 2 tensors cast (float8e4m3fn -> bfloat16)"),
    ("compressed-tensors-float", "4 of 10 tensors cast (float8e4m3fn -> bfloat16)"),
    ("compressed-tensors-int8", "2 of 5 tensors cast (int8 -> bfloat16)"),
    ("compressed-tensors-packed", "4 of 15 tensors cast (uint4 -> bfloat16, uint8 -> bfloat16)"),
    ("deepseek", "3 of 7 tensors cast (float8e4m3fn -> bfloat16)"),
    ("deepseek-renamed", "2 of 4 tensors cast (float8e4m3fn -> bfloat16)"),
    ("fp8-autofp8", "1 of 4 tensors cast (float8e4m3fn -> bfloat16)"),
    ("fp8-modelopt", "1 of 3 tensors cast (float8e4m3fn -> bfloat16)"),
    ("fp8-per-tensor", "1 of 2 tensors cast (float8e4m3fn -> bfloat16)"),
    ("mxfp4-openai", "1 of 3 tensors cast (float4e2m1 -> bfloat16)"),
    ("mxfp4-packed", "1 of 2 tensors cast (float4e2m1 -> bfloat16)"),
    ("mxfp4-transformers", "1 of 3 tensors cast (float4e2m1 -> bfloat16)"),
    ("mxfp8", "2 of 4 tensors cast (float8e4m3fn -> bfloat16, float8e5m2 -> bfloat16)"),
    ("nvfp4-compressed-tensors", "1 of 4 tensors cast (float4e2m1 -> bfloat16)"),
    ("nvfp4-modelopt", "1 of 4 tensors cast (float4e2m1 -> bfloat16)"),
];

pub fn golden() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/scales")
}

/// Copies a model into the folder `m` of a folder.
pub fn copy(folder: &Folder, model: &str) {
    for entry in std::fs::read_dir(golden().join(model)).expect("a model") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a name");
        folder.write(&format!("m/{name}"), std::fs::read(entry.path()).expect("a file"));
    }
    std::fs::remove_file(folder.path().join("m/expected.bin")).expect("a file");
}

/// Tensors: name, type, shape, data; sorted.
pub type Tensors = Vec<(String, String, Vec<usize>, Vec<u8>)>;

pub fn tensors_of(file: &[u8]) -> Tensors {
    let read = safetensors::SafeTensors::deserialize(file).expect("a valid checkpoint");
    let tensors = read.tensors().into_iter();
    let mut tensors: Tensors = tensors
        .map(|(name, view)| (name, view.dtype().to_string(), view.shape().to_vec(), view.data().to_vec()))
        .collect();
    tensors.sort();
    tensors
}

/// The tensors of all shards in a folder.
pub fn made(folder: &Folder, output: &str) -> Tensors {
    let files = folder.entries(output).into_iter().filter(|name| name.ends_with(".safetensors"));
    let mut tensors: Tensors = files.flat_map(|file| tensors_of(&folder.read(&format!("{output}/{file}")))).collect();
    tensors.sort();
    tensors
}

pub fn expected(model: &str) -> Tensors {
    tensors_of(&std::fs::read(golden().join(model).join("expected.bin")).expect("a file"))
}

pub fn json(folder: &Folder, file: &str) -> serde_json::Value {
    serde_json::from_slice(&folder.read(file)).expect("JSON")
}

/// A name for messages, and the shape.
pub fn shown(tensors: &Tensors) -> Vec<String> {
    tensors.iter().map(|(name, dtype, shape, _)| format!("{name} {dtype} {shape:?}")).collect()
}

#[test]
fn every_layout_gives_the_bits_of_its_formula() {
    let mut models: Vec<_> = std::fs::read_dir(golden()).expect("models").collect();
    models.sort_by_key(|entry| entry.as_ref().expect("an entry").file_name());
    let names = models.iter().map(|entry| entry.as_ref().expect("an entry").file_name());
    assert!(names.eq(MODELS.map(|(name, _)| std::ffi::OsString::from(name))));
    for (model, summary) in MODELS {
        let folder = Folder::new();
        copy(&folder, model);
        let outcome = folder.cast("convert m out --dequantize --copy-others");
        assert_eq!(outcome.status, Some(0), "{model}: {}", outcome.stderr);
        assert!(outcome.line().starts_with(&format!("{summary}, ")), "{model}: {}", outcome.stderr);
        let (found, expected) = (made(&folder, "out"), expected(model));
        assert_eq!(shown(&found), shown(&expected), "{model}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!(found == expected, "{model}: {}: {:x?} and not {:x?}", found.0, found.3, expected.3);
        }
        // Scales have no configuration any more.
        for name in folder.entries("out").iter().filter(|name| name.ends_with("config.json")) {
            assert_ne!(name, "hf_quant_config.json", "{model}");
            assert!(json(&folder, &format!("out/{name}")).get("quantization_config").is_none(), "{model}");
        }
        let plain = folder.cast("convert out plain --to bf16 --ignore-scales");
        let message = "wgpu-cast: --ignore-scales: no tensor that is cast has a scale";
        assert_eq!(plain.line(), message, "{model}");
    }
}

/// The products go to any type, in pieces of any size, and are counted.
#[test]
fn products_are_cast_to_any_type() {
    for (model, _) in MODELS {
        let folder = Folder::new();
        copy(&folder, model);
        for to in ["float", "float16", "double"] {
            let outcome = folder.cast(&format!("convert m {to} --dequantize --to {to} --memory 1MiB --stats"));
            assert_eq!(outcome.status, Some(0), "{model}: {}", outcome.stderr);
        }
        // DOUBLE and then BFLOAT16 is BFLOAT16.
        let outcome = folder.cast("convert float narrow --to bf16");
        assert_eq!(outcome.status, Some(0), "{model}: {}", outcome.stderr);
        assert_eq!(made(&folder, "narrow"), expected(model), "{model}");
        let wide = folder.cast("convert float wide --to double");
        assert_eq!(wide.status, Some(0), "{model}: {}", wide.stderr);
        assert_eq!(made(&folder, "wide"), made(&folder, "double"), "{model}");
        let half = folder.cast("convert float half --to f16");
        assert_eq!(half.status, Some(0), "{model}: {}", half.stderr);
        assert_eq!(made(&folder, "half"), made(&folder, "float16"), "{model}");
    }
}

/// What is written beside the tensors: index, metadata, configuration.
#[test]
fn indexes_metadata_and_configurations_fit() {
    let folder = Folder::new();
    copy(&folder, "deepseek");
    let outcome = folder.cast("convert m out --dequantize --copy-others");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let config = folder.read("out/config.json");
    let expected = "{\n  \"architectures\": [\n    \"X\"\n  ],\n  \"torch_dtype\": \"bfloat16\"\n}\n";
    assert_eq!(String::from_utf8(config).expect("text"), expected);
    let (first, second) = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors");
    let index = serde_json::json!({
        "metadata": {"total_size": 2 * (40 * 70 + 2 * 20 * 40 + 16 * 64 + 5)},
        "weight_map": {
            "l.a.weight": first, "l.b.weight": second, "l.experts.gate_up_proj": first, "l.norm.weight": first,
        },
    });
    assert_eq!(json(&folder, "out/model.safetensors.index.json"), index);
    let checked = folder.cast("info out/model.safetensors.index.json");
    assert_eq!(checked.status, Some(0), "{}", checked.stderr);

    let folder = Folder::new();
    copy(&folder, "comfy-metadata");
    let outcome = folder.cast("convert m/model.safetensors out.safetensors --dequantize");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let bytes = folder.read("out.safetensors");
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).expect("a header");
    let metadata = header.metadata().clone().expect("metadata");
    assert_eq!(metadata, [("title".to_owned(), "t".to_owned())].into());
}

/// The last member, the only one, and names like the field's.
#[test]
fn a_configuration_loses_the_member_alone() {
    for (text, expected) in [
        (r#"{"a": 1, "quantization_config": {"quant_method": "fp8"}}"#, r#"{"a": 1}"#),
        (
            r#"{"quantization_config" : {"quant_method": "fp8"} , "a": "\"quantization_config\""}"#,
            r#"{"a": "\"quantization_config\""}"#,
        ),
        (r#"{ "quantization_config": {"quant_method": "fp8"} }"#, "{  }"),
        (r#"{"a": 1, "quantization_config": {"quant_method": "fp8"}, "compression_config": {}}"#, r#"{"a": 1}"#),
        (r#"{"a": 1, "compression_config": {} , "quantization_config": {"quant_method": "fp8"} }"#, r#"{"a": 1 }"#),
        (r#"{"compression_config": {}, "quantization_config": {"quant_method": "fp8"}}"#, "{}"),
        (r#"{"compression_config": {}, "quantization_config": {"quant_method": "fp8"}, "a": 1}"#, r#"{"a": 1}"#),
        (r#"{"compression_config": {}, "a": 1, "quantization_config": {"quant_method": "fp8"}}"#, r#"{"a": 1}"#),
        (
            r#"{"text_config": {"dtype": "float32", "quantization_config": {"quant_method": "fp8"}}}"#,
            r#"{"text_config": {"dtype": "bfloat16"}}"#,
        ),
    ] {
        let folder = Folder::new();
        folder.write("m/a.safetensors", pair(&[2, 2], "F32", &[1, 1], &floats(&[2.0])));
        folder.write("m/config.json", text);
        let outcome = folder.cast("convert m out --dequantize --copy-others");
        assert_eq!(outcome.status, Some(0), "{text}: {}", outcome.stderr);
        assert_eq!(String::from_utf8(folder.read("out/config.json")).expect("text"), expected);
    }
}

/// A file of four codes, and a scale.
pub fn pair(shape: &[u64], dtype: &str, scales: &[u64], bytes: &[u8]) -> Vec<u8> {
    let codes = vec![0x38; shape.iter().product::<u64>() as usize];
    let name = "l.weight_scale_inv";
    checkpoint(&[("l.weight", "F8_E4M3", shape, &codes), (name, dtype, scales, bytes)])
}

#[test]
fn dry_runs_reports_and_info() {
    let folder = Folder::new();
    folder.write("a.safetensors", pair(&[2, 2], "F32", &[1, 1], &floats(&[0.5])));
    let plan = folder.cast("convert a.safetensors out.safetensors --dequantize --dry-run");
    assert_eq!(
        plan.text(),
        "l.weight [2, 2]: float8e4m3fn -> bfloat16, 4 bytes -> 8 bytes, multiplied by l.weight_scale_inv\n\
         l.weight_scale_inv [1, 1]: float, 4 bytes, the scale of l.weight, not written\n\
         output: out.safetensors, 80 bytes\n\
         2 tensors, 1 of them cast: 8 bytes -> 8 bytes\n"
    );
    assert_eq!(folder.names(), ["a.safetensors"]);
    let outcome = folder.cast("convert a.safetensors out.safetensors --dequantize --to f16 --json");
    let rows: Vec<serde_json::Value> =
        outcome.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let row = |name: &str| rows.iter().find(|row| row["tensor"] == name).expect("a row");
    let scale = serde_json::json!({
        "file": "a.safetensors", "tensor": "l.weight_scale_inv", "shape": [1, 1], "from": "float", "to": null,
        "bytes": [4, 0], "scale_of": "l.weight",
    });
    assert_eq!(row("l.weight_scale_inv"), &scale);
    assert_eq!(row("l.weight")["multiplied_by"], "l.weight_scale_inv");
    // The codes are 1.
    assert_eq!(tensors_of(&folder.read("out.safetensors"))[0].3, [0x00, 0x38].repeat(4));
}

/// Overflow, clamping and `--strict` count products.
#[test]
fn products_beyond_the_range() {
    let folder = Folder::new();
    folder.write("a.safetensors", pair(&[2, 2], "F32", &[1, 1], &floats(&[70000.0])));
    let line = "convert a.safetensors out.safetensors --dequantize --to f16";
    let outcome = folder.cast(line);
    assert!(outcome.stderr.contains("lost: 4 became infinite"), "{}", outcome.stderr);
    let data = |folder: &Folder| tensors_of(&folder.read("out.safetensors"))[0].3.clone();
    assert_eq!(data(&folder), [0x00, 0x7c].repeat(4));
    let outcome = folder.cast(&format!("{line} --clamp"));
    assert!(outcome.stderr.contains("lost: 4 became the largest or least number"), "{}", outcome.stderr);
    assert_eq!(data(&folder), [0xff, 0x7b].repeat(4));
    let strict = folder.cast(&format!("{line} --strict --quiet"));
    let message = "wgpu-cast: --strict: 4 values beyond the range of the type; nothing was written (--stats lists all \
                   tensors)";
    assert_eq!((strict.status, strict.line()), (Some(1), message));
}

/// 0 and a negative scale are numbers.
#[test]
fn zero_and_negative_scales() {
    let folder = Folder::new();
    for (scale, expected) in [(0.0, [0x00, 0x00]), (-0.0, [0x00, 0x80]), (-2.0, [0x00, 0xc0])] {
        folder.write("a.safetensors", pair(&[2, 2], "F32", &[1, 1], &floats(&[scale])));
        let output = folder.convert("a.safetensors out.safetensors --dequantize");
        assert_eq!(tensors_of(&output)[0].3, expected.repeat(4), "{scale}");
    }
}
