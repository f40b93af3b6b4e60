//! Folders in folders, and the files beside the tensors: configurations and weights in other formats.

use crate::convert::checkpoint;
use crate::tool::{Folder, floats};

fn shard(folder: &Folder, file: &str, tensors: &[(&str, &str)]) {
    let data = [0; 8];
    let tensors: Vec<_> = tensors
        .iter()
        .map(|&(name, dtype)| {
            let bytes = if dtype == "F32" { 4 } else { 2 };
            (name, dtype, &[1][..], &data[..bytes])
        })
        .collect();
    folder.write(file, checkpoint(&tensors));
}

/// The layout of diffusers: folders with models of their own, and folders without any.
#[test]
fn folders_are_entered_and_keep_their_layout() {
    let folder = Folder::new();
    folder.write("m/model_index.json", "{}");
    folder.write("m/scheduler/scheduler_config.json", "{}");
    folder.write("m/unet/config.json", r#"{"dtype": "float32"}"#);
    for (file, name) in [("a", "x"), ("b", "y")] {
        shard(&folder, &format!("m/unet/{file}.safetensors"), &[(name, "F32")]);
        shard(&folder, &format!("m/deep/inner/{file}.safetensors"), &[(name, "F32")]);
    }
    let index = r#"{"weight_map":{"x":"a.safetensors","y":"b.safetensors"}}"#;
    folder.write("m/unet/m.safetensors.index.fp16.json", index);
    folder.write("m/deep/inner/m.safetensors.index.json", index);
    folder.write("m/.cache/hidden.safetensors", "no tensors");
    // What an earlier run made inside the folder is no input.
    for run in 0..2 {
        let outcome = folder.cast("convert m m/out --to float16 --copy-others");
        assert_eq!(outcome.status, Some(0), "{run}: {}", outcome.stderr);
        assert_eq!(folder.entries("m/out"), ["deep", "model_index.json", "scheduler", "unet"]);
        assert_eq!(folder.entries("m/out/scheduler"), ["scheduler_config.json"]);
        let files = ["a.safetensors", "b.safetensors", "config.json", "m.safetensors.index.fp16.json"];
        assert_eq!(folder.entries("m/out/unet"), files);
        assert_eq!(folder.entries("m/out/deep/inner"), ["a.safetensors", "b.safetensors", "m.safetensors.index.json"]);
        assert_eq!(folder.read("m/out/unet/config.json"), br#"{"dtype": "float16"}"#);
    }
    let listed = folder.cast("info m/out");
    let tensors = "x [1]: float16, 2 bytes\ny [1]: float16, 2 bytes\n".repeat(2);
    assert_eq!((listed.status, listed.text()), (Some(0), tensors.as_str()));
    for part in ["1/2", "2/2"] {
        let outcome = folder.cast(&format!("convert m/unet parts --to float16 --copy-others --part {part}"));
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    }
    assert_eq!(folder.cast("merge-index parts").status, Some(0));
    assert_eq!(folder.entries("parts"), folder.entries("m/out/unet"));
}

/// The parts of models in folders.
#[test]
fn parts_of_models_in_folders_are_joined() {
    let folder = Folder::new();
    for model in ["one", "two"] {
        shard(&folder, &format!("m/{model}/a.safetensors"), &[("x", "F32")]);
        folder.write(&format!("m/{model}/m.safetensors.index.json"), r#"{"weight_map":{"x":"a.safetensors"}}"#);
    }
    for part in ["1/2", "2/2"] {
        let outcome = folder.cast(&format!("convert m parts --to float16 --resume --part {part}"));
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    }
    let merged = folder.cast("merge-index parts");
    let lines = "m.safetensors.index.json: 1 tensor from 2 parts\n".repeat(2);
    assert_eq!((merged.status, merged.stderr), (Some(0), lines));
    assert_eq!(folder.entries("parts"), ["one", "two"]);
    assert_eq!(folder.entries("parts/two"), ["a.safetensors", "m.safetensors.index.json"]);
}

/// A conversion that is refused leaves none of the folders that it made.
#[test]
#[cfg(unix)]
fn links_to_folders_are_not_entered() {
    let folder = Folder::new();
    shard(&folder, "m/inner/a.safetensors", &[("x", "F32")]);
    std::os::unix::fs::symlink("..", folder.path().join("m/inner/up")).expect("a link");
    let outcome = folder.cast("convert m out --to float16 --quiet");
    let line = "warning: m/inner/up: a link to a folder is not entered";
    assert_eq!((outcome.status, outcome.line()), (Some(0), line));
    assert_eq!(folder.entries("out/inner"), ["a.safetensors"]);
    folder.write("large", floats(&[1e30]));
    folder.write("m/b.safetensors", checkpoint(&[("large", "F32", &[1], &floats(&[1e30]))]));
    let outcome = folder.cast("convert m refused --to float16 --quiet --strict");
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    assert!(!folder.path().join("refused").exists());
}

/// The type is written in the spelling of the field, and the rest of the text stays.
#[test]
fn the_type_in_configurations_is_the_new_one() {
    let before = r#"{
    "architectures": ["X"],   "torch_dtype" : "float32", "more": {"dtype": "torch.float32"},
  "text_config":{"torch_dtype":"fp32","x":1e2},"list":[{"dtype":"float32"}], "other": {"dtype": "auto"},
  "vision_config": {"dtype": "bfloat16", "torch_dtype": null}
}

"#;
    let after = r#"{
    "architectures": ["X"],   "torch_dtype" : "bfloat16", "more": {"dtype": "torch.bfloat16"},
  "text_config":{"torch_dtype":"bf16","x":1e2},"list":[{"dtype":"float32"}], "other": {"dtype": "auto"},
  "vision_config": {"dtype": "bfloat16", "torch_dtype": null}
}

"#;
    let folder = Folder::new();
    shard(&folder, "m/a.safetensors", &[("x", "F32"), ("y", "F16"), ("n", "I16")]);
    for name in ["config.json", "generation_config.json", "tokenizer.json"] {
        folder.write(&format!("m/{name}"), before);
    }
    let outcome = folder.cast("convert m out --to bfloat16 --copy-others --quiet");
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    for name in ["config.json", "generation_config.json"] {
        assert_eq!(String::from_utf8(folder.read(&format!("out/{name}"))).expect("UTF-8"), after, "{name}");
    }
    assert_eq!(folder.read("out/tokenizer.json"), before.as_bytes());
    let outcome = folder.cast("convert m eight --to float8e4m3fn --copy-others --quiet");
    let what = "\"torch_dtype\" is left as \"fp32\", because float8e4m3fn has no name of this kind";
    assert_eq!(
        (outcome.status, outcome.stderr),
        (Some(0), format!("warning: m/config.json: {what}\nwarning: m/generation_config.json: {what}\n"))
    );
    let eight = String::from_utf8(folder.read("eight/config.json")).expect("UTF-8");
    assert_eq!(
        eight,
        after
            .replace("\"bfloat16\"", "\"float8_e4m3fn\"")
            .replace("torch.bfloat16", "torch.float8_e4m3fn")
            .replace("bf16", "fp32")
    );
}

/// What cannot be written is left, and said.
#[test]
fn what_is_left_in_configurations_is_told() {
    let folder = Folder::new();
    shard(&folder, "m/a.safetensors", &[("x", "F32"), ("norm", "F32")]);
    shard(&folder, "m/b.safetensors", &[("n", "I16"), ("y", "F32")]);
    let text = r#"{"torch_dtype": "float32", "quantization_config": {"dtype": "float32"}}"#;
    folder.write("m/config.json", text);
    folder.write("m/bad_config.json", "{");
    folder.write("m/weights.pt", "a pickle");
    folder.write(
        "m/m.safetensors.index.json",
        r#"{"weight_map":{"x":"a.safetensors","norm":"a.safetensors","n":"b.safetensors","y":"b.safetensors"}}"#,
    );
    let bad = "warning: m/bad_config.json: copied as it is, because it is no JSON object: EOF while parsing an object at line 1 column 1\n";
    let pickle = "warning: m/weights.pt: copied as it is; tensors in it are not converted\n";
    let several = "warning: m/config.json: \"torch_dtype\" is left as \"float32\", because the tensors have several float types: float, float16\n";
    let quantized =
        "warning: m/config.json: \"quantization_config\" is left as it is, and may not hold for the tensors any more\n";
    let outcome = folder.cast("convert m out --to float16 --except norm --copy-others --quiet");
    assert_eq!((outcome.status, outcome.stderr), (Some(0), format!("{bad}{several}{quantized}{pickle}")));
    assert_eq!(folder.read("out/config.json"), text.as_bytes());
    // The first part has no tensor that stays, but another part has.
    let outcome = folder.cast("convert m parts --to float16 --except y --copy-others --quiet --part 1/2");
    assert_eq!((outcome.status, outcome.stderr), (Some(0), format!("{bad}{several}{quantized}{pickle}")));
    assert_eq!(folder.read("parts/config.json"), text.as_bytes());
    // Nothing is cast, so everything holds.
    let outcome = folder.cast("convert m same --map *=keep --copy-others --quiet");
    assert_eq!((outcome.status, outcome.stderr), (Some(0), pickle.to_owned()));
    assert_eq!(folder.read("same/config.json"), text.as_bytes());
}

/// Scales have a type of their own, which is not that of the model.
#[test]
fn scales_that_stay_do_not_count_for_the_type_in_configurations() {
    let folder = Folder::new();
    let tensors = [("w", "I8", &[1][..], &[0; 1][..]), ("w_scale", "F32", &[1], &[0; 4]), ("x", "BF16", &[1], &[0; 2])];
    folder.write("m/a.safetensors", checkpoint(&tensors));
    let index = r#"{"weight_map":{"w":"a.safetensors","w_scale":"a.safetensors","x":"a.safetensors"}}"#;
    folder.write("m/m.safetensors.index.json", index);
    folder.write("m/config.json", r#"{"torch_dtype": "bfloat16"}"#);
    let outcome = folder.cast("convert m out --to float16 --from bfloat16 --copy-others --quiet");
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    assert_eq!(folder.read("out/config.json"), br#"{"torch_dtype": "float16"}"#);
}
