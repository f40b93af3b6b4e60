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
        ("--only l.*", &["l.weight"]),
        ("--except l.weight --map *.gate.weight=f8e4m3", &["mlp.gate.weight"]),
        ("--from float", &["l.weight"]),
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
      "l.other",
      "lm_head",
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

/// The layers of published models: the linear ones, and those that readers expect without scales.
#[test]
fn embeddings_output_layers_and_routers_stay() {
    for (family, linear, kept) in [
        ("Llama and Qwen", &["model.layers.0.self_attn.q_proj"][..], &["lm_head", "model.embed_tokens"][..]),
        (
            "Qwen and DeepSeek with experts",
            &["model.layers.0.mlp.experts.0.gate_proj", "model.layers.0.mlp.shared_expert.up_proj"],
            &["model.layers.0.mlp.gate", "model.layers.0.mlp.shared_expert_gate"],
        ),
        ("Mixtral", &["l.block_sparse_moe.experts.0.w1"], &["l.block_sparse_moe.router"]),
        ("Llama and Mistral of their authors", &["layers.0.attention.wq"], &["output", "tok_embeddings"]),
        ("GPT-J and StarCoder", &["transformer.h.0.mlp.c_fc"], &["transformer.wpe", "transformer.wte"]),
        ("GPT-NeoX", &["gpt_neox.layers.0.mlp.dense_h_to_4h"], &["embed_out", "gpt_neox.embed_in"]),
        ("BLOOM", &["h.0.mlp.dense_h_to_4h"], &["word_embeddings"]),
        (
            "BERT",
            &["bert.encoder.layer.0.attention.output.dense"],
            &[
                "bert.embeddings.position_embeddings",
                "bert.embeddings.token_type_embeddings",
                "bert.embeddings.word_embeddings",
            ],
        ),
        (
            "T5",
            &["encoder.block.0.layer.0.SelfAttention.q"],
            &["encoder.block.0.layer.0.SelfAttention.relative_attention_bias", "shared"],
        ),
        (
            "CLIP",
            &["text_model.encoder.layers.0.mlp.fc1"],
            &["text_model.embeddings.position_embedding", "text_model.embeddings.token_embedding"],
        ),
        ("Whisper and BART", &["model.decoder.layers.0.fc1"], &["model.decoder.embed_positions"]),
        ("Mamba", &["backbone.layers.0.mixer.in_proj"], &["backbone.embeddings"]),
    ] {
        let folder = Folder::new();
        let data = floats(&[1.0; 4]);
        let names: Vec<_> = linear.iter().chain(kept).map(|layer| format!("{layer}.weight")).collect();
        let tensors: Vec<(&str, &str, &[u64], &[u8])> =
            names.iter().map(|name| (&**name, "F32", &[2u64, 2][..], &data[..])).collect();
        folder.write("m/a.safetensors", checkpoint(&tensors));
        folder.write("m/config.json", "{}");
        let outcome = folder.cast("convert m out --quantize block --copy-others");
        assert_eq!(outcome.status, Some(0), "{family}: {}", outcome.stderr);
        let made = tensors_of(&folder.read("out/a.safetensors"));
        let codes: Vec<_> = made.into_iter().filter(|tensor| tensor.1 == "F8_E4M3").map(|tensor| tensor.0).collect();
        assert_eq!(codes, linear.iter().map(|layer| format!("{layer}.weight")).collect::<Vec<_>>(), "{family}");
        let mut told: Vec<_> = kept.iter().copied().chain(["lm_head"]).collect();
        told.sort_unstable();
        told.dedup();
        let config = json(&folder, "out/config.json");
        assert_eq!(config["quantization_config"]["modules_to_not_convert"], json!(told), "{family}");
    }
}

/// Readers must expect no scales for what is no `weight` of two axes either.
#[test]
fn configurations_name_all_layers_without_scales() {
    let data = floats(&[1.0; 8]);
    let tensor = |name: &'static str, shape: &'static [u64]| -> (&str, &str, &[u64], Vec<u8>) {
        (name, "F32", shape, data[..4 * shape.iter().product::<u64>() as usize].to_vec())
    };
    let tensors = [
        tensor("l.0.mlp.experts.gate_up_proj", &[2, 2, 2]),
        tensor("l.0.mixer.A_log", &[2, 2]),
        tensor("l.0.mixer.in_proj.weight", &[2, 2]),
        tensor("l.0.norm.weight", &[2]),
        tensor("patch.proj.weight", &[2, 2, 1, 1]),
        tensor("positions", &[2, 2]),
    ];
    let ids: (&str, &str, &[u64], Vec<u8>) = ("ids.weight", "I32", &[1, 2], vec![0; 8]);
    let tensors: Vec<_> = tensors.iter().chain([&ids]).map(|(a, b, c, d)| (*a, *b, *c, &d[..])).collect();
    for (options, kept) in [
        ("", &["l.0.mixer.A_log", "l.0.mlp.experts", "lm_head", "patch.proj", "positions"][..]),
        ("--map *.gate_up_proj=f8e4m3", &["l.0.mixer.A_log", "lm_head", "patch.proj", "positions"]),
    ] {
        let folder = Folder::new();
        folder.write("m/a.safetensors", checkpoint(&tensors));
        folder.write("m/config.json", "{}");
        let outcome = folder.cast(&format!("convert m out --quantize row --copy-others {options}"));
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        let config = json(&folder, "out/config.json");
        assert_eq!(config["quantization_config"]["ignore"], json!(kept), "{options}");
    }
    // An output layer with a scale is not named.
    let folder = Folder::new();
    folder.write("m/a.safetensors", checkpoint(&[("lm_head.weight", "F32", &[2, 2], &data[..16])]));
    folder.write("m/config.json", "{}");
    let outcome = folder.cast("convert m out --quantize row --copy-others --map lm_head.weight=f8e4m3");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(json(&folder, "out/config.json")["quantization_config"]["ignore"], json!([]));
}

/// transformers looks for linear layers. Those of GPT-2 are others; another model has linear ones of the same names.
#[test]
fn layers_with_transposed_weights_are_told() {
    let data = floats(&[1.0; 4]);
    let names = ["h.0.attn.c_attn.weight", "h.0.mlp.c_fc.weight", "h.0.other.weight"];
    let tensors = names.map(|name| (name, "F32", &[2, 2][..], &data[..]));
    let told = |layers: &str| {
        format!(
            "warning: m/config.json: transformers takes the codes without the scales in layers that are Conv1D, which \
             \"gpt2\" has: {layers} (--except leaves weights as they are)\n"
        )
    };
    let both = told("h.0.attn.c_attn and 1 more");
    let captions = json!({"decoder": {"model_type": "gpt2"}, "model_type": "vision-encoder-decoder"});
    for (config, options, warning) in [
        (json!({"model_type": "gpt2"}), "", both.as_str()),
        (captions, "", &both),
        (json!({"model_type": "gpt2"}), "--except *.c_fc.*", &told("h.0.attn.c_attn")),
        (json!({"model_type": "gpt2"}), "--except *.c_*", ""),
        (json!({"model_type": "gpt_bigcode"}), "", ""),
    ] {
        let folder = Folder::new();
        folder.write("m/a.safetensors", checkpoint(&tensors));
        folder.write("m/config.json", config.to_string());
        let outcome = folder.cast(&format!("convert m out --quantize row --copy-others {options}"));
        let told: String = outcome.stderr.split_inclusive('\n').filter(|line| line.starts_with("warning")).collect();
        assert_eq!((outcome.status, told), (Some(0), warning.to_owned()), "{config} {options}");
    }
}

/// If tensors are cast to other types, the configuration names the new type, or a warning says why not.
#[test]
fn configurations_name_the_type_of_what_is_cast_without_scales() {
    let weight = [0x3f80u16; 4].map(u16::to_le_bytes).concat();
    let bf16 = checkpoint(&[("l.weight", "BF16", &[2, 2], &weight), ("norm.weight", "BF16", &[4], &weight)]);
    for (options, warning) in [
        ("", ""),
        (
            "--map *norm*=float16",
            "warning: m/config.json: \"torch_dtype\" is left as \"bfloat16\", because the tensors have \
             several float types: float16, bfloat16\n",
        ),
    ] {
        let folder = Folder::new();
        folder.write("m/a.safetensors", &bf16);
        folder.write("m/config.json", r#"{"torch_dtype": "bfloat16", "quantization_config": {}}"#);
        let outcome = folder.cast(&format!("convert m out --quantize block --copy-others {options}"));
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        let (warnings, _) = outcome.stderr.split_at(warning.len());
        assert_eq!((warnings, outcome.stderr.lines().count()), (warning, 1 + warning.lines().count()));
        assert_eq!(json(&folder, "out/config.json")["torch_dtype"], "bfloat16");
    }
    // All that the model computes in is new.
    let folder = Folder::new();
    folder.write(
        "m/a.safetensors",
        checkpoint(&[("l.weight", "F16", &[2, 2], &weight), ("norm.weight", "F32", &[2], &floats(&[1.0; 2]))]),
    );
    folder.write("m/config.json", r#"{"quantization_config": {}, "torch_dtype": "float32"}"#);
    let outcome = folder.cast("convert m out --quantize block --copy-others --map *norm*=float16");
    assert_eq!((outcome.status, outcome.stderr.lines().count()), (Some(0), 1), "{}", outcome.stderr);
    let config = json(&folder, "out/config.json");
    assert_eq!((&config["torch_dtype"], &config["quantization_config"]["fmt"]), (&json!("float16"), &json!("e4m3")));
}

#[test]
fn long_configurations_are_copied_with_a_warning() {
    let folder = Folder::new();
    folder.write("m/a.safetensors", tensors());
    let text = format!("{{\"torch_dtype\": \"float32\"{}}}", " ".repeat(16 << 20));
    folder.write("m/x_config.json", &text);
    let outcome = folder.cast("convert m out --to f16 --copy-others");
    let warning = "warning: m/x_config.json: copied as it is, because it has 16777242 bytes, the limit is \
                   16777216";
    assert_eq!((outcome.status, outcome.stderr.lines().next()), (Some(0), Some(warning)));
    assert!(folder.read("out/x_config.json") == text.as_bytes());
}

/// The metadata of ComfyUI are those of the new codes.
#[test]
fn old_metadata_of_scales_are_not_kept() {
    let text = r#"{"__metadata__":{"_quantization_metadata":"{}","format":"pt"},"l.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}"#;
    let file = [&(text.len() as u64).to_le_bytes()[..], text.as_bytes(), &floats(&[1.0; 4])[..]].concat();
    let layers = r#"{"format_version":"1.0","layers":{"l":{"format":"float8_e4m3fn"}}}"#;
    for (layout, told) in [("tensor", Some(layers)), ("row", None), ("block", None)] {
        let folder = Folder::new();
        folder.write("a.safetensors", &file);
        let made = folder.convert(&format!("a.safetensors out.safetensors --quantize {layout}"));
        let (_, header) = safetensors::SafeTensors::read_metadata(&made).expect("a header");
        let metadata = header.metadata().clone().expect("metadata");
        let found = metadata.get("_quantization_metadata").map(String::as_str);
        assert_eq!((found, metadata["format"].as_str()), (told, "pt"), "{layout}");
    }
}
