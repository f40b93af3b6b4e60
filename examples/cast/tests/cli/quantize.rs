//! `convert --quantize`: weights become codes with scales.

use std::path::Path;

use serde_json::json;

use crate::convert::checkpoint;
use crate::dequantize::{Tensors, json, made, shown, tensors_of};
use crate::tool::{Folder, floats};

/// The layouts, and the end of the names of their scales.
pub const LAYOUTS: [(&str, &str); 3] = [("tensor", "_scale"), ("row", "_scale"), ("block", "_scale_inv")];

/// The options for the model that `golden/make_quantized.py` wrote.
pub const OPTIONS: &str = "--map l.experts.up=float8e4m3fn --copy-others";

fn golden() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/quantized")
}

/// Copies the model into the folder `m` of a folder.
pub fn copy(folder: &Folder) {
    for entry in std::fs::read_dir(golden()).expect("a model") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a name");
        if !name.ends_with(".bin") {
            folder.write(&format!("m/{name}"), std::fs::read(entry.path()).expect("a file"));
        }
    }
}

pub fn expected(layout: &str) -> Tensors {
    tensors_of(&std::fs::read(golden().join(format!("{layout}.bin"))).expect("a file"))
}

#[test]
fn every_layout_gives_the_bits_of_the_published_formula() {
    for (layout, _) in LAYOUTS {
        let folder = Folder::new();
        copy(&folder);
        for (output, options) in [("out", ""), ("small", "--to fp8_e4m3 --memory 1MiB --stats")] {
            let outcome = folder.cast(&format!("convert m {output} --quantize {layout} {OPTIONS} {options}"));
            assert_eq!(outcome.status, Some(0), "{layout}: {}", outcome.stderr);
            let summary = "5 of 15 tensors cast (bfloat16 -> float8e4m3fn, float -> float8e4m3fn, \
                           float16 -> float8e4m3fn), ";
            assert!(outcome.line().starts_with(summary), "{layout}: {}", outcome.stderr);
            let (found, expected) = (made(&folder, output), expected(layout));
            assert_eq!(shown(&found), shown(&expected), "{layout}");
            for (found, expected) in found.iter().zip(&expected) {
                assert!(found == expected, "{layout}: {}: {:x?} and not {:x?}", found.0, found.3, expected.3);
            }
        }
    }
}

/// Codes times scales, and the codes again.
#[test]
fn what_was_written_is_read_and_quantized_to_the_same_codes() {
    for (layout, end) in LAYOUTS {
        let folder = Folder::new();
        copy(&folder);
        let run = |line: &str| {
            let outcome = folder.cast(line);
            assert_eq!(outcome.status, Some(0), "{line}: {}", outcome.stderr);
        };
        run(&format!("convert m q --quantize {layout} {OPTIONS}"));
        // As bfloat16, the products of the largest and of tiny scales are infinite and subnormal.
        for (to, kept, count) in [("float", "", 5), ("bf16", "--map l.tiny.weight=keep", 4)] {
            run(&format!("convert q {to} --dequantize --to {to} --copy-others"));
            assert!(json(&folder, &format!("{to}/config.json")).get("quantization_config").is_none(), "{layout}");
            run(&format!("convert {to} again-{to} --quantize {layout} {OPTIONS} {kept}"));
            let (first, again) = (made(&folder, "q"), made(&folder, &format!("again-{to}")));
            let of_float8 = |tensors: &Tensors| -> Tensors {
                let is_kept = |name: &str| !kept.is_empty() && name == "l.tiny.weight";
                tensors.iter().filter(|tensor| tensor.1 == "F8_E4M3" && !is_kept(&tensor.0)).cloned().collect()
            };
            assert_eq!(of_float8(&first).len(), count, "{layout} {to}");
            assert!(of_float8(&first) == of_float8(&again), "{layout} {to}");
            if to == "float" {
                assert_products(layout, &first, &made(&folder, "float"), end);
            }
        }
    }
}

/// Each FLOAT is the product of its code and of its scale.
fn assert_products(layout: &str, quantized: &Tensors, products: &Tensors, end: &str) {
    let find = |tensors: &Tensors, name: &str| tensors.iter().find(|tensor| tensor.0 == name).cloned().expect(name);
    for (name, _, shape, codes) in quantized.iter().filter(|tensor| tensor.1 == "F8_E4M3") {
        let (_, _, _, scales) = find(quantized, &format!("{name}{end}"));
        let scales: Vec<f32> = scales.as_chunks().0.iter().map(|code| f32::from_le_bytes(*code)).collect();
        let spec = wgpu_cast::CastSpec::new(wgpu_cast::ElementType::FLOAT8E4M3FN, wgpu_cast::ElementType::FLOAT);
        let mut values = vec![0; 4 * codes.len()];
        wgpu_cast::cpu::cast_bytes(&spec, codes, codes.len(), &mut values).expect("a cast");
        let values = values.as_chunks().0.iter().map(|code| f32::from_le_bytes(*code));
        let [rows, columns] = *shape.last_chunk::<2>().expect("two axes");
        let scale = |at: usize| match layout {
            "tensor" => scales[0],
            "row" => scales[at / columns],
            _ => {
                let (matrix, row, column) = (at / columns / rows, at / columns % rows, at % columns);
                let of_row = columns.div_ceil(128);
                scales[(matrix * rows.div_ceil(128) + row / 128) * of_row + column / 128]
            }
        };
        let expected: Vec<u8> = values.enumerate().flat_map(|(at, value)| (value * scale(at)).to_le_bytes()).collect();
        assert!(find(products, name).3 == expected, "{layout} {name}");
    }
}

/// What is written beside the tensors: index, metadata, configuration.
#[test]
fn indexes_metadata_and_configurations_fit() {
    let kept = ["embed_tokens", "lm_head"];
    let compressed = |weights: &str, activations: &str| {
        json!({
            "config_groups": {"group_0": {
                "input_activations":
                    {"dynamic": true, "num_bits": 8, "strategy": activations, "symmetric": true, "type": "float"},
                "targets": ["Linear"],
                "weights": {"dynamic": false, "num_bits": 8, "strategy": weights, "symmetric": true, "type": "float"},
            }},
            "format": "float-quantized", "ignore": kept,
            "quant_method": "compressed-tensors", "quantization_status": "compressed",
        })
    };
    let deepseek = json!({
        "activation_scheme": "dynamic", "fmt": "e4m3", "modules_to_not_convert": kept, "quant_method": "fp8",
        "weight_block_size": [128, 128],
    });
    let configurations = [compressed("tensor", "tensor"), compressed("channel", "token"), deepseek];
    for ((layout, end), configuration) in LAYOUTS.into_iter().zip(configurations) {
        let folder = Folder::new();
        copy(&folder);
        let outcome = folder.cast(&format!("convert m out --quantize {layout} {OPTIONS}"));
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        let config = json(&folder, "out/config.json");
        let expected = json!({
            "architectures": ["X"], "quantization_config": configuration, "torch_dtype": "bfloat16",
        });
        assert_eq!(config, expected, "{layout}");
        let index = json(&folder, "out/model.safetensors.index.json");
        let bytes: usize = made(&folder, "out").iter().map(|tensor| tensor.3.len()).sum();
        assert_eq!(index["metadata"]["total_size"], bytes, "{layout}");
        let checked = folder.cast("info out/model.safetensors.index.json");
        assert_eq!(checked.status, Some(0), "{}", checked.stderr);
        // Scales lie beside their weights.
        for name in ["l.a.weight", "l.b.weight", "l.experts.up"] {
            let shard = &index["weight_map"][name];
            assert_eq!(&index["weight_map"][format!("{name}{end}")], shard, "{layout} {name}");
        }
        let metadata = |shard: &str| {
            let bytes = folder.read(&format!("out/{shard}"));
            let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).expect("a header");
            let mut metadata: Vec<_> = header.metadata().clone().expect("metadata").into_iter().collect();
            metadata.sort();
            metadata
        };
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let first = r#"{"format_version":"1.0","layers":{"l.a":{"format":"float8_e4m3fn"}}}"#;
        let told = (layout == "tensor").then(|| pair("_quantization_metadata", first));
        let expected: Vec<_> = told.into_iter().chain([pair("format", "pt")]).collect();
        assert_eq!(metadata("model-00001-of-00002.safetensors"), expected, "{layout}");
    }
}

/// A weight of a linear layer, and other tensors.
fn tensors() -> Vec<u8> {
    let one = floats(&[1.0; 4]);
    checkpoint(&[
        ("l.weight", "F32", &[2, 2], &floats(&[1.75, -0.5, 896.0, 0.0])),
        ("l.bias", "F32", &[2], &one[..8]),
        ("mlp.gate.weight", "F32", &[2, 2], &one),
        ("l.other", "F32", &[2, 2], &one),
    ])
}

#[test]
fn dry_runs_reports_and_rules() {
    let folder = Folder::new();
    folder.write("a.safetensors", tensors());
    let plan = folder.cast("convert a.safetensors out.safetensors --quantize row --dry-run");
    assert_eq!(
        plan.text(),
        "l.weight [2, 2]: float -> float8e4m3fn, 16 bytes -> 4 bytes, divided by l.weight_scale\n\
         l.weight_scale [2, 1]: float, 8 bytes, the scale of l.weight, computed\n\
         l.bias [2]: float, 8 bytes\n\
         mlp.gate.weight [2, 2]: float, 16 bytes\n\
         l.other [2, 2]: float, 16 bytes\n\
         output: out.safetensors, 396 bytes\n\
         5 tensors, 1 of them cast: 56 bytes -> 52 bytes\n"
    );
    assert_eq!(folder.names(), ["a.safetensors"]);
    let outcome = folder.cast("convert a.safetensors out.safetensors --quantize row --json --stats");
    let rows: Vec<serde_json::Value> =
        outcome.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(rows[0]["divided_by"], "l.weight_scale");
    assert_eq!(rows[0]["relative_error"], 0.0);
    let scale = json!({
        "file": "a.safetensors", "tensor": "l.weight_scale", "shape": [2, 1], "from": null, "to": "float",
        "bytes": [0, 8], "scale_of": "l.weight",
    });
    assert_eq!(rows[1], scale);
    let names = |folder: &Folder| {
        let made = tensors_of(&folder.read("out.safetensors"));
        made.into_iter()
            .filter(|tensor| tensor.1 != "F32")
            .map(|(name, _, shape, data)| (name, shape, data))
            .collect::<Vec<_>>()
    };
    let quantized = ("l.weight".to_owned(), vec![2, 2], vec![0x7e, 0xf0, 0x7e, 0x00]);
    assert_eq!(names(&folder), [quantized]);
    let only = |folder: &Folder| names(folder).into_iter().map(|(name, ..)| name).collect::<Vec<_>>();
    for (options, expected) in [
        ("--map *.gate.weight=f8e4m3", &["l.weight", "mlp.gate.weight"][..]),
        ("--map l.other=f8e4m3 --map l.weight=keep", &["l.other"]),
        ("--to f8e4m3 --only l.*", &["l.weight"]),
        ("--map l.bias=bf16", &["l.bias", "l.weight"]),
        ("--to f8e4m3 --except l.weight --map *.gate.weight=f8e4m3", &["mlp.gate.weight"]),
    ] {
        folder.convert(&format!("a.safetensors out.safetensors --quantize block {options}"));
        assert_eq!(only(&folder), expected, "{options}");
    }
}

/// A configuration without members, and with members that say nothing.
#[test]
fn a_configuration_gets_one_member() {
    let told = r#"{
    "activation_scheme": "dynamic",
    "fmt": "e4m3",
    "modules_to_not_convert": [
      "mlp.gate"
    ],
    "quant_method": "fp8",
    "weight_block_size": [
      128,
      128
    ]
  }"#;
    for (text, before, after) in [
        ("{}", "{\n  \"quantization_config\": ", "\n}"),
        (r#" {"a": 1}"#, " {\n  \"quantization_config\": ", r#","a": 1}"#),
        (
            r#"{"quantization_config": null, "dtype": "float32"}"#,
            r#"{"quantization_config": "#,
            r#", "dtype": "float32"}"#,
        ),
        (r#"{"dtype": "float16", "quantization_config": {}}"#, r#"{"dtype": "float16", "quantization_config": "#, "}"),
    ] {
        let folder = Folder::new();
        folder.write("m/a.safetensors", tensors());
        folder.write("m/config.json", text);
        folder.write("m/generation_config.json", r#"{"dtype": "float32"}"#);
        let outcome = folder.cast("convert m out --quantize block --copy-others");
        assert_eq!(outcome.status, Some(0), "{text}: {}", outcome.stderr);
        let made = String::from_utf8(folder.read("out/config.json")).expect("text");
        assert_eq!(made, format!("{before}{told}{after}"));
        assert_eq!(folder.read("out/generation_config.json"), br#"{"dtype": "float32"}"#);
    }
}
