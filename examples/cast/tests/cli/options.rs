//! Options and patterns that would do nothing are errors.

use support::models;
use wgpu_cast::{ElementType, Tensor};
use wgpu_cast_files::onnx::NamedTensor;

use crate::convert::checkpoint;
use crate::tool::{Folder, floats, npy};

const FORMATS: [&str; 6] = ["bin", "npy", "npz", "onnx", "pb", "safetensors"];

/// A model of one node with one initializer.
fn model() -> Vec<u8> {
    let tensor = [vec![8, 1, 16, 1], models::field(9, &floats(&[1.0])), models::field(8, b"w")].concat();
    let node =
        [models::field(1, b"w"), models::field(2, b"y"), models::field(3, b"first"), models::field(4, b"Identity")];
    let output = models::field(12, &models::value("y", ElementType::FLOAT));
    models::model(&[models::field(1, &node.concat()), models::field(5, &tensor), output].concat())
}

fn archive(arrays: &[(&str, &str, &[u8])]) -> Vec<u8> {
    let mut archive = wgpu_cast_files::NpzWriter::new(Vec::new());
    for (name, dtype, data) in arrays {
        let array = npy(dtype, false, "(1,)", data);
        archive.start(name, array.len() as u64, false).expect("an entry");
        std::io::Write::write_all(&mut archive, &array).expect("memory");
    }
    archive.finish().expect("memory")
}

/// A file of one FLOAT in each format, called w where there are names.
fn files(folder: &Folder) {
    let data = floats(&[1.0]);
    folder.write("a.bin", &data);
    folder.write("a.npy", npy("<f4", false, "(1,)", &data));
    folder.write("a.npz", archive(&[("w", "<f4", &data)]));
    folder.write("a.onnx", model());
    let message = NamedTensor { name: "w".to_owned(), tensor: Tensor::from_slice([1], &[1.0f32]).expect("a tensor") };
    folder.write("a.pb", message.into_bytes().expect("a message"));
    folder.write("a.safetensors", checkpoint(&[("w", "F32", &[1], &data)]));
}

/// Each option with each format: what it is for, and the error elsewhere, in which `FILE` stands for the file.
#[test]
fn every_option_with_every_format() {
    let all = &FORMATS[..];
    let named = &["npz", "onnx", "safetensors"][..];
    let by_name = "chooses among the tensors of .safetensors, .npz and .onnx files, and this format has one";
    let cases: &[(&str, &[&str], &str)] = &[
        ("--from float", all, ""),
        ("--only w", named, &format!("FILE: --only {by_name}")),
        ("--except w", named, &format!("FILE: --except {by_name}")),
        ("--map w=keep", named, &format!("FILE: --map {by_name}")),
        ("--len 1", &["bin"], "FILE: --len is only for .bin files, other formats contain a shape"),
        (
            "--opset 20",
            &["bin", "npy", "npz", "pb", "safetensors"],
            "FILE: --opset is not for ONNX models, which have an opset",
        ),
        ("--graph", &["onnx"], "--graph is for ONNX models"),
        ("--graph --keep-io-types", &["onnx"], "--graph is for ONNX models"),
        ("--graph --keep Identity", &["onnx"], "--graph is for ONNX models"),
        ("--external-from 1", &["onnx"], "--external-from is for ONNX models"),
        ("--in-format FORMAT", all, ""),
        ("--out-format FORMAT", all, ""),
        ("--saturate false", &[], "--saturate affects only casts to 8-bit floats, and there are none"),
        ("--round-mode up", &[], "--round-mode affects only casts to float8e8m0, and there are none"),
        ("--clamp", all, ""),
        ("--ignore-scales", &[], "--ignore-scales: no tensor that is cast has a scale"),
        ("--copy-others", &[], "--copy-others is for folders and indexes of sharded models"),
        ("--part 1/2", &[], "--part is for sharded models (a folder with an index, or the index)"),
        ("--device cpu", all, ""),
        ("--memory 1MiB", all, ""),
        ("--resume", all, ""),
        ("--no-clobber", all, ""),
        ("--force", all, ""),
        ("--dry-run", all, ""),
        ("--stats", all, ""),
        ("--strict", all, ""),
        ("--plot p.svg", all, ""),
        ("--quiet", all, ""),
        ("--json", all, ""),
    ];
    for (option, formats, message) in cases {
        for format in FORMATS {
            let folder = Folder::new();
            files(&folder);
            let before = folder.names();
            let from = if format == "bin" && !option.contains("--from") { "--from float" } else { "" };
            let option = option.replace("FORMAT", format);
            let outcome = folder.cast(&format!("convert a.{format} out.{format} --to float16 {from} {option}"));
            if formats.contains(&format) {
                assert_eq!(outcome.status, Some(0), "{option} {format}: {}", outcome.stderr);
            } else {
                let message = message.replace("FILE", &format!("a.{format}"));
                assert_eq!(
                    (outcome.status, outcome.line()),
                    (Some(2), format!("wgpu-cast: {message}").as_str()),
                    "{option}"
                );
                assert_eq!(folder.names(), before, "{option} {format}");
            }
        }
    }
}

#[test]
fn options_that_contradict_the_files_or_each_other() {
    let folder = Folder::new();
    files(&folder);
    folder.write("u.npz", archive(&[("q", "|u1", &[1])]));
    folder.write(
        "s.pb",
        NamedTensor { name: "w".to_owned(), tensor: Tensor::from_strings([1], ["1e9"]).expect("a tensor") }
            .into_bytes()
            .expect("a message"),
    );
    std::fs::create_dir(folder.path().join("m")).expect("a folder");
    folder.write("m/a.safetensors", folder.read("a.safetensors"));
    folder.write("m/m.safetensors.index.json", r#"{"weight_map":{"w":"a.safetensors"}}"#);
    for (line, message) in [
        ("a.safetensors out.safetensors --to f16 --from bf16", "--from bfloat16: no tensor has this type; w is float"),
        ("a.onnx out.onnx --to f16 --from double", "--from double: no tensor has this type; w is float"),
        (
            "u.npz out.npz --to f16 --from float8e5m2",
            "--from float8e5m2: no tensor has this type; q is uint8 (--from GLOB=TYPE reads unsigned integers as codes)",
        ),
        (
            "a.safetensors out.safetensors --map w=f16 --from float",
            "--from chooses tensors for --to TYPE, which is not given",
        ),
        ("m out --to f16 --in-format npy", "--in-format: the shards of a model are .safetensors files"),
        ("m out --to f16 --out-format npz", "--out-format: the shards of a model are .safetensors files"),
        (
            "a.safetensors a.npy -d out --to f16 --only w",
            "a.npy: --only chooses among the tensors of .safetensors, .npz and .onnx files, and this format has one",
        ),
        (
            "s.pb out.pb --to f16 --strict",
            "--strict: what numbers lose is not counted if they are read from strings, as in w",
        ),
        (
            "s.pb out.pb --to f16 --stats",
            "--stats: what numbers lose is not counted if they are read from strings, as in w",
        ),
        (
            "s.pb out.pb --to f16 --plot p.svg",
            "--plot: what numbers lose is not counted if they are read from strings, as in w",
        ),
    ] {
        let outcome = folder.cast(&format!("convert {line}"));
        // A model may also say what is left in it.
        let last = outcome.stderr.lines().last().unwrap_or_default();
        assert_eq!((outcome.status, last), (Some(2), format!("wgpu-cast: {message}").as_str()), "{line}");
    }
    for option in ["--only w", "--except w"] {
        let outcome = folder.cast(&format!("convert a.safetensors out.safetensors --map w=f16 {option}"));
        assert!(outcome.status == Some(2) && outcome.line().contains("--to <TYPE>"), "{}", outcome.stderr);
    }
    let dry = folder.cast("convert a.safetensors out.safetensors --to f16 --dry-run --strict");
    assert_eq!(dry.status, Some(0));
    assert!(
        dry.stderr.contains("warning: --dry-run casts nothing, so that --strict finds nothing\n"),
        "{}",
        dry.stderr
    );
    // A format chooses the files of a folder.
    std::fs::create_dir(folder.path().join("n")).expect("a folder");
    folder.write("n/a.npy", folder.read("a.npy"));
    folder.write("n/b.safetensors", folder.read("a.safetensors"));
    assert_eq!(folder.cast("convert n both --to f16 --in-format npy").status, Some(0));
    let made: Vec<_> = std::fs::read_dir(folder.path().join("both"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(made, ["a.npy"]);
}

#[test]
fn patterns_that_match_nothing() {
    let folder = Folder::new();
    let data = floats(&[1.0]);
    let names =
        ["encoder.layer.0.weight", "encoder.layer.0.norm.bias", "encoder.layer.1.weight", "head.weight", "z\u{1b}"];
    let mut tensors: Vec<_> = names.iter().map(|name| (*name, "F32", &[1u64][..], &data[..])).collect();
    tensors.push(("ids", "I64", &[1], &[0; 8]));
    folder.write("a.safetensors", checkpoint(&tensors));
    folder.write("a.onnx", model());
    folder.write("a.npz", archive(&[("w", "|V2", &[0, 0])]));
    for (line, message) in [
        (
            "--to f16 --only *.weigth",
            "--only '*.weigth': no tensor has such a name; similar: encoder.layer.0.weight, encoder.layer.1.weight, head.weight",
        ),
        (
            "--to f16 --except *norms*",
            "--except '*norms*': no tensor has such a name; similar: encoder.layer.0.norm.bias",
        ),
        (
            "--to f16 --except head.weight --except heat.weight",
            "--except 'heat.weight': no tensor has such a name; similar: head.weight",
        ),
        ("--to f16 --map Head.weight=keep", "--map 'Head.weight': no tensor has such a name; similar: head.weight"),
        (
            "--map enc.layer.1.*=f16",
            "--map 'enc.layer.1.*': no tensor has such a name; similar: encoder.layer.1.weight, encoder.layer.0.norm.bias, encoder.layer.0.weight",
        ),
        ("--to f16 --only qqqqqq", "--only 'qqqqqq': no tensor has such a name"),
        ("--to f16 --only zz", "--only 'zz': no tensor has such a name"),
        (
            "--to f16 --map *=f16 --map head.*=keep",
            "--map 'head.*': '*' before it matches all its tensors, and the first mapping that matches counts",
        ),
        (
            "--to f16 --only ids",
            "--only 'ids': --to does not apply to ids, which is int64 (--map GLOB=TYPE casts any tensor)",
        ),
        (
            "--to f16 --from float --only ids",
            "--only 'ids': --to does not apply to ids, which is int64 (--map GLOB=TYPE casts any tensor)",
        ),
    ] {
        let outcome = folder.cast(&format!("convert a.safetensors out.safetensors {line}"));
        assert_eq!((outcome.status, outcome.line()), (Some(2), format!("wgpu-cast: {message}").as_str()), "{line}");
    }
    for (line, message) in [
        (
            "a.onnx out.onnx --graph --keep Identty",
            "--keep 'Identty': no node has such an operator or name; similar: Identity",
        ),
        (
            "a.onnx out.onnx --graph --keep frist",
            "--keep 'frist': no node has such an operator or name; similar: first",
        ),
        ("a.onnx out.onnx --graph --keep first --keep w", "--keep 'w': no node has such an operator or name"),
        ("a.onnx out.onnx --only x", "--only 'x': no tensor has such a name"),
        ("a.npz out.npz --from v=bf16 --from w=f16", "--from 'v': no tensor has such a name"),
        ("a.safetensors a.npz -d out --from bf16 --except v", "--except 'v': no tensor has such a name"),
    ] {
        let outcome = folder.cast(&format!("convert {line} --to f16"));
        let last = outcome.stderr.lines().last().unwrap_or_default();
        assert_eq!((outcome.status, last), (Some(2), format!("wgpu-cast: {message}").as_str()), "{line}");
    }
    assert_eq!(folder.names(), ["a.npz", "a.onnx", "a.safetensors"]);
    // What matches somewhere is enough.
    for line in [
        "a.safetensors out.safetensors --to f16 --only *.weight --except *norm*",
        "a.safetensors out.safetensors --to f16 --map head.*=keep --map *=f64",
        "a.onnx out.onnx --to f16 --graph --keep first",
        "a.safetensors a.npz -d out --to f16 --from bf16 --except w",
    ] {
        let outcome = folder.cast(&format!("convert {line}"));
        assert_eq!(outcome.status, Some(0), "{line}: {}", outcome.stderr);
    }
}

/// Names may have what other patterns give a meaning, as those of JAX have.
#[test]
fn only_the_star_is_special() {
    const NAMES: [&str; 9] =
        ["['params']['norm']['scale']", "['state']['norm']", "a/b", "a/x/b", "b", "p", "q?", r"s\*t", "{p,q}"];
    let data = floats(&[1.0]);
    let mut tensors = NAMES.map(|name| (name, "F32", &[1u64][..], &data[..]));
    tensors.sort_unstable();
    let folder = Folder::new();
    folder.write("a.safetensors", checkpoint(&tensors));
    for (pattern, expected) in [
        ("['params']*", &["['params']['norm']['scale']"][..]),
        ("['params']['norm']['scale']", &["['params']['norm']['scale']"]),
        ("['*']['norm']*", &["['params']['norm']['scale']", "['state']['norm']"]),
        ("**/b", &["a/b", "a/x/b"]),
        ("a/**/b", &["a/x/b"]),
        ("*?", &["q?"]),
        ("{p,q}", &["{p,q}"]),
        (r"s\*", &[r"s\*t"]),
        (r"*\**t", &[r"s\*t"]),
        ("**", &NAMES),
    ] {
        for (line, is_cast) in [
            (format!("--to f16 --only {pattern}"), true),
            (format!("--map {pattern}=f16"), true),
            (format!("--map {pattern}=keep --to f16"), false),
            (format!("--except {pattern} --to f16"), false),
        ] {
            let outcome = folder.cast(&format!("convert a.safetensors out.safetensors --force {line}"));
            assert_eq!(outcome.status, Some(0), "{line}: {}", outcome.stderr);
            let info = folder.cast("info out.safetensors");
            let cast: Vec<_> = info.text().lines().filter(|line| line.contains("]: float16, ")).collect();
            let expected: Vec<_> = NAMES.iter().filter(|name| expected.contains(name) == is_cast).collect();
            let expected: Vec<_> = expected.iter().map(|name| format!("{name} [1]: float16, 2 bytes")).collect();
            assert_eq!(cast, expected, "{line}");
        }
    }
    folder.write("a.npz", archive(&[("w[0]", "|V2", &[0, 0]), ("w0", "|V2", &[0, 0])]));
    assert_eq!(folder.cast("convert a.npz out.npz --from w[*=bf16 --from w0=f16 --to float").status, Some(0));
    assert_eq!(folder.cast("info out.npz").text(), "w[0] [1]: float, 4 bytes\nw0 [1]: float, 4 bytes\n");
    for (pattern, similar) in [("[ab]", ""), ("?", ""), ("['params']['norm']['scal']", "['params']['norm']['scale']")] {
        let outcome = folder.cast(&format!("convert a.safetensors new.safetensors --to f16 --only {pattern}"));
        let similar = if similar.is_empty() { String::new() } else { format!("; similar: {similar}") };
        let expected = format!("wgpu-cast: --only '{pattern}': no tensor has such a name{similar}");
        assert_eq!((outcome.status, outcome.line()), (Some(2), expected.as_str()));
    }
}

/// A part has some of the model's tensors, and patterns are for the model.
#[test]
fn patterns_are_for_all_parts() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("m")).expect("a folder");
    for name in ["a", "b"] {
        folder.write(&format!("m/{name}.safetensors"), checkpoint(&[(name, "F32", &[1], &floats(&[1.0]))]));
    }
    folder.write("m/m.safetensors.index.json", r#"{"weight_map":{"a":"a.safetensors","b":"b.safetensors"}}"#);
    for part in [1, 2] {
        let outcome = folder.cast(&format!("convert m out --to f16 --except a --only b --part {part}/2"));
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        let outcome = folder.cast(&format!("convert m out --to f16 --except c --part {part}/2"));
        assert_eq!((outcome.status, outcome.line()), (Some(2), "wgpu-cast: --except 'c': no tensor has such a name"));
    }
}

/// What an option is for may lie in another part: in its shards, or in the files without an index, which the first part has.
#[test]
fn options_are_for_all_parts() {
    let folder = Folder::new();
    for name in ["a", "b"] {
        let shard = checkpoint(&[(name, "F32", &[1], &floats(&[1.0]))]);
        folder.write(&format!("m/{name}.safetensors"), &shard);
        folder.write(&format!("shards/{name}.safetensors"), shard);
    }
    let index = r#"{"weight_map":{"a":"a.safetensors","b":"b.safetensors"}}"#;
    folder.write("m/m.safetensors.index.json", index);
    folder.write("shards/m.safetensors.index.json", index);
    folder.write("m/model.onnx", model());
    folder.write("m/w.npz", archive(&[("v", "|V2", &[0, 0])]));
    for part in ["1/2", "2/2"] {
        for line in [
            "m --to f16 --from v=bf16",
            "m --to f16 --from v=bf16 --except v",
            "m --to f16 --from v=bf16 --graph --keep first",
            "m --to f16 --from v=bf16 --graph --keep-io-types",
            "shards --map a=f16 --map b=double --clamp",
            "shards --map a=double --map b=f16 --clamp",
            "shards --map a=float8e4m3fn --map b=double --saturate false",
            "shards --map a=double --map b=float8e8m0 --round-mode down",
        ] {
            let outcome = folder.cast(&format!("convert {line} -d out --part {part}"));
            assert_eq!(outcome.status, Some(0), "{line} {part}: {}", outcome.stderr);
        }
        // No part has what this is for.
        let outcome = folder.cast(&format!("convert shards out --to f16 --graph --part {part}"));
        assert_eq!((outcome.status, outcome.line()), (Some(2), "wgpu-cast: --graph is for ONNX models"));
    }
}
