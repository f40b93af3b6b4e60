//! The indexes of sharded models: all that a folder has are found, and each is compared with the headers of its shards.

use crate::convert::checkpoint;
use crate::tool::{Folder, floats};

/// A shard with these tensors.
fn shard(folder: &Folder, file: &str, tensors: &[&str]) {
    let data = floats(&[1.0]);
    let tensors: Vec<_> = tensors.iter().map(|&name| (name, "F32", &[1][..], &data[..])).collect();
    folder.write(file, checkpoint(&tensors));
}

/// The element types in a file, as `info` lists them.
fn listed(folder: &Folder, path: &str) -> String {
    let info = folder.cast(&format!("info {path}"));
    assert_eq!(info.status, Some(0), "{}", info.stderr);
    info.text().to_owned()
}

#[test]
fn every_variant_of_the_name_is_an_index() {
    let names = [
        "model.safetensors.index.json",
        "model.safetensors.index.fp16.json",
        "model.safetensors.fp16.index.json",
        "model.fp16.safetensors.index.json",
        "diffusion_pytorch_model.safetensors.index.fp16.json",
    ];
    for name in names {
        let folder = Folder::new();
        shard(&folder, "m/a.safetensors", &["x"]);
        shard(&folder, "m/b.safetensors", &["y"]);
        folder.write(&format!("m/{name}"), r#"{"weight_map":{"x":"a.safetensors","y":"b.safetensors"}}"#);
        for input in ["m", &format!("m/{name}")] {
            let outcome = folder.cast(&format!("convert {input} out --to float16"));
            assert_eq!(outcome.status, Some(0), "{name}: {}", outcome.stderr);
            let index: serde_json::Value = serde_json::from_slice(&folder.read(&format!("out/{name}"))).expect("JSON");
            assert_eq!(index["metadata"]["total_size"], 4, "{name}");
            for path in ["out", &format!("out/{name}")] {
                assert_eq!(listed(&folder, path), "x [1]: float16, 2 bytes\ny [1]: float16, 2 bytes\n", "{name}");
            }
            std::fs::remove_dir_all(folder.path().join("out")).expect("a folder");
        }
    }
    // Other files of a folder are no indexes.
    let folder = Folder::new();
    for name in ["safetensors.index.json", "model.index.safetensors.json", "pytorch_model.bin.index.json"] {
        shard(&folder, "m/a.safetensors", &["x"]);
        folder.write(&format!("m/{name}"), "no JSON");
        assert_eq!(folder.cast("convert m out --to float16").status, Some(0), "{name}");
        assert_eq!(folder.entries("out"), ["a.safetensors"]);
    }
}

/// All indexes of a folder are models of their own; a shard that none names is a file of its own.
#[test]
fn every_index_and_every_file_of_a_folder_is_converted() {
    let folder = Folder::new();
    for (file, tensors) in [("a", ["x", "y"]), ("b", ["x", "z"]), ("consolidated", ["x", "w"])] {
        shard(&folder, &format!("m/{file}.safetensors"), &tensors);
    }
    let index = |shard: &str, more: &str| format!(r#"{{"weight_map":{{"x":"{shard}","{more}":"{shard}"}}}}"#);
    folder.write("m/model.safetensors.index.json", index("a.safetensors", "y"));
    folder.write("m/model.safetensors.index.fp16.json", index("b.safetensors", "z"));
    let outcome = folder.cast("convert m out --to float16");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let files = [
        "a.safetensors",
        "b.safetensors",
        "consolidated.safetensors",
        "model.safetensors.index.fp16.json",
        "model.safetensors.index.json",
    ];
    assert_eq!(folder.entries("out"), files);
    assert!(listed(&folder, "out").lines().all(|line| line.ends_with(" [1]: float16, 2 bytes")));
    for name in &files[3..] {
        let index: serde_json::Value = serde_json::from_slice(&folder.read(&format!("out/{name}"))).expect("JSON");
        assert_eq!(index["metadata"]["total_size"], 4, "{name}");
    }
    // Parts: each model has its own, and the first part has the other files.
    for part in ["1/2", "2/2"] {
        assert_eq!(folder.cast(&format!("convert m parts --to float16 --part {part}")).status, Some(0));
    }
    let merged = folder.cast("merge-index parts");
    assert_eq!(merged.status, Some(0), "{}", merged.stderr);
    assert_eq!(folder.entries("parts"), files);
    for file in files {
        assert!(folder.read(&format!("parts/{file}")) == folder.read(&format!("out/{file}")), "{file}");
    }
    // One index converts its own shards, and says what it leaves.
    let outcome = folder.cast("convert m/model.safetensors.index.json one --to float16 --copy-others --quiet");
    let left = "neither converted nor copied: the index does not name it (give the folder to convert all of it)";
    let lines: Vec<_> = ["b.safetensors", "consolidated.safetensors", "model.safetensors.index.fp16.json"]
        .map(|file| format!("warning: m/{file}: {left}\n"))
        .into();
    assert_eq!((outcome.status, outcome.stderr), (Some(0), lines.concat()));
    assert_eq!(folder.entries("one"), ["a.safetensors", "model.safetensors.index.json"]);
}

/// What the map of weights says is compared with all headers, before anything is written.
#[test]
fn an_index_that_does_not_fit_its_shards_is_refused() {
    let cases = [
        // An entry that is not true any more.
        (r#""x":"a","y":"b","gone":"a""#, "the shard a.safetensors has no tensor gone"),
        // A tensor that the index misses.
        (r#""y":"b","z":"b""#, "the shard b.safetensors has no tensor z"),
        (r#""x":"a""#, ""),
        // Swapped shards.
        (r#""x":"b","y":"a""#, "the shard b.safetensors has no tensor x, which is in a.safetensors"),
        // A name given twice, of which JSON's readers take the last.
        (r#""x":"b","x":"a","y":"b""#, "the tensor x is given twice: in b.safetensors and in a.safetensors"),
        (r#""x":5,"y":"b""#, "\"weight_map\" names no file for the tensor x"),
    ];
    for (map, what) in cases {
        let folder = Folder::new();
        shard(&folder, "m/a.safetensors", &["x"]);
        shard(&folder, "m/b.safetensors", &["y"]);
        let map = map.replace(r#""a""#, r#""a.safetensors""#).replace(r#""b""#, r#""b.safetensors""#);
        folder.write("m/m.safetensors.index.json", format!(r#"{{"weight_map":{{{map}}}}}"#));
        let outcome = folder.cast("convert m out --to float16 --quiet");
        // A shard that the index does not name is a file of its own.
        let expected = if what.is_empty() {
            (Some(0), String::new())
        } else {
            (Some(1), format!("wgpu-cast: m/m.safetensors.index.json: {what}\n"))
        };
        assert_eq!((outcome.status, outcome.stderr), expected, "{map}");
        assert_eq!(folder.path().join("out").exists(), what.is_empty(), "{map}");
        let info = folder.cast("info m/m.safetensors.index.json");
        assert_eq!(info.status == Some(0), what.is_empty(), "{map}: {}", info.stderr);
    }
}

#[test]
fn a_tensor_that_the_index_misses_or_that_is_in_two_shards_is_refused() {
    let folder = Folder::new();
    shard(&folder, "m/a.safetensors", &["x", "extra"]);
    shard(&folder, "m/b.safetensors", &["y"]);
    let text = r#"{"weight_map":{"x":"a.safetensors","y":"b.safetensors"}}"#;
    folder.write("m/m.safetensors.index.json", text);
    let refused = |what: &str| {
        for part in ["", "--part 2/2"] {
            let outcome = folder.cast(&format!("convert m out --to float16 {part}"));
            let line = format!("wgpu-cast: m/m.safetensors.index.json: {what}");
            assert_eq!((outcome.status, outcome.line()), (Some(1), line.as_str()));
            assert_eq!(folder.names(), ["m"]);
        }
    };
    refused("the shard a.safetensors has the tensor extra, which the index does not name");
    shard(&folder, "m/a.safetensors", &["x"]);
    shard(&folder, "m/b.safetensors", &["x", "y"]);
    refused("the tensor x is in two shards: a.safetensors and b.safetensors");
    folder.write("m/m.safetensors.index.json", text.replace("}}", r#"},"weight_map":{}}"#));
    refused("\"weight_map\" is given twice");
    folder.write("m/m.safetensors.index.json", r#"{"weight_map":{}}"#);
    refused("\"weight_map\" names no tensor");
}

#[test]
fn two_indexes_that_share_a_shard_are_refused() {
    let folder = Folder::new();
    shard(&folder, "m/a.safetensors", &["x"]);
    for name in ["m.safetensors.index.json", "n.safetensors.index.json"] {
        folder.write(&format!("m/{name}"), r#"{"weight_map":{"x":"a.safetensors"}}"#);
    }
    let outcome = folder.cast("convert m out --to float16");
    let line = "wgpu-cast: m/n.safetensors.index.json: it names the shard a.safetensors, which m/m.safetensors.index.json names, too";
    assert_eq!((outcome.status, outcome.line()), (Some(1), line));
    // One of them alone can be converted.
    assert_eq!(folder.cast("convert m/n.safetensors.index.json out --to float16").status, Some(0));
    assert_eq!(folder.entries("out"), ["a.safetensors", "n.safetensors.index.json"]);
}

/// A pipe has no end, so a conversion that reads one would not end.
#[test]
#[cfg(unix)]
fn pipes_beside_a_model_are_not_read() {
    let folder = Folder::new();
    let pipe = |name: &str| {
        let made = std::process::Command::new("mkfifo").arg(folder.path().join(name)).status().expect("mkfifo");
        assert!(made.success(), "{name}");
    };
    // What is beside the input, and what is beside the output.
    shard(&folder, "m/m-00001-of-00002.safetensors", &["x"]);
    shard(&folder, "out/old.safetensors", &["x"]);
    for name in ["m/m-00002-of-00002.safetensors", "m/m.safetensors.index.json"] {
        pipe(name);
    }
    pipe("out/other.safetensors.index.json");
    pipe("out/n.safetensors.index.json.part-1-of-2");
    let outcome = folder.cast("convert m out --to float16 --quiet");
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let info = folder.cast("info m/m.safetensors.index.json");
    let line = "wgpu-cast: m/m.safetensors.index.json: it is not a regular file";
    assert_eq!((info.status, info.line()), (Some(1), line));

    shard(&folder, "n/a.safetensors", &["x"]);
    folder.write("n/n.safetensors.index.json", r#"{"weight_map":{"x":"a.safetensors"}}"#);
    let outcome = folder.cast("convert n out --to float16 --quiet");
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    // What cannot be read is known by its name: the old index of a part of this model.
    let left = [
        "a.safetensors",
        "m-00001-of-00002.safetensors",
        "n.safetensors.index.json",
        "old.safetensors",
        "other.safetensors.index.json",
    ];
    assert_eq!(folder.entries("out"), left);

    // A shard that an index names.
    folder.write("n/n.safetensors.index.json", r#"{"weight_map":{"x":"a.safetensors","y":"b.safetensors"}}"#);
    pipe("n/b.safetensors");
    let outcome = folder.cast("convert n out --to float16");
    let line = "n/b.safetensors: it is not a regular file";
    assert_eq!((outcome.status, outcome.line()), (Some(1), format!("wgpu-cast: {line}").as_str()));
    let info = folder.cast("info n/n.safetensors.index.json");
    let line = format!("wgpu-cast: n/n.safetensors.index.json: {line}");
    assert_eq!((info.status, info.line()), (Some(1), line.as_str()));
    // One that is converted alone is not compared with it.
    let outcome = folder.cast("convert n/a.safetensors out/a.safetensors --to float16 --quiet");
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
}

/// An output that was forgotten would be the second input.
#[test]
fn another_shard_of_the_model_is_no_output() {
    let folder = Folder::new();
    let [first, second] = [1, 2].map(|number| format!("m/model-0000{number}-of-00002.safetensors"));
    shard(&folder, &first, &["x"]);
    shard(&folder, &second, &["y"]);
    let before = folder.read(&second);
    let outcome = folder.cast(&format!("convert {first} m/../{second} --to float16"));
    let expected =
        format!("wgpu-cast: m/../{second}: another shard of the model of {first} (several inputs need --out-dir DIR)");
    assert_eq!((outcome.status, outcome.line()), (Some(2), expected.as_str()));
    assert_eq!(folder.read(&second), before);
    // These replace no other shard.
    for output in ["model-00002-of-00002.safetensors", "m/model-00003-of-00002.safetensors"] {
        let outcome = folder.cast(&format!("convert {first} {output} --to float16"));
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    }
}

/// The names of shards need not be numbered, and numbered ones may have any name.
#[test]
fn shards_of_a_model_are_those_of_its_index() {
    let folder = Folder::new();
    for name in ["a", "b", "alone", "mixture-of-experts-1-of-2", "mixture-of-experts-2-of-2"] {
        shard(&folder, &format!("m/{name}.safetensors"), &[name]);
    }
    folder.write("m/model.safetensors.index.json", r#"{"weight_map":{"a":"a.safetensors","b":"b.safetensors"}}"#);
    for (input, output, status) in [
        ("a", "b", 2),
        ("b", "a", 2),
        ("mixture-of-experts-1-of-2", "mixture-of-experts-2-of-2", 2),
        ("alone", "b", 0),
        ("a", "alone", 0),
    ] {
        let outcome = folder.cast(&format!("convert m/{input}.safetensors m/{output}.safetensors --to float16"));
        assert_eq!(outcome.status, Some(status), "{input} {output}: {}", outcome.stderr);
    }
}

#[cfg(unix)]
#[test]
fn a_link_to_another_shard_is_no_output() {
    let folder = Folder::new();
    let [first, second] = [1, 2].map(|number| format!("m/model-0000{number}-of-00002.safetensors"));
    shard(&folder, &first, &["x"]);
    shard(&folder, &second, &["y"]);
    std::os::unix::fs::symlink(&second, folder.path().join("out.safetensors")).expect("a link");
    let outcome = folder.cast(&format!("convert {first} out.safetensors --to float16"));
    let expected = format!(
        "wgpu-cast: out.safetensors: another shard of the model of {first} (several inputs need --out-dir DIR)"
    );
    assert_eq!((outcome.status, outcome.line()), (Some(2), expected.as_str()));
}

/// One file was meant, but the shards stay apart.
#[test]
fn a_folder_does_not_get_the_name_of_a_file() {
    let folder = Folder::new();
    shard(&folder, "m/a.safetensors", &["x"]);
    shard(&folder, "m/b.safetensors", &["y"]);
    folder.write("m/model.safetensors.index.json", r#"{"weight_map":{"x":"a.safetensors","y":"b.safetensors"}}"#);
    for input in ["m", "m/model.safetensors.index.json"] {
        let outcome = folder.cast(&format!("convert {input} whole.safetensors --to float16"));
        let expected = "wgpu-cast: whole.safetensors: this is the name of a file, but what is made of a folder or an index is a \
                        folder (whole.safetensors/ stands for one)";
        assert_eq!((outcome.status, outcome.line()), (Some(2), expected));
        assert_eq!(folder.names(), ["m"]);
    }
    for (line, output) in
        [("m --out-dir whole.safetensors", "whole.safetensors"), ("m other.safetensors/", "other.safetensors")]
    {
        let outcome = folder.cast(&format!("convert {line} --to float16"));
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        assert_eq!(listed(&folder, output), "x [1]: float16, 2 bytes\ny [1]: float16, 2 bytes\n");
    }
    // A folder that is there is one, whatever its name is.
    let outcome = folder.cast("convert m whole.safetensors --to bfloat16");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
}
