//! Folders in which files are missing: what an interrupted conversion left, and links to what does not exist.

use crate::convert::checkpoint;
use crate::tool::{Folder, floats};

const INDEX: &str = "m.safetensors.index.json";

/// A shard with one tensor.
fn shard(folder: &Folder, file: &str, name: &str) {
    folder.write(file, checkpoint(&[(name, "F32", &[1], &floats(&[1.0]))]));
}

/// The line of an error, before which nothing was written.
fn refused(folder: &Folder, line: &str) -> String {
    let outcome = folder.cast(line);
    assert_eq!(outcome.status, Some(1), "{line}: {}", outcome.stderr);
    assert!(!folder.path().join("out").exists(), "{line}");
    outcome.line().to_owned()
}

#[test]
fn what_an_interrupted_conversion_left_is_no_model() {
    let what = "an interrupted conversion left this, so files of its folder may be missing (finish the conversion, or \
                remove this to take the folder as it is)";
    let begun = format!("{INDEX}.cast-partial");
    let begun_part = format!("{INDEX}.part-1-of-2.cast-partial");
    for left in [begun.as_str(), &begun_part, ".cast-finished", ".cast-finished-1-of-2"] {
        let folder = Folder::new();
        shard(&folder, "m/inner/a.safetensors", "x");
        folder.write(&format!("m/inner/{left}"), "");
        let expected = format!("wgpu-cast: m/inner/{left}: {what}");
        for line in ["convert m out --to bf16", "convert m/inner out --to bf16 --dry-run"] {
            assert_eq!(refused(&folder, line), expected, "{line}");
        }
        // With the index the model is complete.
        folder.write(&format!("m/inner/{INDEX}"), r#"{"weight_map":{"x":"a.safetensors"}}"#);
        let outcome = folder.cast("convert m out --to bf16");
        assert_eq!(outcome.status, Some(0), "{left}: {}", outcome.stderr);
        assert_eq!(folder.entries("out/inner"), ["a.safetensors", INDEX], "{left}");
    }
    // A conversion in place has a list in the folder that it reads, but it never removes an index.
    let folder = Folder::new();
    shard(&folder, "m/a.safetensors", "x");
    folder.write("m/.cast-finished", "");
    let outcome = folder.cast("convert m m --to bf16 --in-place --resume");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(folder.entries("m"), ["a.safetensors"]);
    folder.write(&format!("m/{begun}"), "");
    assert_eq!(refused(&folder, "convert m m --to bf16 --in-place"), format!("wgpu-cast: m/{begun}: {what}"));
}

/// A cache from which a file is missing.
#[test]
#[cfg(unix)]
fn links_to_what_does_not_exist_are_errors() {
    let link = |folder: &Folder, name: &str| {
        std::os::unix::fs::symlink("missing", folder.path().join("m").join(name)).expect("a link");
    };
    for name in ["b.safetensors", INDEX] {
        let folder = Folder::new();
        shard(&folder, "m/a.safetensors", "x");
        link(&folder, name);
        let expected = format!("wgpu-cast: m/{name}: No such file or directory (os error 2)");
        for line in
            ["convert m out --to bf16".to_owned(), format!("convert m/{name} out --to bf16 --out-format safetensors")]
        {
            assert_eq!(refused(&folder, &line), expected, "{line}");
        }
    }
    let folder = Folder::new();
    shard(&folder, "m/a.safetensors", "x");
    link(&folder, "config.json");
    let expected = "wgpu-cast: m/config.json: No such file or directory (os error 2)";
    assert_eq!(refused(&folder, "convert m out --to bf16 --copy-others"), expected);
    // Without that option the file is not asked for.
    assert_eq!(folder.cast("convert m out --to bf16").status, Some(0));
    assert_eq!(folder.entries("out"), ["a.safetensors"]);
}
