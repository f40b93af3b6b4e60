//! `wgpu-cast convert` for folders, sharded models and their parts.

use crate::convert::checkpoint;
use crate::tool::{Folder, floats, model_with_data};

/// Three shards with an index, and another file.
fn model(folder: &Folder) {
    std::fs::create_dir(folder.path().join("model")).expect("a folder");
    let data: Vec<Vec<u8>> = (1..4).map(|shard| floats(&vec![shard as f32 * 4.001; 1000 * shard])).collect();
    let mut map = String::new();
    for (shard, data) in data.iter().enumerate() {
        let file = format!("m-{shard}.safetensors");
        let name = format!("w{shard}");
        folder.write(&format!("model/{file}"), checkpoint(&[(&name, "F32", &[data.len() as u64 / 4], data)]));
        map += &format!(r#"{}"{name}":"{file}""#, if shard == 0 { "" } else { "," });
    }
    let index = format!(r#"{{"metadata":{{"total_size":24000,"more":[1]}},"weight_map":{{{map}}}}}"#);
    folder.write("model/m.safetensors.index.json", index);
    folder.write("model/config.json", "{}");
}

#[test]
fn the_parts_of_a_model_join_to_the_bytes_of_one_run() {
    let folder = Folder::new();
    model(&folder);
    let outcome = folder.cast("convert model whole --to bf16 --copy-others");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let files = ["m-0.safetensors", "m-1.safetensors", "m-2.safetensors", "m.safetensors.index.json"];
    let index: serde_json::Value =
        serde_json::from_slice(&folder.read("whole/m.safetensors.index.json")).expect("JSON");
    assert_eq!(index["metadata"], serde_json::json!({"total_size": 12000, "more": [1]}));
    assert_eq!(folder.read("whole/config.json"), b"{}");
    for part in ["2/2", "1/2"] {
        let outcome = folder.cast(&format!("convert model/m.safetensors.index.json parts --to bf16 --part {part}"));
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        let merged = folder.cast("merge-index parts");
        assert_eq!(merged.status == Some(0), part == "1/2", "{}", merged.stderr);
    }
    for file in files {
        assert_eq!(folder.read(&format!("parts/{file}")), folder.read(&format!("whole/{file}")), "{file}");
    }
    let names = std::fs::read_dir(folder.path().join("parts")).expect("a folder").count();
    assert_eq!(names, files.len(), "the parts' indexes are gone");
}

#[test]
fn finished_shards_are_not_made_again() {
    let folder = Folder::new();
    model(&folder);
    let whole = folder.cast("convert model whole --to float4e2m1 --json");
    let whole: serde_json::Value = serde_json::from_str(whole.text().lines().last().expect("a summary")).expect("JSON");
    // The third shard cannot be written.
    let partial = folder.path().join("out/m-2.safetensors.cast-partial");
    std::fs::create_dir_all(&partial).expect("a folder");
    let stopped = folder.cast("convert model out --to float4e2m1 --resume");
    assert_eq!(stopped.status, Some(1), "{}", stopped.stderr);
    std::fs::remove_dir(partial).expect("a folder");
    // The second was changed meanwhile.
    folder.write("out/m-1.safetensors", folder.read("out/m-0.safetensors"));
    let resumed = folder.cast("convert model out --to float4e2m1 --resume --json");
    let resumed: serde_json::Value =
        serde_json::from_str(resumed.text().lines().last().expect("a summary")).expect("JSON");
    assert_eq!(resumed["resumed"], folder.read("whole/m-0.safetensors").len() as u64);
    assert_eq!(resumed["lost"], whole["lost"]);
    for file in ["m-0.safetensors", "m-1.safetensors", "m-2.safetensors", "m.safetensors.index.json"] {
        assert_eq!(folder.read(&format!("out/{file}")), folder.read(&format!("whole/{file}")), "{file}");
    }
    assert_eq!(std::fs::read_dir(folder.path().join("out")).expect("a folder").count(), 4);
}

#[test]
fn an_index_that_leads_elsewhere_is_refused() {
    let folder = Folder::new();
    model(&folder);
    for shard in [
        "../a.safetensors",
        "/etc/passwd",
        "",
        ".",
        "..",
        "./m-0.safetensors",
        "m-0.safetensors/",
        "b/../m-0.safetensors",
    ] {
        folder.write("model/m.safetensors.index.json", format!(r#"{{"weight_map":{{"w0":"{shard}"}}}}"#));
        let outcome = folder.cast("convert model out --to bf16");
        assert_eq!(outcome.status, Some(1), "{shard}: {}", outcome.stderr);
        assert!(outcome.line().contains("no file of its folder"), "{}", outcome.stderr);
    }
    assert_eq!(folder.names(), ["model"]);
}

#[test]
fn several_files_go_into_a_folder() {
    let folder = Folder::new();
    for name in ["a", "b"] {
        folder.write(&format!("{name}.bin"), floats(&[1.0, 2.0]));
    }
    let outcome = folder.cast("convert a.bin b.bin -d out --from float --to int8 --out-format npy");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(folder.read("out/a.npy"), folder.read("out/b.npy"));
    let twice = folder.cast("convert a.bin ./a.bin -d out --from float --to int8");
    assert_eq!(twice.status, Some(2), "{}", twice.stderr);
    assert!(twice.line().contains("two outputs have this name"), "{}", twice.stderr);
}

#[test]
fn parts_of_different_conversions_and_damaged_shards_are_refused() {
    let folder = Folder::new();
    model(&folder);
    for (part, rules) in [(1, "--to bf16"), (2, "--to f16"), (3, "--to bf16")] {
        let outcome = folder.cast(&format!("convert model parts --part {part}/3 {rules}"));
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    }
    let mixed = folder.cast("merge-index parts");
    assert!(mixed.status == Some(1) && mixed.line().contains("a part of another conversion"), "{}", mixed.stderr);
    folder.cast("convert model parts --part 2/3 --to bf16");
    let whole = folder.read("parts/m-1.safetensors");
    folder.write("parts/m-1.safetensors", &whole[..whole.len() - 1]);
    let damaged = folder.cast("merge-index parts");
    let line = "wgpu-cast: parts/m.safetensors.index.json.part-2-of-3: the shard m-1.safetensors is not the one that was made: \
                convert the part again";
    assert_eq!((damaged.status, damaged.line()), (Some(1), line));
    folder.write("parts/m-1.safetensors", folder.read("parts/m-0.safetensors"));
    let other = folder.cast("merge-index parts");
    assert_eq!((other.status, other.line()), (Some(1), line));
}

/// Three shards in five parts: two parts have none. A part that is converted again is not made again.
#[test]
fn more_parts_than_shards() {
    let folder = Folder::new();
    model(&folder);
    assert_eq!(folder.cast("convert model whole --to bf16").status, Some(0));
    for part in [1, 2, 3, 4, 5, 2] {
        let outcome = folder.cast(&format!("convert model parts --to bf16 --part {part}/5 --resume --json"));
        let summary: serde_json::Value =
            serde_json::from_str(outcome.text().lines().last().expect("a summary")).expect("JSON");
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        assert_eq!(
            summary["resumed"].as_u64() > Some(0),
            part == 2 && folder.path().join("parts/m.safetensors.index.json.part-5-of-5").exists()
        );
    }
    let merged = folder.cast("merge-index parts");
    assert_eq!(merged.status, Some(0), "{}", merged.stderr);
    let index = "m.safetensors.index.json";
    assert_eq!(folder.read(&format!("parts/{index}")), folder.read(&format!("whole/{index}")));
    assert_eq!(std::fs::read_dir(folder.path().join("parts")).expect("a folder").count(), 4);
}

/// The index counts the tensors of the model, not those of other files.
#[test]
fn a_model_beside_another_file() {
    let folder = Folder::new();
    model(&folder);
    folder.write("b.npy", crate::tool::npy("<f4", false, "(3,)", &floats(&[1.0; 3])));
    assert_eq!(folder.cast("convert model b.npy -d out --to bf16").status, Some(0));
    let index: serde_json::Value = serde_json::from_slice(&folder.read("out/m.safetensors.index.json")).expect("JSON");
    assert_eq!(index["metadata"]["total_size"], 12000);
}

#[test]
fn an_index_whose_metadata_is_no_object_is_refused() {
    let folder = Folder::new();
    model(&folder);
    for metadata in ["5", "\"x\"", "[1]"] {
        let index = format!(r#"{{"metadata":{metadata},"weight_map":{{"w0":"m-0.safetensors"}}}}"#);
        folder.write("model/m.safetensors.index.json", index);
        let outcome = folder.cast("convert model out --to bf16");
        assert!(outcome.status == Some(1) && outcome.line().contains("is not an object"), "{}", outcome.stderr);
    }
    assert_eq!(folder.names(), ["model"]);
}

/// What is refused is refused before anything is made.
#[test]
fn existing_outputs_are_refused_first() {
    let folder = Folder::new();
    model(&folder);
    for existing in ["m.safetensors.index.json", "m-2.safetensors", "config.json"] {
        folder.write("old", "");
        std::fs::create_dir(folder.path().join("out")).expect("a folder");
        folder.write(&format!("out/{existing}"), "old");
        let outcome = folder.cast("convert model out --to bf16 --no-clobber --copy-others");
        assert!(outcome.status == Some(1) && outcome.line().contains("--no-clobber"), "{}", outcome.stderr);
        assert_eq!(std::fs::read_dir(folder.path().join("out")).expect("a folder").count(), 1, "{existing}");
        std::fs::remove_dir_all(folder.path().join("out")).expect("a folder");
    }
    let outcome = folder.cast("convert /nowhere/at/all out --to bf16");
    assert!(outcome.status == Some(1) && outcome.line().contains("No such file"), "{}", outcome.stderr);
}

/// Files of a folder that are not converted are copied, but not the data of a model, nor what is left of an interrupted
/// conversion. A `.bin` file is copied, too: nothing says what it has.
#[test]
fn other_files_are_copied() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("m")).expect("a folder");
    folder.write("m/a.onnx", model_with_data("a.onnx.data"));
    folder.write("m/a.onnx.data", floats(&[1.0, 2.0, 3.0, 4.0]));
    folder.write("m/training_args.bin", b"pickle");
    folder.write("m/a.txt", vec![7; 3 << 20]);
    folder.write("m/b.onnx.cast-partial", b"left");
    folder.write("m/.cast-finished", b"left");
    let convert = "convert m out --to float16 --copy-others --memory 1MiB";
    let outcome = folder.cast(convert);
    assert_eq!(outcome.status, Some(1));
    let refused = "wgpu-cast: m/.cast-finished: an interrupted conversion left this, so files of its folder may be missing \
                   (finish the conversion, or remove this to take the folder as it is)";
    assert_eq!(outcome.line(), refused);
    std::fs::remove_file(folder.path().join("m/.cast-finished")).expect("a file");
    let outcome = folder.cast(convert);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(folder.read("out/a.onnx.data"), [0, 0x3c, 0, 0x40, 0, 0x42, 0, 0x44]);
    assert_eq!(folder.read("out/training_args.bin"), b"pickle");
    assert!(folder.read("out/a.txt") == vec![7; 3 << 20]);
    let mut names: Vec<_> = std::fs::read_dir(folder.path().join("out"))
        .expect("a folder")
        .map(|e| e.expect("an entry").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["a.onnx", "a.onnx.data", "a.txt", "training_args.bin"]);
    let info = folder.cast("info m");
    assert!(info.status == Some(0) && info.text() == "w [4]: float, 16 bytes\n", "{info:?}");
    // Two copies of one name.
    std::fs::create_dir(folder.path().join("n")).expect("a folder");
    folder.write("n/a.txt", b"other");
    folder.write("n/b.safetensors", checkpoint(&[("w", "F32", &[1], &floats(&[1.0]))]));
    let outcome = folder.cast("convert m n -d both --to float16 --copy-others");
    assert!(outcome.status == Some(2) && outcome.line().contains("two outputs have this name"), "{}", outcome.stderr);
    assert!(!folder.path().join("both").exists());
}
