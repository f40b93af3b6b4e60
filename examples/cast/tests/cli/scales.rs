//! Tensors that are stored with scales: their codes are not cast as if they were values.

use std::collections::HashMap;

use safetensors::tensor::{Dtype, TensorView};

use crate::convert::checkpoint;
use crate::tool::Folder;

/// Each layout: a name and a type of codes, and the name and the type of what belongs to them.
const LAYOUTS: [[&str; 4]; 28] = [
    ["l.weight", "F8_E4M3", "l.weight_scale_inv", "F32"],
    ["l.gate_up_proj", "F8_E4M3", "l.gate_up_proj_scale_inv", "F32"],
    ["l.weight", "F8_E4M3", "l.weight_scale", "BF16"],
    ["l.weight", "F8_E5M2", "l.weight_scale", "F32"],
    ["l.weight", "I8", "l.weight_scale", "F32"],
    ["l.weight", "F8_E4M3", "l.weight_scale", "F8_E8M0"],
    ["l.weight", "F4", "l.weight_scale", "F8_E4M3"],
    ["l.weight", "F8_E4M3", "l.scale_weight", "F32"],
    ["l.weight", "F8_E4M3", "l.scale", "F8_E8M0"],
    ["l.gate_up_proj_blocks", "U8", "l.gate_up_proj_scales", "U8"],
    ["l.mlp1_weight.blocks", "U8", "l.mlp1_weight.scales", "U8"],
    ["l.weight_packed", "I32", "l.weight_scale", "BF16"],
    ["l.weight_packed", "U8", "l.weight_global_scale", "F32"],
    ["l.weight_packed", "I32", "l.weight_zero_point", "I32"],
    ["l.weight_packed", "U8", "l.input_global_scale", "F32"],
    ["l.weight", "I8", "l.weight_zero_point", "I8"],
    ["l.weight", "U8", "l.weight_scale_2", "F32"],
    ["l.qweight", "I32", "l.scales", "F16"],
    ["l.qweight", "I32", "l.qzeros", "I32"],
    ["l.weight", "U32", "l.scales", "BF16"],
    ["l.weight", "U32", "l.biases", "BF16"],
    ["l.weight", "I8", "l.SCB", "F32"],
    ["l.weight", "U8", "l.weight.absmax", "F32"],
    ["l.weight", "U8", "l.weight.nested_absmax", "F32"],
    ["l.weight._data", "I8", "l.weight._scale", "F32"],
    ["l.weight", "F8_E4M3", "l.input_scale", "F32"],
    ["l.weight", "F8_E4M3", "l.scale_input", "F32"],
    ["l.weight", "F8_E4M3", "l.comfy_quant", "U8"],
];

/// A tensor of eight zero bytes, and two elements or more.
fn tensor(name: &'static str, dtype: &'static str) -> (&'static str, &'static str, &'static [u64], &'static [u8]) {
    let shape: &[u64] = match dtype {
        "F4" => &[16],
        "F32" | "I32" | "U32" => &[2],
        "F16" | "BF16" => &[4],
        _ => &[8],
    };
    (name, dtype, shape, &[0; 8])
}

/// The names of types here, as safetensors has them.
fn named(dtype: &str) -> &str {
    match dtype {
        "F8_E4M3" => "float8e4m3fn",
        "F8_E5M2" => "float8e5m2",
        "F4" => "float4e2m1",
        "I8" => "int8",
        "U8" => "uint8",
        "I32" => "int32",
        _ => "uint32",
    }
}

fn types(folder: &Folder, file: &str) -> Vec<String> {
    let bytes = folder.read(file);
    let read = safetensors::SafeTensors::deserialize(&bytes).expect("a valid checkpoint");
    let mut names = read.names();
    names.sort_unstable();
    names.iter().map(|name| read.tensor(name).expect("a tensor").dtype().to_string()).collect()
}

const HELP: &str = "and the values are wrong without it: --dequantize multiplies the codes in .safetensors files by their scales, \
                    --except GLOB or --map GLOB=keep leaves such tensors as they are, --ignore-scales casts the codes alone";

/// Refused is what would be cast; left alone are the scales.
#[test]
fn every_layout_is_refused() {
    for [codes, dtype, scale, scale_dtype] in LAYOUTS {
        let folder = Folder::new();
        let tensors = [tensor(codes, dtype), tensor(scale, scale_dtype), tensor("z.norm", "BF16")];
        folder.write("a.safetensors", checkpoint(&tensors));
        let line = format!("convert a.safetensors out.safetensors --map {codes}=double --to f64");
        let outcome = folder.cast(&line);
        assert_eq!(outcome.status, Some(2), "{codes} {scale}: {}", outcome.stderr);
        let expected = format!("wgpu-cast: a.safetensors: {codes} is {} with the scale {scale}, {HELP}", named(dtype));
        assert_eq!(outcome.line(), expected);
        assert_eq!(folder.names(), ["a.safetensors"]);

        let kept = folder.cast(&format!("convert a.safetensors out.safetensors --map {codes}=keep --to f64"));
        assert_eq!(kept.status, Some(0), "{codes} {scale}: {}", kept.stderr);
        let mut expected = [[codes, dtype], [scale, scale_dtype], ["z.norm", "F64"]];
        expected.sort_unstable();
        assert_eq!(types(&folder, "out.safetensors"), expected.map(|[_, dtype]| dtype), "{codes} {scale}");
        // The summary is the last line, also for programs that show only that.
        let (scale_line, summary) = kept.stderr.trim_end().split_once('\n').expect("two lines");
        assert_eq!(scale_line, "1 scale stays as it is (--map converts scales)");
        assert!(summary.starts_with("1 of 3 tensors cast (bfloat16 -> double), "), "{summary}");

        let ignored = folder.cast(&format!("{line} --ignore-scales"));
        assert_eq!(ignored.status, Some(0), "{codes} {scale}: {}", ignored.stderr);
        let expected = expected.map(|[name, dtype]| if name == codes { "F64" } else { dtype });
        assert_eq!(types(&folder, "out.safetensors"), expected, "{codes} {scale}");
    }
}

/// What a scale is named and stored as does not matter without codes.
#[test]
fn plain_checkpoints_are_cast() {
    let folder = Folder::new();
    let names =
        ["layer_scale", "logit_scale", "n.scale", "n.weight", "n.weight_scale", "n_scale", "x.input_scale", "x.scales"];
    let mut tensors: Vec<_> = names.iter().map(|name| tensor(name, "F32")).collect();
    // Float8 without a scale, and beside another one's name.
    tensors.extend([tensor("a.weight", "F8_E4M3"), tensor("b.weight", "F8_E5M2"), tensor("c.weight_scale", "F32")]);
    tensors.extend([
        tensor("ids", "I64"),
        tensor("ids_scale", "F32"),
        tensor("mask", "BOOL"),
        tensor("mask_scale", "F32"),
    ]);
    tensors.iter_mut().filter(|tensor| tensor.1 == "I64").for_each(|tensor| tensor.2 = &[1]);
    folder.write("a.safetensors", checkpoint(&tensors));
    folder.write("config.json", r#"{"torch_dtype": "float32", "quantization_config": null}"#);
    let outcome = folder.cast("convert a.safetensors out.safetensors --to bf16");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.line().starts_with("13 of 15 tensors cast "), "{}", outcome.stderr);
    let ignored = folder.cast("convert a.safetensors out.safetensors --to bf16 --ignore-scales");
    assert_eq!(ignored.status, Some(2));
    assert_eq!(ignored.line(), "wgpu-cast: --ignore-scales: no tensor that is cast has a scale");
}

#[test]
fn scales_follow_mappings_only() {
    let folder = Folder::new();
    let tensors =
        [("l.weight", "F8_E4M3"), ("l.weight_scale", "F32"), ("m.weight", "F8_E4M3"), ("m.weight_scale", "F32")];
    let tensors = tensors.map(|(name, dtype)| tensor(name, dtype));
    folder.write("a.safetensors", checkpoint(&[&tensors[..], &[tensor("n", "F32")]].concat()));
    let outcome = folder.cast("convert a.safetensors out.safetensors --to bf16");
    assert_eq!(
        outcome.line(),
        format!(
            "wgpu-cast: a.safetensors: l.weight is float8e4m3fn with the scale l.weight_scale (and 1 tensor more), {HELP}"
        )
    );
    for (rules, expected) in [
        ("--to bf16 --except *.weight", ["F8_E4M3", "F32", "F8_E4M3", "F32", "BF16"]),
        ("--to bf16 --from float", ["F8_E4M3", "F32", "F8_E4M3", "F32", "BF16"]),
        ("--to bf16 --only n", ["F8_E4M3", "F32", "F8_E4M3", "F32", "BF16"]),
        ("--map l.weight_scale=f64", ["F8_E4M3", "F64", "F8_E4M3", "F32", "F32"]),
        ("--to bf16 --ignore-scales", ["BF16", "F32", "BF16", "F32", "BF16"]),
        ("--to f8_e4m3", ["F8_E4M3", "F32", "F8_E4M3", "F32", "F8_E4M3"]),
    ] {
        let outcome = folder.cast(&format!("convert a.safetensors out.safetensors {rules}"));
        assert_eq!(outcome.status, Some(0), "{rules}: {}", outcome.stderr);
        assert_eq!(types(&folder, "out.safetensors"), expected, "{rules}");
    }
    let plan = folder.cast("convert a.safetensors out.safetensors --to bf16 --except *.weight --dry-run");
    let expected = "\
        l.weight_scale [2]: float, 8 bytes, the scale of l.weight\n\
        m.weight_scale [2]: float, 8 bytes, the scale of m.weight\n\
        n [2]: float -> bfloat16, 8 bytes -> 4 bytes\n";
    let shown: Vec<_> = plan.text().lines().filter(|line| line.contains("float,") || line.contains("->")).collect();
    assert_eq!(shown[..3].join("\n") + "\n", expected);
    assert_eq!(plan.line(), "2 scales stay as they are (--map converts scales)");
    let info = folder.cast("info a.safetensors");
    assert!(
        info.text().contains("l.weight [8]: float8e4m3fn, 8 bytes, with the scale l.weight_scale\n"),
        "{}",
        info.text()
    );
    let json = folder.cast("info a.safetensors --json");
    let rows: Vec<serde_json::Value> =
        json.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let row = |name: &str| rows.iter().find(|row| row["tensor"] == name).expect("a row");
    assert_eq!(
        (&row("l.weight")["scaled_by"], &row("m.weight_scale")["scale_of"]),
        (&"l.weight_scale".into(), &"m.weight".into())
    );
}

/// Shards of one model: the codes in the first, the scale in the second.
#[test]
fn scales_in_another_shard() {
    let index =
        r#"{"weight_map":{"l.weight":"a.safetensors","n":"a.safetensors","l.weight_scale_inv":"b.safetensors"}}"#;
    let shards = [
        checkpoint(&[tensor("l.weight", "F8_E4M3"), tensor("n", "BF16")]),
        checkpoint(&[tensor("l.weight_scale_inv", "F32")]),
    ];
    let expected =
        |file: &str| format!("wgpu-cast: {file}: l.weight is float8e4m3fn with the scale l.weight_scale_inv, {HELP}");
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("m")).expect("a folder");
    folder.write("m/a.safetensors", &shards[0]);
    folder.write("m/b.safetensors", &shards[1]);
    folder.write("m/model.safetensors.index.json", index);
    for line in
        ["m out", "m out --part 1/2", "m/a.safetensors out.safetensors", "m/a.safetensors m/b.safetensors -d out"]
    {
        let outcome = folder.cast(&format!("convert {line} --to f32"));
        assert_eq!((outcome.status, outcome.line()), (Some(2), expected("m/a.safetensors").as_str()), "{line}");
    }
    // The part with the scale alone.
    let scale = folder.cast("convert m/b.safetensors out.safetensors --to bf16");
    assert_eq!(
        (scale.status, types(&folder, "out.safetensors")),
        (Some(0), vec!["F32".to_owned()]),
        "{}",
        scale.stderr
    );
    // Without the other shard, the index tells.
    std::fs::remove_file(folder.path().join("m/b.safetensors")).expect("a file");
    let outcome = folder.cast("convert m/a.safetensors new.safetensors --to f32");
    assert_eq!(outcome.line(), expected("m/a.safetensors"));

    // Numbered shards without an index.
    folder.write("m-00001-of-00002.safetensors", &shards[0]);
    folder.write("m-00002-of-00002.safetensors", &shards[1]);
    folder.write("other-00002-of-00003.safetensors", checkpoint(&[tensor("n_scale_inv", "F32")]));
    let outcome = folder.cast("convert m-00001-of-00002.safetensors new.safetensors --to f32");
    assert_eq!(outcome.line(), expected("m-00001-of-00002.safetensors"));
    // Another model of the folder does not count.
    folder.write("plain.safetensors", &shards[0]);
    let outcome = folder.cast("convert plain.safetensors new.safetensors --to f32");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
}

/// Files of one run without an index: the codes in the first, the scale in the second.
#[test]
fn scales_in_another_file_of_the_run() {
    let folder = Folder::new();
    folder.write("m/model-1.safetensors", checkpoint(&[tensor("l.weight", "F8_E4M3"), tensor("n", "BF16")]));
    folder.write("m/model-2.safetensors", checkpoint(&[tensor("l.weight_scale_inv", "F32")]));
    let expected =
        format!("wgpu-cast: m/model-1.safetensors: l.weight is float8e4m3fn with the scale l.weight_scale_inv, {HELP}");
    let files = "m/model-2.safetensors m/../m/model-1.safetensors -d out";
    assert_eq!(
        folder.cast(&format!("convert {files} --to f32")).line(),
        expected.replace("m/model-1", "m/../m/model-1")
    );
    let outcome = folder.cast("convert m out --to f32");
    assert_eq!((outcome.status, outcome.line()), (Some(2), expected.as_str()));
    assert_eq!(
        folder.cast("info m").text(),
        "l.weight [8]: float8e4m3fn, 8 bytes, with the scale l.weight_scale_inv\n\
         n [4]: bfloat16, 8 bytes\n\
         l.weight_scale_inv [2]: float, 8 bytes, the scale of l.weight\n"
    );
    // The scale stays with its codes.
    let outcome = folder.cast("convert m out --to f16 --except l.weight");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(types(&folder, "out/model-1.safetensors"), ["F8_E4M3", "F16"]);
    assert_eq!(types(&folder, "out/model-2.safetensors"), ["F32"]);
    // Beside an index, too.
    folder.write(
        "m/model.safetensors.index.json",
        r#"{"weight_map":{"l.weight":"model-1.safetensors","n":"model-1.safetensors"}}"#,
    );
    assert_eq!(folder.cast("convert m new --to f32").line(), expected);
}

/// A scale whose codes are beside it is for them alone, and a tensor of a wide type has none.
#[test]
fn other_models_of_the_run() {
    let folder = Folder::new();
    folder.write("m/a.safetensors", checkpoint(&[tensor("l.weight", "F8_E4M3"), tensor("l.weight_scale", "F32")]));
    folder.write("m/b.safetensors", checkpoint(&[tensor("l.weight", "F8_E4M3")]));
    folder.write("m/c.safetensors", checkpoint(&[tensor("l.weight", "F16"), tensor("m.weight_scale", "F32")]));
    folder.write("m/d.safetensors", checkpoint(&[tensor("n.scaled_fp8", "F8_E4M3"), tensor("m.weight", "F16")]));
    assert_eq!(
        folder.cast("info m").text(),
        "l.weight [8]: float8e4m3fn, 8 bytes, with the scale l.weight_scale\n\
         l.weight_scale [2]: float, 8 bytes, the scale of l.weight\n\
         l.weight [8]: float8e4m3fn, 8 bytes\n\
         l.weight [4]: float16, 8 bytes\n\
         m.weight_scale [2]: float, 8 bytes\n\
         n.scaled_fp8 [8]: float8e4m3fn, 8 bytes, the scale of all float8 tensors\n\
         m.weight [4]: float16, 8 bytes\n"
    );
}

/// A scale whose name is not known.
#[test]
fn configurations_and_metadata_tell_of_scales() {
    let metadata = |key: &str| {
        let view = TensorView::new(Dtype::F8_E4M3, vec![8], &[0; 8]).expect("a tensor");
        let metadata = HashMap::from([(key.to_owned(), "{}".to_owned())]);
        safetensors::serialize([("w", view)], Some(metadata)).expect("a file")
    };
    let plain = checkpoint(&[tensor("w", "F8_E4M3")]);
    let cases = [
        (
            plain.clone(),
            "config.json",
            r#"{"quantization_config": {"quant_method": "fp8"}}"#,
            "\"quantization_config\" in config.json",
        ),
        (
            plain.clone(),
            "config.json",
            r#"{"compression_config": {"format": "x"}}"#,
            "\"compression_config\" in config.json",
        ),
        (
            plain.clone(),
            "hf_quant_config.json",
            r#"{"quantization": {"quant_algo": "FP8"}}"#,
            "\"quantization\" in hf_quant_config.json",
        ),
        (metadata("_quantization_metadata"), "x", "", "\"_quantization_metadata\" in the metadata"),
        (checkpoint(&[tensor("scaled_fp8", "F8_E4M3"), tensor("w", "F8_E4M3")]), "x", "", "the tensor scaled_fp8"),
        (checkpoint(&[tensor("m.scaled_fp8", "F8_E4M3"), tensor("w", "F8_E4M3")]), "x", "", "the tensor m.scaled_fp8"),
    ];
    for (file, name, text, told) in cases {
        let folder = Folder::new();
        folder.write("a.safetensors", file);
        folder.write(name, text);
        let outcome = folder.cast("convert a.safetensors out.safetensors --to f32");
        let expected = format!("wgpu-cast: a.safetensors: w is float8e4m3fn with a scale, by {told}, {HELP}");
        assert_eq!((outcome.status, outcome.line()), (Some(2), expected.as_str()));
        let ignored = folder.cast("convert a.safetensors out.safetensors --to f32 --ignore-scales");
        assert_eq!(ignored.status, Some(0), "{}", ignored.stderr);
        // The marker stays what it is.
        assert_eq!(types(&folder, "out.safetensors").last().map(String::as_str), Some("F32"));
    }
    // Other keys, other files, and files that cannot be read say nothing.
    for (file, name, text) in [
        (metadata("format"), "x", ""),
        (plain.clone(), "config.json", r#"{"quantization_config": {}}"#),
        (plain.clone(), "config.json", "{"),
        (plain, "config.json", "[]"),
    ] {
        let folder = Folder::new();
        folder.write("a.safetensors", file);
        folder.write(name, text);
        let outcome = folder.cast("convert a.safetensors out.safetensors --to f32");
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    }
}

/// From a pipe there are no other files.
#[test]
#[cfg(unix)]
fn a_file_from_a_pipe_has_scales_too() {
    let folder = Folder::new();
    folder.write("a.safetensors", checkpoint(&[tensor("l.weight", "F8_E4M3"), tensor("l.scale_weight", "F32")]));
    let line = "convert - out.safetensors --in-format safetensors --to f32";
    let outcome = folder.cast_from("a.safetensors", line);
    let expected = format!("wgpu-cast: -: l.weight is float8e4m3fn with the scale l.scale_weight, {HELP}\n");
    assert_eq!((outcome.status, outcome.stderr), (Some(2), expected));
}

#[test]
fn archives_have_scales_too() {
    let folder = Folder::new();
    let mut archive = wgpu_cast_files::NpzWriter::new(Vec::new());
    for (name, dtype, data) in
        [("l.weight", "|V1", &[0x38; 4][..]), ("l.weight_scale", "<f4", &[0; 4]), ("n", "<f4", &[0; 4])]
    {
        let array = crate::tool::npy(dtype, false, if data == [0x38; 4] { "(4,)" } else { "(1,)" }, data);
        archive.start(name, array.len() as u64, false).expect("an entry");
        std::io::Write::write_all(&mut archive, &array).expect("memory");
    }
    folder.write("a.npz", archive.finish().expect("memory"));
    let line = "convert a.npz out.npz --from l.weight=float8e4m3fn --to f16";
    let outcome = folder.cast(line);
    let expected = format!("wgpu-cast: a.npz: l.weight is float8e4m3fn with the scale l.weight_scale, {HELP}");
    assert_eq!((outcome.status, outcome.line()), (Some(2), expected.as_str()));
    let ignored = folder.cast(&format!("{line} --ignore-scales"));
    assert_eq!(ignored.status, Some(0), "{}", ignored.stderr);
    let expected = "l.weight [4]: float16, 8 bytes\nl.weight_scale [1]: float, 4 bytes\nn [1]: float16, 2 bytes\n";
    assert_eq!(folder.cast("info out.npz").text(), expected);
}

/// What the codes are multiplied by, but not what belongs to them in another way.
#[test]
fn scales_that_become_0_are_told() {
    let folder = Folder::new();
    let small = [1e-9_f32, 1.0].map(f32::to_le_bytes).concat();
    let none = [0; 8];
    folder.write(
        "a.safetensors",
        checkpoint(&[
            ("l.weight", "F8_E4M3", &[2, 4], &none),
            ("l.weight_scale", "F32", &[2, 1], &small),
            ("l.bias", "F32", &[2], &small),
        ]),
    );
    let line = "convert a.safetensors out.safetensors --map l.weight_scale=float16 --map l.bias=float16";
    let outcome = folder.cast(line);
    let told = "1 value of scales or parameters became 0 in l.weight_scale";
    let warning = format!("warning: {told} (--strict makes this an error, --stats lists all tensors)\n");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.ends_with(&warning), "{}", outcome.stderr);
    let outcome = folder.cast(&format!("{line} --strict"));
    let expected = format!("wgpu-cast: --strict: {told}; nothing was written (--stats lists all tensors)");
    assert_eq!((outcome.status, outcome.stderr.lines().last()), (Some(1), Some(expected.as_str())));
    let outcome = folder.cast("convert a.safetensors bias.safetensors --map l.bias=float16 --strict");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
}
