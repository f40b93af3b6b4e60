//! Old indexes and new shards: an index never says that shards belong together that do not.

use std::path::PathBuf;

use crate::convert::checkpoint;
use crate::tool::{Folder, binary, floats};

const INDEX: &str = "m.safetensors.index.json";

/// A model of three shards with these values.
fn write_model(folder: &Folder, value: f32) {
    let mut map = serde_json::Map::new();
    for shard in 0..3 {
        let (file, name) = (format!("m-{shard}.safetensors"), format!("w{shard}"));
        let data = floats(&vec![value; 100]);
        folder.write(&format!("model/{file}"), checkpoint(&[(&name, "F32", &[100], &data)]));
        map.insert(name, file.into());
    }
    folder.write(&format!("model/{INDEX}"), serde_json::json!({"weight_map": map}).to_string());
}

fn convert(folder: &Folder, arguments: &str) {
    let outcome = folder.cast(&format!("convert model out {arguments}"));
    assert_eq!(outcome.status, Some(0), "{arguments}: {}", outcome.stderr);
}

/// Runs a conversion that fails at its last shard, because a folder has the name of the partial file.
fn fail(folder: &Folder, shard: usize, arguments: &str) {
    let blocked: PathBuf = folder.path().join(format!("out/m-{shard}.safetensors.cast-partial"));
    std::fs::create_dir(&blocked).expect("a folder");
    let outcome = folder.cast(&format!("convert model out {arguments}"));
    assert_eq!(outcome.status, Some(1), "{arguments}: {}", outcome.stderr);
    std::fs::remove_dir(blocked).expect("a folder");
}

/// Ends a conversion by SIGKILL while it waits for a reader of its last shard, which is a pipe.
#[cfg(unix)]
fn kill(folder: &Folder, shard: usize, arguments: &str) {
    use std::process::{Command, Stdio};
    let pipe = folder.path().join(format!("out/m-{shard}.safetensors"));
    std::fs::remove_file(&pipe).expect("a shard");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let mut command = Command::new(binary());
    command.args(["convert", "model", "out"]).args(arguments.split_whitespace());
    let mut child = command.current_dir(folder.path()).stderr(Stdio::null()).spawn().expect("the binary runs");
    // Opening it waits until the process has opened it, too; it has then made the shards before.
    let reader = std::fs::File::open(&pipe).expect("a pipe");
    child.kill().expect("a process");
    child.wait().expect("a process");
    drop(reader);
    std::fs::remove_file(pipe).expect("a pipe");
}

#[test]
#[cfg(unix)]
fn a_killed_conversion_leaves_no_old_index() {
    for old in ["--to bf16", "--to bf16 --part 1/1"] {
        let folder = Folder::new();
        write_model(&folder, 1.0);
        convert(&folder, old);
        kill(&folder, 2, "--to f16");
        let left = ["m-0.safetensors", "m-1.safetensors", "m.safetensors.index.json.cast-partial"];
        assert_eq!(folder.entries("out"), left, "{old}");
        let merged = folder.cast("merge-index out");
        let line = "wgpu-cast: out: no index of a part (*.index.json.part-I-of-N) is here";
        assert_eq!((merged.status, merged.line()), (Some(1), line), "{old}");
        convert(&folder, "--to f16");
        assert_eq!(folder.entries("out"), ["m-0.safetensors", "m-1.safetensors", "m-2.safetensors", INDEX], "{old}");
    }
}

/// A part that is converted again and fails: neither its own index nor that of the whole model is left.
#[test]
fn a_part_that_fails_leaves_no_old_index() {
    let folder = Folder::new();
    write_model(&folder, 1.0);
    let part_1 = "m.safetensors.index.json.part-1-of-2";
    let part_2 = "m.safetensors.index.json.part-2-of-2";
    for part in [1, 2] {
        convert(&folder, &format!("--to bf16 --part {part}/2"));
    }
    // The first part has two shards.
    fail(&folder, 2, "--to f16 --part 1/2");
    assert_eq!(folder.entries("out"), ["m-0.safetensors", "m-1.safetensors", "m-2.safetensors", part_2]);
    let merged = folder.cast("merge-index out");
    assert_eq!(
        (merged.status, merged.line()),
        (Some(1), "wgpu-cast: out: m.safetensors.index.json: part 1 of 2 is missing")
    );
    // The same over the index of a whole model.
    convert(&folder, "--to bf16");
    assert_eq!(folder.entries("out"), ["m-0.safetensors", "m-1.safetensors", "m-2.safetensors", INDEX]);
    fail(&folder, 2, "--to f16 --part 1/2");
    assert_eq!(folder.entries("out"), ["m-0.safetensors", "m-1.safetensors", "m-2.safetensors"]);
    convert(&folder, "--to f16 --part 1/2");
    convert(&folder, "--to f16 --part 2/2");
    assert_eq!(folder.entries("out"), ["m-0.safetensors", "m-1.safetensors", "m-2.safetensors", part_1, part_2]);
}

/// A conversion in place that is killed when the shards have their names, while it waits for a reader of its picture,
/// which is a pipe.
#[test]
#[cfg(unix)]
fn a_killed_conversion_in_place_keeps_the_index() {
    use std::process::{Command, Stdio};
    let folder = Folder::new();
    write_model(&folder, 1.0);
    convert(&folder, "--to bf16");
    let pipe = folder.path().join("picture.svg");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let mut command = Command::new(binary());
    command.args(["convert", "model", "model", "--in-place", "--to", "bf16", "--plot", "picture.svg"]);
    let mut child = command.current_dir(folder.path()).stderr(Stdio::null()).spawn().expect("the binary runs");
    let reader = std::fs::File::open(&pipe).expect("a pipe");
    child.kill().expect("a process");
    child.wait().expect("a process");
    drop(reader);
    let shards = ["m-0.safetensors", "m-1.safetensors", "m-2.safetensors"];
    for shard in shards {
        assert!(folder.read(&format!("model/{shard}")) == folder.read(&format!("out/{shard}")), "{shard}");
    }
    assert!(folder.read(&format!("model/{INDEX}")) == folder.read(&format!("out/{INDEX}")));
    let again = folder.cast("convert model model --in-place --to bf16");
    assert_eq!(again.status, Some(0), "{}", again.stderr);
    for file in shards.into_iter().chain([INDEX]) {
        assert!(folder.read(&format!("model/{file}")) == folder.read(&format!("out/{file}")), "{file}");
    }
    assert_eq!(folder.entries("model"), folder.entries("out"));
}

/// The other parts are made of the files that the part would replace.
#[test]
fn a_part_is_not_written_onto_its_model() {
    let folder = Folder::new();
    write_model(&folder, 1.0);
    let files = folder.entries("model");
    let before: Vec<_> = files.iter().map(|file| folder.read(&format!("model/{file}"))).collect();
    let in_place = "wgpu-cast: --part cannot be combined with --in-place".to_owned();
    let what = "--part cannot write to the folder of the model, of which the other parts are made";
    let part = "--to bf16 --part 1/2";
    for (line, expected) in [
        (format!("convert model model {part} --in-place"), in_place.clone()),
        (format!("convert model/{INDEX} out {part} --in-place"), in_place),
        (format!("convert model model/../model {part}"), format!("wgpu-cast: model/../model: {what}")),
        (format!("convert model/{INDEX} -d ./model --to bf16 --part 9/9"), format!("wgpu-cast: ./model: {what}")),
    ] {
        let outcome = folder.cast(&line);
        assert_eq!((outcome.status, outcome.line()), (Some(2), expected.as_str()), "{line}");
    }
    assert_eq!((folder.names(), folder.entries("model")), (vec!["model".to_owned()], files.clone()));
    let after: Vec<_> = files.iter().map(|file| folder.read(&format!("model/{file}"))).collect();
    assert!(before == after);
}

/// Nothing was replaced yet, so the old index is still true.
#[test]
fn a_conversion_that_replaces_nothing_keeps_the_index() {
    let folder = Folder::new();
    write_model(&folder, 1e30);
    convert(&folder, "--to bf16");
    let before = folder.read(&format!("out/{INDEX}"));
    fail(&folder, 0, "--to f16");
    let strict = folder.cast("convert model out --to f16 --strict");
    assert_eq!(strict.status, Some(1), "{}", strict.stderr);
    let refused = folder.cast("convert model out --to f16 --part 1/2 --no-clobber");
    let line = format!("wgpu-cast: out/{INDEX}: it exists, and --no-clobber is given");
    assert_eq!((refused.status, refused.line()), (Some(1), line.as_str()));
    assert!(folder.read(&format!("out/{INDEX}")) == before);
}

/// All parts are there, but a shard is not the one that was made with its part.
#[test]
fn shards_of_another_conversion_are_not_joined() {
    let folder = Folder::new();
    write_model(&folder, 1.0);
    for part in [1, 2] {
        convert(&folder, &format!("--to bf16 --part {part}/2"));
    }
    let shard = folder.path().join("out/m-1.safetensors");
    let old = folder.read("out/m-1.safetensors");
    let time = std::fs::metadata(&shard).and_then(|metadata| metadata.modified()).expect("a time");
    let put = |bytes: &[u8]| {
        folder.write("out/m-1.safetensors", bytes);
        let file = std::fs::File::options().write(true).open(&shard).expect("a shard");
        file.set_modified(time).expect("a time");
    };
    // The same rules make a shard of the same header from another model.
    write_model(&folder, 2.0);
    assert_eq!(folder.cast("convert model/m-1.safetensors other.safetensors --to bf16").status, Some(0));
    put(&folder.read("other.safetensors"));
    let merged = folder.cast("merge-index out");
    let line = "wgpu-cast: out/m.safetensors.index.json.part-2-of-2: the shard m-1.safetensors is not the one that was made: \
                convert the part again";
    assert_eq!((merged.status, merged.line()), (Some(1), line));
    assert!(!folder.path().join("out").join(INDEX).exists());
    // A copy has the same bytes.
    put(&old);
    let merged = folder.cast("merge-index out");
    assert_eq!(merged.status, Some(0), "{}", merged.stderr);
    assert_eq!(folder.entries("out"), ["m-0.safetensors", "m-1.safetensors", "m-2.safetensors", INDEX]);
}

/// Parts of two models with equal indexes.
#[test]
fn parts_of_two_models_are_not_joined() {
    let folder = Folder::new();
    write_model(&folder, 1.0);
    convert(&folder, "--to bf16 --part 1/2");
    write_model(&folder, 2.0);
    convert(&folder, "--to bf16 --part 2/2");
    let merged = folder.cast("merge-index out");
    let line = "wgpu-cast: out/m.safetensors.index.json.part-2-of-2: it is a part of another conversion";
    assert_eq!((merged.status, merged.line()), (Some(1), line));
}

/// `merge-index` compares the joined index with the headers of the shards, and refuses what says nothing of them.
#[test]
fn parts_that_do_not_say_what_was_made_are_not_joined() {
    let folder = Folder::new();
    write_model(&folder, 1.0);
    convert(&folder, "--to bf16 --part 1/1");
    let name = format!("out/{INDEX}.part-1-of-1");
    let text = String::from_utf8(folder.read(&name)).expect("UTF-8");
    let refused = |text: String, line: &str| {
        folder.write(&name, text);
        let merged = folder.cast("merge-index out");
        assert_eq!((merged.status, merged.line()), (Some(1), line));
    };
    let what = "it does not say which shards were made (\"cast_conversion\"): convert the part again";
    refused(text.replace("cast_conversion", "x"), &format!("wgpu-cast: {name}: {what}"));
    let what = "the tensor w1 is given twice: in m-0.safetensors and in m-1.safetensors";
    refused(text.replace("\"w0\"", "\"w1\""), &format!("wgpu-cast: {name}: {what}"));
    refused(
        text.replace("\"w0\"", "\"other\""),
        "wgpu-cast: out/m.safetensors.index.json: the shard m-0.safetensors has no tensor other",
    );
}
