//! `convert --dequantize`: what does not fit is refused by name.

use crate::convert::checkpoint;
use crate::dequantize::{made, pair, tensors_of};
use crate::tool::{Folder, floats};

type Tensor<'a> = (&'a str, &'a str, &'a [u64], &'a [u8]);

const DEEPSEEK: &str = "(deepseek-ai/DeepSeek-V3, inference/kernel.py)";
const COMPRESSED: &str = "vllm-project/compressed-tensors, src/compressed_tensors";

/// Checkpoints whose scales do not fit, and the error of each.
#[test]
fn what_does_not_fit_is_refused() {
    let codes: Tensor<'_> = ("l.weight", "F8_E4M3", &[2, 2], &[0x38; 4]);
    let [one, nan, infinite, zero] = [1.0, f32::NAN, f32::NEG_INFINITY, 0.0].map(|scale| floats(&[scale]));
    let four = floats(&[1.0; 4]);
    let inverse = |dtype, shape, bytes| -> Vec<Tensor<'_>> { vec![codes, ("l.weight_scale_inv", dtype, shape, bytes)] };
    let with = |more: &[Tensor<'static>]| [&[codes][..], more].concat();
    let method =
        |name: &str| format!(r#"{{"quantization_config": {{"quant_method": "{name}", "config_groups": {{}}}}}}"#);
    let compressed = r#"{"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {"0": {"weights":
        {"num_bits": 8, "type": "float", "strategy": "channel"}}, "1": {"weights":
        {"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [1, 2]}}}}}"#;
    let pairs: Tensor<'_> = ("l.weight", "U8", &[1, 8], &[0x22; 8]);
    let packed: Tensor<'_> = ("l.weight_packed", "U8", &[1, 8], &[0x22; 8]);
    let groups: Tensor<'_> = ("l.weight_scale", "F8_E4M3", &[1, 1], &[0x38]);
    let words: Tensor<'_> = ("l.weight_packed", "I32", &[2, 1], &[0x11; 8]);
    let of_words: Tensor<'_> = ("l.weight_scale", "F32", &[2, 1], &[0; 8]);
    let shape: Tensor<'_> = ("l.weight_shape", "I32", &[2], &[2, 0, 0, 0, 8, 0, 0, 0]);
    let cases: Vec<(Vec<Tensor<'_>>, String, String)> = vec![
        (
            inverse("F32", &[1, 1], &nan),
            String::new(),
            "tensor \"l.weight\": the scale \"l.weight_scale_inv\" is NaN at index 0".to_owned(),
        ),
        (
            inverse("F32", &[1, 1], &infinite),
            String::new(),
            "tensor \"l.weight\": the scale \"l.weight_scale_inv\" is -inf at index 0".to_owned(),
        ),
        (
            inverse("F8_E8M0", &[1, 1], &[0xff]),
            String::new(),
            "tensor \"l.weight\": the scale \"l.weight_scale_inv\" is NaN at index 0".to_owned(),
        ),
        (
            inverse("F32", &[2, 2], &four),
            String::new(),
            format!(
                "l.weight: its scale l.weight_scale_inv has the shape [2, 2], and [1, 1] would fit, with blocks of 128 x \
                 128 {DEEPSEEK}"
            ),
        ),
        (
            inverse("F32", &[1], &one),
            String::new(),
            format!(
                "l.weight: its scale l.weight_scale_inv has the shape [1], and [1, 1] would fit, with blocks of 128 x 128 \
                 {DEEPSEEK}"
            ),
        ),
        (
            inverse("F32", &[1, 1], &one),
            r#"{"quantization_config": {"quant_method": "fp8", "weight_block_size": [1, 2]}}"#.to_owned(),
            format!(
                "l.weight: its scale l.weight_scale_inv has the shape [1, 1], and [2, 1] would fit, with blocks of 1 x 2 \
                 {DEEPSEEK}"
            ),
        ),
        (
            inverse("F32", &[2, 2], &four),
            r#"{"quantization_config": {"quant_method": "fp8", "weight_block_size": null}}"#.to_owned(),
            format!("l.weight: its scale l.weight_scale_inv has the shape [2, 2], and [] would fit {DEEPSEEK}"),
        ),
        (
            inverse("I32", &[1, 1], &one),
            String::new(),
            "l.weight: float8e4m3fn with the scale l.weight_scale_inv of int32 is in no layout; known are \
             float8e4m3fn/float8e5m2 by float/bfloat16/float16/float8e8m0"
                .to_owned(),
        ),
        (
            inverse("F32", &[1, 1], &one),
            method("gptq"),
            format!(
                "l.weight: \"quantization_config\" in m/config.json is of \"gptq\", and its layout is one of fp8 {DEEPSEEK}"
            ),
        ),
        (
            vec![codes, ("l.weight_scale", "F32", &[1], &one), ("l.weight_scale_inv", "F32", &[1, 1], &one)],
            String::new(),
            "l.weight: it has two scales, l.weight_scale_inv and l.weight_scale".to_owned(),
        ),
        (
            vec![codes, ("l.weight_scale", "F32", &[2, 2], &four)],
            String::new(),
            format!(
                "l.weight: its scale l.weight_scale has the shape [2, 2], and [] or [2, 1] would fit \
                 ({COMPRESSED}/quantization/lifecycle/forward.py)"
            ),
        ),
        (
            vec![codes, ("l.weight_scale", "F32", &[2, 2], &four)],
            compressed.to_owned(),
            format!(
                "l.weight: its scale l.weight_scale has the shape [2, 2], and [2, 1] would fit by \
                 \"quantization_config\" in m/config.json ({COMPRESSED}/quantization/lifecycle/forward.py)"
            ),
        ),
        (
            with(&[("l.weight_zero_point", "I8", &[2, 1], &[0; 2])]),
            String::new(),
            "l.weight: its scale l.weight_scale_inv is in no file of the model".to_owned(),
        ),
        (
            with(&[("l.input_scale", "F32", &[], &[0; 4])]),
            String::new(),
            "l.weight: its scale l.weight_scale_inv is in no file of the model".to_owned(),
        ),
        (
            [inverse("F32", &[1, 1], &one), vec![("m.weight", "F8_E4M3", &[2], &[0; 2])]].concat(),
            String::new(),
            "m.weight is float8e4m3fn, and its scale m.weight_scale_inv is in no file of the model (--except GLOB leaves \
             such tensors as they are)"
                .to_owned(),
        ),
        (
            vec![("l.qweight", "I32", &[1], &[0; 4]), ("l.scales", "F16", &[1], &[0; 2])],
            String::new(),
            "l.qweight: codes with l.scales are in no layout that can be multiplied".to_owned(),
        ),
        (
            vec![codes, ("l.weight_scale_inv", "F32", &[1, 1], &one), ("l.weight.absmax", "F32", &[1], &one)],
            String::new(),
            "l.weight: codes with l.weight.absmax are in no layout that can be multiplied".to_owned(),
        ),
        (
            vec![pairs, groups],
            String::new(),
            "l.weight: its scale l.weight_scale_2 is in no file of the model".to_owned(),
        ),
        (
            vec![packed, groups],
            String::new(),
            "l.weight_packed: its scale l.weight_global_scale is in no file of the model".to_owned(),
        ),
        (
            vec![packed, groups, ("l.weight_global_scale", "F32", &[1], &zero)],
            String::new(),
            "l.weight_packed: its scale l.weight_global_scale divides, and is 0".to_owned(),
        ),
        (
            vec![pairs, groups, ("l.weight_scale_2", "F32", &[1], &nan)],
            String::new(),
            "l.weight: its scale l.weight_scale_2 is NaN".to_owned(),
        ),
        (
            vec![pairs, groups, ("l.weight_scale_2", "F32", &[4], &four)],
            String::new(),
            "l.weight: its scale l.weight_scale_2 has the shape [4], and one element was expected".to_owned(),
        ),
        (
            vec![pairs, groups, ("l.weight_scale_2", "I32", &[], &one)],
            String::new(),
            "l.weight: its scale l.weight_scale_2 is int32, and a float was expected".to_owned(),
        ),
        (
            vec![pairs, groups, ("l.weight_scale_2", "F32", &[1], &one), ("l.weight_zero_point", "I8", &[1, 1], &[0])],
            String::new(),
            "l.weight: l.weight_zero_point is not expected for float4e2m1 (NVIDIA/Model-Optimizer, \
             modelopt/torch/quantization/qtensor/nvfp4_tensor.py)"
                .to_owned(),
        ),
        (
            vec![codes, ("l.weight_scale", "F32", &[1], &one), ("l.weight_scale_2", "F32", &[1], &one)],
            String::new(),
            format!(
                "l.weight: l.weight_scale_2 is no scale of this layout ({COMPRESSED}/quantization/lifecycle/forward.py)"
            ),
        ),
        (
            vec![
                pairs,
                groups,
                ("l.weight_scale_2", "F32", &[1], &one),
                ("l.comfy_quant", "U8", &[18], br#"{"format":"nvfp4"}"#),
            ],
            String::new(),
            "l.weight: l.comfy_quant says \"nvfp4\"; known are float8_e4m3fn and float8_e5m2 of this type \
             (comfyanonymous/ComfyUI, comfy/quant_ops.py)"
                .to_owned(),
        ),
        (
            vec![words, of_words],
            String::new(),
            "l.weight_packed: its shape l.weight_shape is in no file of the model".to_owned(),
        ),
        (
            vec![words, of_words, ("l.weight_shape", "I32", &[2], &[2, 0, 0, 0, 9, 0, 0, 0])],
            String::new(),
            "l.weight_packed: its shape [2, 1] is not that of 4 or 8 bits for [2, 9], which l.weight_shape says".to_owned(),
        ),
        (
            vec![words, of_words, ("l.weight_shape", "F32", &[2], &[0; 8])],
            String::new(),
            "l.weight_packed: l.weight_shape: two sizes of int64 or int32 were expected".to_owned(),
        ),
        (
            vec![words, of_words, shape, ("l.weight_zero_point", "I32", &[2, 1], &[0; 8])],
            String::new(),
            format!(
                "l.weight_packed: its zero point l.weight_zero_point is int32 of shape [2, 1], and int32 of [1, 1] would \
                 fit ({COMPRESSED}/compressors/pack_quantized/base.py)"
            ),
        ),
        (
            vec![words, of_words, shape, ("l.weight_g_idx", "I32", &[2], &[0; 8])],
            String::new(),
            "l.weight_packed: codes with l.weight_g_idx are in no layout that can be multiplied".to_owned(),
        ),
        (
            vec![words, ("l.weight_scale", "F32", &[1, 2], &[0; 8]), shape],
            String::new(),
            format!(
                "l.weight_packed: its scale l.weight_scale has the shape [1, 2], and [2, groups of a row] was expected \
                 ({COMPRESSED}/compressors/pack_quantized/base.py)"
            ),
        ),
        (
            vec![("l.weight", "I8", &[2, 2], &[1; 4]), ("l.weight_scale", "F32", &[2, 1], &[0; 8])],
            r#"{"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {"0": {"weights":
            {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": false}}}}}"#
                .to_owned(),
            "l.weight: its zero point l.weight_zero_point is in no file of the model".to_owned(),
        ),
        (
            vec![codes, ("l.weight_scale_inv", "F32", &[1, 1], &one), ("e.gate_up", "U8", &[2], &[0; 2])],
            method("fp8"),
            "e.gate_up is uint8, and its scale e.gate_up_scale_inv is in no file of the model (--except GLOB leaves such \
             tensors as they are)"
                .to_owned(),
        ),
        (
            vec![("e_blocks", "U8", &[1, 1, 1, 16], &[0; 16]), ("e_scales", "U8", &[1, 1, 1], &[0])],
            String::new(),
            "e_blocks: its scale e_scales has the shape [1, 1, 1], and codes of shape [experts, rows, groups, 16] with an \
             even number of rows were expected (huggingface/transformers, src/transformers/integrations/mxfp4.py)"
                .to_owned(),
        ),
        (
            vec![("e.blocks", "U8", &[1, 8], &[0; 8]), ("e.scales", "U8", &[1], &[0])],
            String::new(),
            "e.blocks: its scale e.scales has the shape [1], and codes of 16 bytes for each scale were expected \
             (openai/gpt-oss, gpt_oss/torch/weights.py)"
                .to_owned(),
        ),
        (
            vec![("l.weight", "F8_E4M3", &[0, 2], &[]), ("l.weight_scale", "F32", &[], &one)],
            String::new(),
            "l.weight: it has no elements".to_owned(),
        ),
    ];
    let mut wrong = Vec::new();
    for (tensors, config, expected) in cases {
        let folder = Folder::new();
        folder.write("m/a.safetensors", checkpoint(&tensors));
        if !config.is_empty() {
            folder.write("m/config.json", config);
        }
        let outcome = folder.cast("convert m/a.safetensors out.safetensors --dequantize");
        let expected = format!("wgpu-cast: m/a.safetensors: {expected}");
        if (outcome.status, outcome.stderr.trim_end()) != (Some(1), &expected) {
            wrong.push(format!("{expected}\n{:?} {}", outcome.status, outcome.stderr));
        }
        assert!(!wrong.is_empty() || folder.names() == ["m"]);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Two files with one scale, and a shard that cannot be read.
#[test]
fn scales_in_several_files_or_in_none() {
    let folder = Folder::new();
    let scale = floats(&[2.0]);
    let scales = checkpoint(&[("l.weight_scale_inv", "F32", &[1, 1], &scale)]);
    let codes = checkpoint(&[("l.weight", "F8_E4M3", &[2, 2], &[0x38; 4])]);
    folder.write("m/a.safetensors", &codes);
    folder.write("m/b.safetensors", &scales);
    folder.write("m/c.safetensors", &scales);
    let outcome = folder.cast("convert m out --dequantize");
    let message = "wgpu-cast: m/a.safetensors: l.weight: its scale l.weight_scale_inv is in two files, m/b.safetensors and \
                   m/c.safetensors";
    assert_eq!((outcome.status, outcome.line()), (Some(1), message));
    // The file beside it alone is not of the run.
    let outcome = folder.cast("convert m/a.safetensors out.safetensors --dequantize");
    let message = "wgpu-cast: --dequantize: no tensor that the rules choose has a scale";
    assert_eq!((outcome.status, outcome.line()), (Some(2), message));

    std::fs::remove_file(folder.path().join("m/c.safetensors")).expect("a file");
    let index = r#"{"weight_map":{"l.weight":"a.safetensors","l.weight_scale_inv":"b.safetensors"}}"#;
    folder.write("m/model.safetensors.index.json", index);
    folder.write("m/b.safetensors", [0; 4]);
    let outcome = folder.cast("convert m/a.safetensors out.safetensors --dequantize");
    let message = "wgpu-cast: m/a.safetensors: l.weight: its scale l.weight_scale_inv is in m/b.safetensors, which cannot \
                   be read";
    assert_eq!((outcome.status, outcome.line()), (Some(1), message));
    // One shard alone reads its scale from the other, which must not be replaced.
    folder.write("m/b.safetensors", &scales);
    let outcome = folder.cast("convert m/a.safetensors m/b.safetensors --dequantize");
    let message = "wgpu-cast: m/b.safetensors: the output of m/a.safetensors would replace the file with scales of the \
                   input m/a.safetensors";
    assert_eq!((outcome.status, outcome.line()), (Some(2), message));
    let output = folder.convert("m/a.safetensors out.safetensors --dequantize");
    assert_eq!(tensors_of(&output)[0].3, [0x00, 0x40].repeat(4));
    // In place, both are replaced at the end.
    let outcome = folder.cast("convert m m --dequantize --in-place");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(made(&folder, "m"), tensors_of(&output));
}

/// Without the configuration, blocks of another size could fit.
#[test]
fn a_configuration_that_cannot_be_read() {
    let folder = Folder::new();
    folder.write("m/a.safetensors", pair(&[2, 2], "F32", &[1, 1], &floats(&[2.0])));
    folder.write("m/config.json", "{ broken");
    let outcome = folder.cast("convert m out --dequantize");
    let message = "wgpu-cast: m/config.json: the configuration is not JSON: key must be a string at line 1 column 3";
    assert_eq!((outcome.status, outcome.line()), (Some(1), message));
    assert!(!folder.path().join("out/a.safetensors").exists());
}

#[test]
fn options_that_do_not_apply() {
    let folder = Folder::new();
    folder.write("a.safetensors", pair(&[2, 2], "F32", &[1, 1], &floats(&[2.0])));
    folder.write("b.npy", crate::tool::npy("<f4", false, "(1,)", &[0; 4]));
    folder.write("c.safetensors", checkpoint(&[("w", "F32", &[1], &floats(&[2.0]))]));
    for (line, message) in [
        (
            "a.safetensors out.safetensors --dequantize --device gpu",
            "--dequantize: scales are applied on the CPU, not on a GPU",
        ),
        ("b.npy out.npy --dequantize --to f16", "--dequantize is for .safetensors files"),
        ("c.safetensors out.safetensors --dequantize", "--dequantize: no tensor that the rules choose has a scale"),
        (
            "a.safetensors out.safetensors --dequantize --to f16 --except l.weight",
            "--dequantize: no tensor that the rules choose has a scale",
        ),
    ] {
        let outcome = folder.cast(&format!("convert {line}"));
        assert_eq!((outcome.status, outcome.line()), (Some(2), format!("wgpu-cast: {message}").as_str()));
    }
    let outcome = folder.cast("convert a.safetensors out.safetensors --dequantize --ignore-scales");
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("'--dequantize' cannot be used with '--ignore-scales'"), "{}", outcome.stderr);
}
