//! `wgpu-cast convert --resume`: what is continued, and what is made again.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use crate::convert::checkpoint;
use crate::tool::{Folder, floats};

/// A model of two shards of this value, whose files were last written in 2001.
fn write_model(folder: &Folder, name: &str, value: f32) {
    fs::create_dir_all(folder.path().join(name)).expect("a folder");
    let data = floats(&vec![value; 1000]);
    for shard in 0..2 {
        let file = format!("{name}/m-{shard}.safetensors");
        folder.write(&file, checkpoint(&[(&format!("w{shard}"), "F32", &[1000], &data)]));
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let file = File::options().write(true).open(folder.path().join(file)).expect("a file");
        file.set_modified(time).expect("a time");
    }
    let index = r#"{"weight_map":{"w0":"m-0.safetensors","w1":"m-1.safetensors"}}"#;
    folder.write(&format!("{name}/m.safetensors.index.json"), index);
}

/// Begins a conversion that finishes one shard of two.
fn begin(folder: &Folder) {
    let blocked = folder.path().join("out/m-1.safetensors.cast-partial");
    fs::create_dir_all(&blocked).expect("a folder");
    let stopped = folder.cast("convert model out --to bf16 --resume");
    assert_eq!(stopped.status, Some(1), "{}", stopped.stderr);
    fs::remove_dir(blocked).expect("a folder");
}

/// Shards of another model are not continued, even if their headers, their sizes and their times of change are equal.
#[test]
fn another_model_of_the_same_layout_and_time_is_not_continued() {
    // Another folder, a folder of the same name, and the same files with new bytes.
    for case in ["path", "inode", "changed"] {
        let folder = Folder::new();
        write_model(&folder, "model", 1.0);
        begin(&folder);
        let mut name = "model";
        match case {
            "path" => {
                name = "other";
                write_model(&folder, "other", 2.0);
            }
            "inode" => {
                fs::rename(folder.path().join("model"), folder.path().join("old")).expect("a name");
                write_model(&folder, "model", 2.0);
            }
            _ => write_model(&folder, "model", 2.0),
        }
        let resumed = folder.cast(&format!("convert {name} out --to bf16 --resume --json"));
        assert_eq!(resumed.status, Some(0), "{case}: {}", resumed.stderr);
        assert_eq!(folder.cast(&format!("convert {name} whole --to bf16")).status, Some(0));
        for shard in ["m-0.safetensors", "m-1.safetensors"] {
            assert!(folder.read(&format!("out/{shard}")) == folder.read(&format!("whole/{shard}")), "{case}: {shard}");
        }
        let summary: serde_json::Value =
            serde_json::from_str(resumed.text().lines().last().expect("a summary")).expect("JSON");
        assert_eq!(summary["resumed"], 0, "{case}");
    }
}
