//! `convert --dequantize`: rules, parts of a model, and runs that were interrupted.

use crate::convert::checkpoint;
use crate::dequantize::{copy, expected, json, made, shown, tensors_of};
use crate::tool::{Folder, binary, floats};

/// Codes that the rules keep keep their scales, and the configuration stays.
#[test]
fn kept_codes_keep_their_scales() {
    let folder = Folder::new();
    copy(&folder, "deepseek");
    let outcome = folder.cast("convert m out --dequantize --copy-others --map l.b.weight=keep");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let lines: Vec<_> = outcome.stderr.lines().collect();
    let lines_expected = [
        "warning: m/config.json: \"quantization_config\" is left as it is, and may not hold for the tensors any more",
        "warning: m/config.json: \"torch_dtype\" is left as \"bfloat16\", because the tensors have several float types: \
         bfloat16, float8e4m3fn",
        "1 scale stays as it is (--map converts scales)",
    ];
    assert_eq!(lines[..3], lines_expected);
    let kept = made(&folder, "out");
    let names = [
        "l.a.weight BF16 [40, 70]",
        "l.b.weight F8_E4M3 [16, 64]",
        "l.b.weight_scale_inv BF16 [1, 2]",
        "l.experts.gate_up_proj BF16 [2, 20, 40]",
        "l.norm.weight BF16 [5]",
    ];
    assert_eq!(shown(&kept), names);
    assert!(json(&folder, "out/config.json")["quantization_config"].is_object());
    // The rest can be done later.
    let outcome = folder.cast("convert out rest --dequantize --copy-others");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(made(&folder, "rest"), expected("deepseek"));
}

/// A file from a pipe has its scales itself. What is needed before any work is not read from it.
#[test]
fn files_from_a_pipe() {
    let folder = Folder::new();
    for (model, message) in [
        ("fp8-modelopt", None),
        (
            "nvfp4-modelopt",
            Some(
                "wgpu-cast: -: a.weight: a.weight_scale_2: it is needed before any work, and is not read from a pipe (give a file)",
            ),
        ),
    ] {
        copy(&folder, model);
        let line = "convert - out.safetensors --in-format safetensors --dequantize";
        let outcome = folder.cast_from("m/model.safetensors", line);
        match message {
            Some(message) => assert_eq!((outcome.status, outcome.line()), (Some(1), message)),
            None => {
                assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
                assert_eq!(tensors_of(&folder.read("out.safetensors")), expected(model));
            }
        }
    }
}

/// Codes that `--from` leaves in another part's shard keep the configuration, too.
#[test]
fn codes_of_another_part_keep_the_configuration() {
    let folder = Folder::new();
    for (name, shard, dtype) in [("a", 1, "F8_E4M3"), ("b", 2, "F8_E5M2")] {
        let [codes, scale] = [format!("{name}.weight"), format!("{name}.weight_scale")];
        let tensors: [(&str, &str, &[u64], &[u8]); 2] =
            [(&codes, dtype, &[2, 2], &[0x38; 4]), (&scale, "F32", &[1], &floats(&[2.0]))];
        folder.write(&format!("m/model-0000{shard}-of-00002.safetensors"), checkpoint(&tensors));
    }
    let index = r#"{"weight_map":{"a.weight":"model-00001-of-00002.safetensors",
        "a.weight_scale":"model-00001-of-00002.safetensors","b.weight":"model-00002-of-00002.safetensors",
        "b.weight_scale":"model-00002-of-00002.safetensors"}}"#;
    folder.write("m/model.safetensors.index.json", index);
    let config = r#"{"quantization_config":{"quant_method":"fp8"}}"#;
    folder.write("m/config.json", config);
    let outcome = folder.cast("convert m out --dequantize --from float8e4m3fn --to bf16 --copy-others --part 1/2");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let warning =
        "warning: m/config.json: \"quantization_config\" is left as it is, and may not hold for the tensors any more";
    assert_eq!(outcome.stderr.lines().next(), Some(warning));
    assert_eq!(folder.read("out/config.json"), config.as_bytes());
}

/// Each part reads scales of the other part's shard.
#[test]
fn parts_join_to_the_bytes_of_one_run() {
    let folder = Folder::new();
    copy(&folder, "deepseek");
    folder.parts_join("--dequantize --copy-others");
}

/// A conversion that ended at its second shard goes on there, and a scale that changed begins it anew.
#[test]
fn interrupted_conversions_are_continued() {
    let folder = Folder::new();
    copy(&folder, "deepseek");
    let line = "convert m out --dequantize --resume";
    let blocked = folder.path().join("out/model-00002-of-00002.safetensors.cast-partial");
    std::fs::create_dir_all(&blocked).expect("a folder");
    assert_eq!(folder.cast(line).status, Some(1));
    std::fs::remove_dir(&blocked).expect("a folder");
    let first = folder.path().join("out/model-00001-of-00002.safetensors");
    let before = std::fs::metadata(&first).and_then(|file| file.modified()).expect("a file");
    let outcome = folder.cast(line);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.line().contains(" of it were there already; no value was lost"), "{}", outcome.stderr);
    assert_eq!(std::fs::metadata(&first).and_then(|file| file.modified()).expect("a file"), before);
    assert_eq!(made(&folder, "out"), expected("deepseek"));

    // The scales of the first shard are in the second.
    std::fs::create_dir(&blocked).expect("a folder");
    assert_eq!(folder.cast(line).status, Some(1));
    std::fs::remove_dir(&blocked).expect("a folder");
    let second = folder.read("m/model-00002-of-00002.safetensors");
    folder.write("m/model-00002-of-00002.safetensors", second);
    let outcome = folder.cast(line);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(!outcome.line().contains("there already"), "{}", outcome.stderr);
    assert_eq!(made(&folder, "out"), expected("deepseek"));
}

/// SIGKILL after the first shard.
#[test]
#[cfg(unix)]
fn a_killed_conversion_is_continued() {
    use std::process::{Command, Stdio};
    let folder = Folder::new();
    let codes: Vec<u8> = (0..4 << 20).map(|at| (at % 127) as u8).collect();
    let scale = floats(&[1.5]);
    folder.write(
        "m/a.safetensors",
        checkpoint(&[("a.weight", "F8_E4M3", &[2], &[0x38; 2]), ("b.weight_scale", "F32", &[1], &scale)]),
    );
    folder.write(
        "m/b.safetensors",
        checkpoint(&[("b.weight", "F8_E4M3", &[1 << 12, 1 << 10], &codes), ("a.weight_scale", "F32", &[1], &scale)]),
    );
    let whole = folder.cast("convert m whole --dequantize");
    assert_eq!(whole.status, Some(0), "{}", whole.stderr);
    let line = "convert m out --dequantize --resume --memory 1MiB --quiet";
    let mut command = Command::new(binary());
    command.args(line.split_whitespace()).current_dir(folder.path()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the binary runs");
    while !folder.path().join("out/a.safetensors").exists() {
        assert!(child.try_wait().expect("a child").is_none(), "it runs");
        std::thread::yield_now();
    }
    child.kill().expect("a process");
    child.wait().expect("a process");
    let outcome = folder.cast(line);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(folder.entries("out"), ["a.safetensors", "b.safetensors"]);
    assert!(made(&folder, "out") == made(&folder, "whole"));
}

/// The folder would tell of scales that are gone.
#[test]
fn in_place_the_configuration_is_changed_as_well() {
    let folder = Folder::new();
    copy(&folder, "deepseek");
    let outcome = folder.cast("convert m m --dequantize --in-place");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(json(&folder, "m/config.json").get("quantization_config").is_none());
    let outcome = folder.cast("convert m m --quantize block --in-place");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(json(&folder, "m/config.json").get("quantization_config").is_some());
}

/// A file that is converted in place, without its folder, leaves a configuration that tells of other scales.
#[test]
fn in_place_a_file_tells_of_the_configuration_beside_it() {
    let folder = Folder::new();
    let tensors: [(&str, &str, &[u64], &[u8]); 2] =
        [("a.weight", "F8_E4M3", &[2, 2], &[0x38; 4]), ("a.weight_scale", "F32", &[1], &floats(&[2.0]))];
    folder.write("m/model.safetensors", checkpoint(&tensors));
    let warning = |name: &str| format!("warning: m/{name}: left as it is; it does not hold for the tensors any more");
    let of_config = warning("config.json") + " (a conversion of the whole folder changes it)";
    let perhaps = "warning: m/config.json: left as it is, and may not hold for the tensors any more".to_owned();
    for (config, expected) in
        [(r#"{"quantization_config":{"quant_method":"fp8"}}"#, Some(&of_config)), ("[]", Some(&perhaps)), ("{}", None)]
    {
        folder.write("m/config.json", config);
        folder.write("m/model.safetensors", checkpoint(&tensors));
        let outcome = folder.cast("convert m/model.safetensors m/model.safetensors --dequantize --in-place");
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        let told = outcome.stderr.lines().find(|line| line.starts_with("warning: m/config.json"));
        assert_eq!(told, expected.map(|text| &text[..]), "{}", outcome.stderr);
        assert_eq!(folder.read("m/config.json"), config.as_bytes());
    }
    folder.write("m/hf_quant_config.json", "{}");
    folder.write("m/model.safetensors", checkpoint(&tensors));
    let outcome = folder.cast("convert m/model.safetensors m/model.safetensors --dequantize --in-place");
    assert_eq!(outcome.stderr.lines().next(), Some(&warning("hf_quant_config.json")[..]));
    let outcome = folder.cast("convert m/model.safetensors m/model.safetensors --quantize tensor --in-place");
    assert_eq!(outcome.stderr.lines().next(), Some(&of_config[..]));
}
