//! `convert --quantize`: parts of a model, pipes, and runs that were interrupted.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use crate::convert::checkpoint;
use crate::dequantize::{made, tensors_of};
use crate::quantize::{LAYOUTS, OPTIONS, copy, expected};
use crate::tool::{Folder, binary, floats};

/// The configuration lists layers of the other part, too.
#[test]
fn parts_join_to_the_bytes_of_one_run() {
    for (layout, _) in LAYOUTS {
        let folder = Folder::new();
        copy(&folder);
        folder.parts_join(&format!("--quantize {layout} {OPTIONS}"));
    }
}

#[test]
fn a_model_is_converted_in_place_and_from_a_pipe() {
    let folder = Folder::new();
    copy(&folder);
    let outcome = folder.cast(&format!("convert m m --quantize block {OPTIONS} --in-place"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(made(&folder, "m"), expected("block"));
    assert_eq!(folder.cast("info m/model.safetensors.index.json").status, Some(0));

    copy(&folder);
    let line = "convert - out.safetensors --in-format safetensors --quantize row";
    let outcome = folder.cast_from("m/model-00001-of-00002.safetensors", line);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let found = tensors_of(&folder.read("out.safetensors"));
    let expected = expected("row");
    assert_eq!(found.len(), 5);
    assert!(found.iter().all(|tensor| expected.contains(tensor)));
    // A configuration in the current folder is none of what comes from a pipe.
    folder.write("config.json", r#"{"quantization_config": {"quant_method": "gptq"}}"#);
    let outcome = folder.cast_from("m/model-00001-of-00002.safetensors", line);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let outcome =
        folder.cast_from("out.safetensors", "convert - back.safetensors --in-format safetensors --dequantize");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
}

/// A conversion that ended at its second shard goes on there.
#[test]
fn interrupted_conversions_are_continued() {
    let folder = Folder::new();
    copy(&folder);
    let line = format!("convert m out --quantize row {OPTIONS} --resume");
    let blocked = folder.path().join("out/model-00002-of-00002.safetensors.cast-partial");
    std::fs::create_dir_all(&blocked).expect("a folder");
    assert_eq!(folder.cast(&line).status, Some(1));
    std::fs::remove_dir(&blocked).expect("a folder");
    let first = folder.path().join("out/model-00001-of-00002.safetensors");
    let before = std::fs::metadata(&first).and_then(|file| file.modified()).expect("a file");
    let outcome = folder.cast(&line);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.line().contains(" of it were there already; "), "{}", outcome.stderr);
    assert_eq!(std::fs::metadata(&first).and_then(|file| file.modified()).expect("a file"), before);
    assert_eq!(made(&folder, "out"), expected("row"));
}

/// SIGKILL while codes are written, in each layout.
#[test]
#[cfg(unix)]
fn a_killed_conversion_is_continued() {
    use std::process::{Command, Stdio};
    let folder = Folder::new();
    let code = |at: u32| ((at.wrapping_mul(0x9e37_79b9) >> 17) as u16 & 0xbfff).to_le_bytes();
    let elements: Vec<u8> = (0..1 << 20).flat_map(code).collect();
    folder.write("a.safetensors", checkpoint(&[("a.weight", "BF16", &[1 << 10, 1 << 10], &elements)]));
    for (layout, _) in LAYOUTS {
        let whole = folder.convert(&format!("a.safetensors out.safetensors --quantize {layout}"));
        let line = format!("convert a.safetensors {layout}.safetensors --quantize {layout} --resume --memory 1MiB");
        let [output, partial] =
            ["", ".cast-partial"].map(|end| folder.path().join(format!("{layout}.safetensors{end}")));
        // Pieces are there when the journal is, which follows the bytes of the output.
        let has_pieces = || std::fs::metadata(&partial).is_ok_and(|file| file.len() > whole.len() as u64 + 300);
        let is_killed = || {
            let mut command = Command::new(binary());
            command.args(line.split_whitespace()).current_dir(folder.path()).stderr(Stdio::null());
            let mut child = command.spawn().expect("the binary runs");
            while !has_pieces() && child.try_wait().expect("a child").is_none() {
                std::thread::yield_now();
            }
            child.kill().expect("a process");
            child.wait().expect("a process");
            let is_killed = has_pieces();
            // It was faster than this test.
            if !is_killed {
                std::fs::remove_file(&output).expect("an output");
            }
            is_killed
        };
        assert!((0..100).any(|_| is_killed()), "{layout}: it always ends before it is killed");
        let outcome = folder.cast(&line);
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        assert!(outcome.line().contains(" of it were there already; "), "{}", outcome.stderr);
        assert!(folder.read(&format!("{layout}.safetensors")) == whole, "{layout}");
    }
}

/// The index cannot get its name after the shards have got theirs. The report of many tensors waits for its reader before that.
#[test]
fn what_only_needs_its_name_is_kept() {
    let folder = Folder::new();
    let (index, partial) = ("m/model.safetensors.index.json", "m/model.safetensors.index.json.cast-partial");
    let names: Vec<_> = (0..1000).map(|number| format!("a.{number}.weight")).collect();
    let ones = floats(&[1.0; 4]);
    let weights: Vec<_> = names.iter().map(|name| (name.as_str(), "F32", &[2, 2][..], &ones[..])).collect();
    folder.write("m/a.safetensors", checkpoint(&weights));
    folder.write("m/b.safetensors", checkpoint(&[("b.weight", "F32", &[2, 2], &ones)]));
    let shards = names.iter().map(|name| format!("{name:?}: \"a.safetensors\""));
    let shards: Vec<_> = shards.chain([r#""b.weight": "b.safetensors""#.to_owned()]).collect();
    folder.write(index, format!(r#"{{"weight_map": {{{}}}}}"#, shards.join(",")));
    let mut child = Command::new(binary())
        .args("convert m m --quantize tensor --in-place --json".split(' '))
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut report = BufReader::new(child.stdout.take().expect("a pipe"));
    report.read_line(&mut String::new()).expect("a line of the report");
    std::fs::remove_file(folder.path().join(index)).expect("a file");
    folder.write(&format!("{index}/full"), "");
    report.read_to_end(&mut Vec::new()).expect("the rest of the report");
    let ended = child.wait_with_output().expect("the binary ends");
    let told = String::from_utf8(ended.stderr).expect("UTF-8");
    assert_eq!(ended.status.code(), Some(1), "{told}");
    let expected = format!("warning: {index}: its new content is complete, in {partial}, which only needs this name\n");
    assert!(told.starts_with(&expected), "{told}");
    std::fs::remove_dir_all(folder.path().join(index)).expect("a folder");
    std::fs::rename(folder.path().join(partial), folder.path().join(index)).expect("a file");
    assert_eq!(folder.cast(&format!("info {index}")).status, Some(0));
    assert_eq!(folder.cast("convert m out --dequantize").status, Some(0));
}
