//! External data on systems where a name can be a link, a pipe or one of many, and memory can be limited.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

#[cfg(target_os = "linux")]
use support::assert_error;
#[cfg(target_os = "linux")]
use wgpu_cast::{ElementType, Tensor};
use wgpu_cast_files::onnx::{Model, NamedTensor};

use crate::wire::*;

/// Three bytes of data in another file.
fn message(location: &str) -> Message {
    tensor(2, &[3]).int(DATA_LOCATION, 1).bytes(EXTERNAL_DATA, entry("location", location))
}

/// What is wrong with a location; it must not take long to say so.
fn fault(folder: &Path, location: &str) -> String {
    let (sender, receiver) = mpsc::channel();
    let (bytes, folder) = (message(location).0, folder.to_owned());
    std::thread::spawn(move || sender.send(NamedTensor::from_bytes(bytes, Some(&folder))));
    match receiver.recv_timeout(Duration::from_secs(20)).expect("an answer") {
        Err(error) => error.to_string().strip_prefix("tensor \"t\": ").expect("the name").to_owned(),
        other => panic!("{location}: {other:?}"),
    }
}

/// The three bytes that a message finds. `path` is that of its file, or of its folder.
fn found(path: &Path, location: &str) -> Vec<u8> {
    let read = NamedTensor::from_bytes(message(location).0, Some(path));
    read.unwrap_or_else(|error| panic!("{location}: {error}")).tensor.to_vec().unwrap()
}

/// Links inside the folder, chains of them, and further hard links are followed; what leads out is refused.
#[test]
fn links_lead_to_files_inside_the_folder_only() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("real")).unwrap();
    for (file, first) in [(path("x.bin"), 1), (path("real/y.bin"), 4), (other.path().join("z.bin"), 7)] {
        fs::write(file, [first, first + 1, first + 2]).unwrap();
    }
    symlink(path("x.bin"), path("link")).unwrap();
    symlink("x.bin", path("relative")).unwrap();
    symlink(other.path().join("z.bin"), path("out")).unwrap();
    symlink(path("real"), path("within")).unwrap();
    symlink(other.path(), path("away")).unwrap();
    symlink("/nonexistent", path("dangling")).unwrap();
    symlink("loop", path("loop")).unwrap();
    symlink("relative", path("chain")).unwrap();
    symlink(other.path().join("back"), path("around")).unwrap();
    symlink(path("x.bin"), other.path().join("back")).unwrap();
    symlink("out", path("chain out")).unwrap();
    symlink("../x.bin", path("real/up")).unwrap();
    fs::hard_link(path("x.bin"), path("twice")).unwrap();
    for location in ["x.bin", "link", "relative", "chain", "around", "real/up", "twice"] {
        assert_eq!(found(folder.path(), location), [1, 2, 3], "{location}");
    }
    for location in ["within/y.bin", "./within/y.bin"] {
        assert_eq!(found(folder.path(), location), [4, 5, 6], "{location}");
    }
    for location in ["out", "away/z.bin", "chain out"] {
        let fault = fault(folder.path(), location);
        let text = format!("external_data location \"{location}\" is a link that leads out of the model's folder");
        assert_eq!(fault, text);
    }
    for location in ["dangling", "loop", "real/none"] {
        let fault = fault(folder.path(), location);
        assert!(fault.starts_with(&format!("external_data location {location:?}: cannot read: ")), "{fault}");
    }
    assert_eq!(fault(folder.path(), "within"), "external_data location \"within\": it is not a regular file");
    assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
    assert_eq!(fault(folder.path(), "pipe"), "external_data location \"pipe\": it is not a regular file");
    let devices = fault(Path::new("/dev"), "zero");
    assert_eq!(devices, "external_data location \"zero\": it is not a regular file");
}

#[test]
fn the_folder_itself_may_be_reached_through_a_link() {
    let (folder, links) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(folder.path().join("x.bin"), [1, 2, 3]).unwrap();
    symlink(folder.path(), links.path().join("here")).unwrap();
    let read = NamedTensor::from_bytes(message("x.bin").0, Some(&links.path().join("here"))).unwrap();
    assert_eq!(read.tensor.to_vec::<u8>().unwrap(), [1, 2, 3]);
}

/// As `huggingface_hub` stores files: the names are links to files without names.
#[test]
fn a_model_that_is_a_link_has_its_data_where_it_leads() {
    let cache = tempfile::tempdir().unwrap();
    let path = |name: &str| cache.path().join(name);
    fs::create_dir_all(path("snapshots/revision/onnx")).unwrap();
    fs::create_dir_all(path("blobs/below")).unwrap();
    fs::write(path("blobs/m0de1"), "").unwrap();
    fs::write(path("blobs/da7a"), [1, 2, 3]).unwrap();
    fs::write(path("secret"), [7, 8, 9]).unwrap();
    let snapshot = |name: &str| path("snapshots/revision/onnx").join(name);
    let blob = |name: &str| Path::new("../../../blobs").join(name);
    symlink(blob("m0de1"), snapshot("model.onnx")).unwrap();
    symlink(blob("da7a"), snapshot("model.onnx_data")).unwrap();
    symlink("../../../secret", snapshot("out")).unwrap();
    symlink("../../secret", path("blobs/below/out")).unwrap();
    symlink(blob("below/out"), snapshot("chain")).unwrap();
    fs::write(snapshot("beside"), [4, 5, 6]).unwrap();
    let model = snapshot("model.onnx");
    assert_eq!(found(&model, "model.onnx_data"), [1, 2, 3]);
    // Names still lead from the folder of the link.
    assert_eq!(found(&model, "beside"), [4, 5, 6]);
    let missing = fault(&model, "da7a");
    assert!(missing.starts_with("external_data location \"da7a\": cannot read: "), "{missing}");
    let out =
        |location: &str| format!("external_data location {location:?} is a link that leads out of the model's folder");
    for location in ["out", "chain"] {
        assert_eq!(fault(&model, location), out(location));
    }
    for location in ["../../../blobs/da7a", path("blobs/da7a").to_str().unwrap()] {
        assert_eq!(
            fault(&model, location),
            format!("external_data location {location:?} is not a relative path inside the model's folder")
        );
    }
    // A folder alone, or a model that is a file itself, does not lead to the other folder.
    fs::write(snapshot("copy.onnx"), "").unwrap();
    for place in [snapshot(""), snapshot("copy.onnx")] {
        assert_eq!(fault(&place, "model.onnx_data"), out("model.onnx_data"));
    }
}

/// Names the folder for the part of a test that runs under a limit.
#[cfg(target_os = "linux")]
const LIMITED: &str = "CAST_TEST_LIMITED";

/// Runs a test of this file once more, in another process with less memory, which finds the folder in [`LIMITED`].
#[cfg(target_os = "linux")]
fn run_limited(test: &str, folder: &Path) {
    let output = Command::new("sh")
        .args(["-c", "ulimit -v 4000000 && exec \"$0\" --exact \"$1\""])
        .arg(std::env::current_exe().unwrap())
        .arg(format!("unix::{test}"))
        .env(LIMITED, folder)
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && stdout.contains("1 passed"), "{output:?}");
}

/// A file of 64 GiB that takes no space, read where there are 4 GiB of memory.
#[cfg(target_os = "linux")]
#[test]
fn no_memory_for_a_huge_file_is_an_error() {
    const SIZE: u64 = 64 << 30;
    if let Some(folder) = std::env::var_os(LIMITED) {
        let message = tensor(2, &[SIZE as i64]).int(DATA_LOCATION, 1).bytes(EXTERNAL_DATA, entry("location", "huge"));
        match NamedTensor::from_bytes(message.0, Some(Path::new(&folder))) {
            Err(error) => {
                return assert_eq!(error.to_string(), format!("tensor \"t\": out of memory (requested {SIZE} bytes)"));
            }
            other => panic!("{other:?}"),
        }
    }
    let folder = tempfile::tempdir().unwrap();
    fs::File::create(folder.path().join("huge")).unwrap().set_len(SIZE).unwrap();
    run_limited("no_memory_for_a_huge_file_is_an_error", folder.path());
}

/// Tensors that take half of the memory, or more than there is. None of it is touched, so it exists only in name.
#[cfg(target_os = "linux")]
#[test]
fn no_memory_for_a_message_or_for_codes_is_an_error() {
    // With 18 bytes more the longest message that there can be.
    const SIZE: usize = (1 << 31) - 19;
    if std::env::var_os(LIMITED).is_none() {
        return run_limited("no_memory_for_a_message_or_for_codes_is_an_error", Path::new(""));
    }
    let tensor = Tensor::from_bytes(ElementType::UINT8, [SIZE], vec![0; SIZE]).unwrap();
    let named = NamedTensor { name: "x".to_owned(), tensor: tensor.clone() };
    let bytes = SIZE as u64 + 18;
    let fault = format!("out of memory (requested {bytes} bytes)");
    assert_eq!(named.into_bytes().unwrap_err().to_string(), format!("tensor \"x\": {fault}"));
    // The smallest entries of a message: 240 million codes of 8 bytes, read from one byte each.
    let message = crate::wire::tensor(7, &[240_000_000]).bytes(INT64_DATA, vec![1; 240_000_000]);
    let error = NamedTensor::from_bytes(message.0, None).unwrap_err();
    let fault = format!("out of memory (requested {bytes} bytes)", bytes = 8 * 240_000_000);
    assert_eq!(error.to_string(), format!("tensor \"t\": {fault}"));
    let (from, elements) = (ElementType::INT4, 10_000_000_000);
    let error = Tensor::from_codes(from, [elements], std::iter::repeat_n(1, elements)).unwrap_err();
    assert_error!(error, OutOfMemory { bytes: elements as u64 / 2 });
    drop(tensor);
    let tensor = Tensor::from_bytes(ElementType::UINT8, [SIZE + 1], vec![0; SIZE + 1]).unwrap();
    let fault = format!(
        "the message would have {bytes} bytes; protobuf messages must be smaller than 2 GiB",
        bytes = 1u64 << 31
    );
    let named = NamedTensor { name: "x".to_owned(), tensor };
    assert_eq!(named.into_bytes().unwrap_err().to_string(), format!("tensor \"x\": {fault}"));
}

/// A name that takes half of the memory. None of it is touched, and it is not copied.
#[cfg(target_os = "linux")]
#[test]
fn a_name_of_half_of_the_memory_is_an_error() {
    const SIZE: usize = 2_100_000_000;
    if std::env::var_os(LIMITED).is_none() {
        return run_limited("a_name_of_half_of_the_memory_is_an_error", Path::new(""));
    }
    // Messages that contain one another, by their keys, with the name in the last one and a tail behind all.
    let whole = |keys: &[u8], tail: &[u8]| {
        let (mut bytes, mut at, mut rest) = (vec![0; SIZE], 0, SIZE - tail.len());
        bytes[rest..].copy_from_slice(tail);
        for key in keys {
            // Each length has five bytes.
            rest -= 6;
            bytes[at] = *key;
            for index in 0..5 {
                bytes[at + 1 + index] = (rest >> (7 * index)) as u8 & 0x7f | if index < 4 { 0x80 } else { 0 };
            }
            at += 6;
        }
        bytes
    };
    let opset = [0x42, 2, 0x10, 17];
    let model = |keys: &[u8]| Model::from_bytes(&whole(keys, &opset), None).err();
    // A node's name and its domain.
    let names = [model(&[0x3a, 0x0a, 0x1a]), model(&[0x3a, 0x0a, 0x3a])];
    // The names of an input and of a domain; of a tensor, and the key of an entry.
    let others = [model(&[0x3a, 0x5a, 0x0a]), model(&[0x42, 0x0a])];
    let tensor = |keys: &[u8], tail: &[u8]| NamedTensor::from_bytes(whole(keys, tail), None).err();
    let tensors = [tensor(&[0x42], &[]), tensor(&[0x6a, 0x0a], &[0x08, 1, 0x10, 2, 0x70, 1])];
    for error in names.into_iter().chain(others).chain(tensors) {
        let text = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(text.ends_with(" bytes, the limit is 1048576"), "{text}");
    }
}
