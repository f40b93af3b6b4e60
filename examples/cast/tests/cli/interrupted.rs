//! What a signal leaves, and what the program says of it.

use std::process::{Command, Stdio};

use crate::tool::{Folder, Outcome, binary, is_ignored};

/// The number of SIGINT.
const INTERRUPT: i32 = 2;

/// 32 GiB without blocks, which become 4 GiB: it takes longer than a test needs to send a signal.
fn large(folder: &Folder) {
    let header = br#"{"w":{"dtype":"F64","shape":[4294967296],"data_offsets":[0,34359738368]}}"#;
    folder.write("a.safetensors", [&(header.len() as u64).to_le_bytes(), &header[..]].concat());
    let file = std::fs::OpenOptions::new().write(true).open(folder.path().join("a.safetensors")).expect("a file");
    file.set_len(8 + header.len() as u64 + (32 << 30)).expect("a sparse file");
}

/// Runs a conversion and interrupts it when a file has `bytes` bytes, and more than it had before.
fn interrupt(folder: &Folder, line: &str, file: &str, bytes: u64) -> Outcome {
    // The partial file of a run before is there before the program has begun to watch for signals.
    let length = || std::fs::metadata(folder.path().join(file)).map_or(0, |file| file.len());
    let bytes = bytes.max(length() + 1);
    let mut child = Command::new(binary())
        .args(line.split_whitespace())
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    while length() < bytes {
        assert!(child.try_wait().expect("a child").is_none(), "it runs");
        std::thread::yield_now();
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
    let ended = child.wait_with_output().expect("a child");
    Outcome {
        status: ended.status.code(),
        stdout: ended.stdout,
        stderr: String::from_utf8(ended.stderr).expect("text"),
    }
}

#[test]
fn an_interrupted_run_says_what_is_left_and_leaves_no_empty_folder() {
    if is_ignored(INTERRUPT) {
        return support::not_tested("interrupts are ignored by this process");
    }
    let folder = Folder::new();
    large(&folder);
    let partial = "new/deep/a.safetensors.cast-partial";
    let line = "convert a.safetensors -d new/deep --to float8e4m3fn --quiet";
    let outcome = interrupt(&folder, line, partial, 1);
    let removed = format!("wgpu-cast: interrupted; {partial} was removed (with --resume it is kept and continued)");
    assert_eq!((outcome.status, outcome.line()), (Some(130), removed.as_str()));
    assert_eq!(folder.names(), ["a.safetensors"]);

    // Pieces are there: the journal follows the 4 GiB of the output. Then a run that continues is interrupted, too.
    let kept = format!("wgpu-cast: interrupted; {partial} is kept, and the same command continues it");
    for _ in 0..2 {
        let outcome = interrupt(&folder, &format!("{line} --resume"), partial, (4 << 30) + 300);
        assert_eq!((outcome.status, outcome.line()), (Some(130), kept.as_str()));
        assert!(folder.path().join(partial).exists());
    }
}

#[test]
fn complete_outputs_stay_and_are_counted() {
    if is_ignored(INTERRUPT) {
        return support::not_tested("interrupts are ignored by this process");
    }
    let folder = Folder::new();
    large(&folder);
    folder.write("0.npy", crate::tool::npy("<f8", false, "(1,)", &[0; 8]));
    let line = "convert 0.npy a.safetensors -d new --to float8e4m3fn --quiet";
    let partial = "new/a.safetensors.cast-partial";
    let outcome = interrupt(&folder, line, partial, 1);
    let expected = format!(
        "wgpu-cast: interrupted; {partial} was removed (with --resume it is kept and continued); 1 complete output kept"
    );
    assert_eq!((outcome.status, outcome.line()), (Some(130), expected.as_str()));
    assert_eq!(folder.names(), ["0.npy", "a.safetensors", "new"]);
    assert!(folder.path().join("new/0.npy").exists() && !folder.path().join(partial).exists());
}
