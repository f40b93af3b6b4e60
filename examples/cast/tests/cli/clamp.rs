//! `wgpu-cast convert --clamp`: values beyond the range become the largest number.

use support::models;
use wgpu_cast::{ElementType, Tensor};
use wgpu_cast_files::onnx::NamedTensor;

use crate::convert::checkpoint;
use crate::tool::{Folder, floats, npy};

/// −∞ stays.
const VALUES: [f32; 4] = [f32::MIN, 65520.0, f32::NEG_INFINITY, 1.0];

/// [`VALUES`] as FLOAT16, clamped.
const CLAMPED: [u8; 8] = [0xff, 0xfb, 0xff, 0x7b, 0, 0xfc, 0, 0x3c];

/// A FLOAT tensor of [`VALUES`] as a message, its data in `raw_data` or in `float_data`.
fn tensor(field: u8) -> Vec<u8> {
    [vec![8, 4, 16, 1], models::field(field, &floats(&VALUES)), models::field(8, b"w")].concat()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn every_format_is_clamped() {
    let folder = Folder::new();
    let data = floats(&VALUES);
    folder.write("a.bin", &data);
    folder.write("a.npy", npy("<f4", false, "(4,)", &data));
    folder.write("a.safetensors", checkpoint(&[("w", "F32", &[4], &data)]));
    let mut archive = wgpu_cast_files::NpzWriter::new(Vec::new());
    archive.start("w", folder.read("a.npy").len() as u64, false).expect("an entry");
    std::io::Write::write_all(&mut archive, &folder.read("a.npy")).expect("memory");
    folder.write("a.npz", archive.finish().expect("memory"));
    let message = NamedTensor { name: "w".to_owned(), tensor: Tensor::from_slice([4], &VALUES).expect("a tensor") };
    folder.write("a.pb", message.into_bytes().expect("a message"));
    folder.write("typed.pb", tensor(4));
    for (model, number) in [("a.onnx", 9), ("typed.onnx", 4)] {
        let node = [models::field(1, b"w"), models::field(2, b"y"), models::field(4, b"Identity")].concat();
        let output = models::field(12, &models::value("y", ElementType::FLOAT));
        let graph = [models::field(1, &node), models::field(5, &tensor(number)), output].concat();
        folder.write(model, models::model(&graph));
    }
    let value = [models::field(1, b"value_floats"), models::field(7, &floats(&VALUES)), vec![0xa0, 1, 6]].concat();
    let node = [models::field(2, b"y"), models::field(4, b"Constant"), models::field(5, &value)].concat();
    let output = models::field(12, &models::value("y", ElementType::FLOAT));
    folder.write("constant.onnx", models::model(&[models::field(1, &node), output].concat()));
    for line in [
        "a.bin out.bin --from float",
        "a.npy out.npy",
        "a.safetensors out.safetensors",
        "a.safetensors out.safetensors --device gpu",
        "a.npz out.npz",
        "a.pb out.pb",
        "typed.pb out.pb",
        "a.onnx out.onnx",
        "typed.onnx out.onnx",
        "a.onnx out.onnx --graph",
        "constant.onnx out.onnx --graph",
        "a.onnx out.onnx --external-from 1",
    ] {
        let outcome = folder.cast(&format!("convert {line} --to float16 --clamp --json"));
        assert_eq!(outcome.status, Some(0), "{line}: {}", outcome.stderr);
        let summary: serde_json::Value =
            serde_json::from_str(outcome.text().lines().last().expect("a summary")).expect("JSON");
        assert_eq!((&summary["lost"]["saturated"], &summary["lost"]["infinite"]), (&2.into(), &0.into()), "{line}");
        let output = line.split(' ').nth(1).expect("an output");
        let output = if line.contains("--external") { "out.onnx.data" } else { output };
        let written = folder.read(output);
        // The members of an archive are stored.
        assert!(contains(&written, &CLAMPED), "{line}: {written:x?}");
    }
    // Without it they become infinite.
    let plain = folder.convert("a.bin out.bin --from float --to float16");
    assert_eq!(plain, [0, 0xfc, 0, 0x7c, 0, 0xfc, 0, 0x3c]);
}

#[test]
fn clamped_values_are_beyond_the_range() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(4,)", &floats(&VALUES)));
    let outcome = folder.cast("convert a.npy out.npy --to float16 --clamp --stats");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(
        outcome.text(),
        "a.npy: float -> float16, lost: 2 became the largest or least number; largest relative error 0.00e0\n"
    );
    assert!(outcome.stderr.contains("warning: 2 values beyond the range of the type"), "{}", outcome.stderr);
    std::fs::remove_file(folder.path().join("out.npy")).expect("the output");
    let strict = folder.cast("convert a.npy out.npy --to float16 --clamp --strict --quiet");
    assert_eq!(strict.status, Some(1));
    assert_eq!(
        strict.line(),
        "wgpu-cast: --strict: 2 values beyond the range of the type; nothing was written (--stats lists all tensors)"
    );
    assert_eq!(folder.names(), ["a.npy"]);
}

#[test]
fn clamping_nothing_is_refused() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(1,)", &floats(&[1.0])));
    folder.write(
        "a.pb",
        NamedTensor { name: String::new(), tensor: Tensor::from_strings([1], ["1e9"]).expect("a tensor") }
            .into_bytes()
            .expect("a message"),
    );
    for line in [
        "a.npy out.npy --to int8",
        "a.npy out.npy --to double",
        "a.npy out.npy --to float8e5m2",
        "a.pb out.pb --to float16",
    ] {
        let outcome = folder.cast(&format!("convert {line} --clamp"));
        assert_eq!(outcome.status, Some(2), "{line}: {}", outcome.stderr);
        let what =
            "wgpu-cast: --clamp affects only casts of numbers to float16, bfloat16 and float, and there are none";
        assert_eq!(outcome.line(), what, "{line}");
    }
    assert_eq!(folder.names(), ["a.npy", "a.pb"]);
}

/// What was made with other rules is made again.
#[test]
fn a_finished_shard_without_clamping_is_made_again() {
    let folder = Folder::new();
    folder.write("a.safetensors", checkpoint(&[("w", "F32", &[4], &floats(&VALUES))]));
    folder.write("b.safetensors", checkpoint(&[("w", "F32", &[1], &floats(&[1.0]))]));
    std::fs::create_dir_all(folder.path().join("out/b.safetensors.cast-partial")).expect("a folder");
    let stopped = folder.cast("convert a.safetensors b.safetensors -d out --to float16 --resume");
    assert_eq!(stopped.status, Some(1), "{}", stopped.stderr);
    assert!(!contains(&folder.read("out/a.safetensors"), &CLAMPED));
    std::fs::remove_dir(folder.path().join("out/b.safetensors.cast-partial")).expect("a folder");
    let resumed = folder.cast("convert a.safetensors b.safetensors -d out --to float16 --resume --clamp");
    assert_eq!(resumed.status, Some(0), "{}", resumed.stderr);
    assert!(contains(&folder.read("out/a.safetensors"), &CLAMPED));
}
