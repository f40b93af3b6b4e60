//! `convert --dry-run`, and what is refused before any work.

use crate::convert::checkpoint;
use crate::tool::{Folder, floats, npy};

fn array(folder: &Folder, name: &str) {
    folder.write(name, npy("<f4", false, "(2,)", &floats(&[1.0, 2.0])));
}

/// The last object that a run printed.
fn summary(text: &str) -> serde_json::Value {
    serde_json::from_str(text.lines().last().expect("a line")).expect("JSON")
}

#[test]
fn outputs_copies_and_indexes_are_listed_with_their_sizes() {
    let folder = Folder::new();
    for name in ["m", "out"] {
        std::fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    let shard = checkpoint(&[("w", "F32", &[1, 2], &floats(&[1.0, 2.0]))]);
    folder.write("m/model-1.safetensors", &shard);
    folder.write("m/model.safetensors.index.json", r#"{"metadata":{},"weight_map":{"w":"model-1.safetensors"}}"#);
    folder.write("m/tokenizer.txt", "words");
    folder.write("out/tokenizer.txt", "old");
    let line = "convert m out --to float16 --copy-others --dry-run";
    let outcome = folder.cast(line);
    let size = folder.convert("m/model-1.safetensors out.safetensors --to float16").len();
    let expected = format!(
        "w [1, 2]: float -> float16, 8 bytes -> 4 bytes\n\
         output: out/model-1.safetensors, {size} bytes\n\
         copy: m/tokenizer.txt -> out/tokenizer.txt, 5 bytes, replaces a file\n\
         index: out/model.safetensors.index.json\n\
         1 tensor, 1 of them cast: 8 bytes -> 4 bytes\n"
    );
    assert_eq!((outcome.status, outcome.text(), outcome.stderr.as_str()), (Some(0), expected.as_str(), ""));
    let json = folder.cast(&format!("{line} --json"));
    let expected = serde_json::json!({
        "tensors": 1, "cast": 1, "bytes": [8, 4], "refused": [],
        "outputs": [{"file": "out/model-1.safetensors", "bytes": size, "replaces": false}],
        "copies": [{"file": "out/tokenizer.txt", "from": "m/tokenizer.txt", "bytes": 5, "replaces": true}],
        "indexes": [{"file": "out/model.safetensors.index.json", "replaces": false}],
    });
    assert_eq!((json.status, summary(json.text())), (Some(0), expected));
    let quiet = folder.cast(&format!("{line} --quiet"));
    assert_eq!((quiet.status, quiet.text(), quiet.stderr.as_str()), (Some(0), "", ""));
    assert_eq!(folder.read("out/tokenizer.txt"), b"old");
}

/// A dry run and the run itself refuse the same, with the same status.
#[test]
fn what_the_run_would_refuse_is_refused() {
    let folder = Folder::new();
    array(&folder, "a.npy");
    array(&folder, "b.npy");
    array(&folder, "there.npy");
    array(&folder, "locked.npy");
    let path = folder.path().join("locked.npy");
    let mut permissions = std::fs::metadata(&path).expect("a file").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).expect("permissions");
    for (line, refused) in [
        ("a.npy there.npy --no-clobber", "there.npy: it exists, and --no-clobber is given"),
        ("a.npy locked.npy", "locked.npy: cannot write: it is read-only (--force replaces it)"),
        ("a.npy b.npy -d there.npy", "there.npy/a.npy: cannot write: there.npy is not a folder"),
        ("a.npy -d there.npy/deep", "there.npy/deep/a.npy: cannot write: there.npy is not a folder"),
    ] {
        for json in ["", "--json"] {
            let dry = folder.cast(&format!("convert {line} --to float16 --dry-run {json}"));
            let expected = format!("wgpu-cast: the run would be refused: {refused}");
            assert_eq!((dry.status, dry.line()), (Some(1), expected.as_str()), "{line}");
            assert!(!dry.text().is_empty());
            if !json.is_empty() {
                assert_eq!(summary(dry.text())["refused"], serde_json::json!([refused]));
            }
        }
        let run = folder.cast(&format!("convert {line} --to float16"));
        assert_eq!((run.status, run.line()), (Some(1), format!("wgpu-cast: {refused}").as_str()));
    }
    for line in ["a.npy nowhere/out.npy", "a.npy a.npy"] {
        let dry = folder.cast(&format!("convert {line} --to float16 --dry-run"));
        let run = folder.cast(&format!("convert {line} --to float16"));
        assert!(matches!(run.status, Some(1 | 2)), "{run:?}");
        assert_eq!((dry.status, dry.line().replace("the run would be refused: ", "")), (run.status, run.line().into()));
    }
    // All that is refused is told.
    array(&folder, "out.npy");
    std::fs::create_dir(folder.path().join("out")).expect("a folder");
    array(&folder, "out/a.npy");
    array(&folder, "out/b.npy");
    let dry = folder.cast("convert a.npy b.npy -d out --to float16 --no-clobber --dry-run --quiet");
    let line =
        |name: &str| format!("wgpu-cast: the run would be refused: out/{name}: it exists, and --no-clobber is given\n");
    assert_eq!((dry.status, dry.stderr), (Some(1), line("a.npy") + &line("b.npy")));
}

#[cfg(unix)]
#[test]
fn folders_that_are_not_writable_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    array(&folder, "a.npy");
    let path = folder.path().join("locked");
    std::fs::create_dir(&path).expect("a folder");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o555)).expect("permissions");
    if std::fs::write(path.join("probe"), "").is_ok() {
        return support::not_tested("this user may write to every folder");
    }
    for line in ["a.npy locked/out.npy", "a.npy -d locked/new/deep"] {
        let dry = folder.cast(&format!("convert {line} --to float16 --dry-run"));
        let run = folder.cast(&format!("convert {line} --to float16"));
        assert!(run.line().ends_with("cannot write: locked: Permission denied (os error 13)"), "{run:?}");
        let expected = run.line().replace("wgpu-cast: ", "wgpu-cast: the run would be refused: ");
        assert_eq!((dry.status, run.status, dry.line()), (Some(1), Some(1), expected.as_str()));
    }
}

/// 8 TiB without blocks would become 16 TiB.
#[cfg(unix)]
#[test]
fn outputs_that_do_not_fit_are_refused_before_any_work() {
    let folder = Folder::new();
    let header = br#"{"w":{"dtype":"U8","shape":[8796093022208],"data_offsets":[0,8796093022208]}}"#;
    folder.write("a.safetensors", [&(header.len() as u64).to_le_bytes(), &header[..]].concat());
    let file = std::fs::OpenOptions::new().write(true).open(folder.path().join("a.safetensors")).expect("a file");
    if file.set_len(8 + header.len() as u64 + (8 << 40)).is_err() {
        return support::not_tested("the file system has no files of 8 TiB");
    }
    for output in ["out.safetensors", "-d new"] {
        let dry = folder.cast(&format!("convert a.safetensors {output} --map w=int16 --dry-run"));
        let run = folder.cast(&format!("convert a.safetensors {output} --map w=int16"));
        let expected = "wgpu-cast: .: not enough space: 16.0 TiB are needed, ";
        assert!(run.status == Some(1) && run.line().starts_with(expected), "{run:?}");
        assert!(
            dry.status == Some(1) && dry.line().contains("the run would be refused: .: not enough space"),
            "{dry:?}"
        );
    }
    assert_eq!(folder.names(), ["a.safetensors"]);
}
