//! What people give to the program although it cannot read it: each message says what it is and what to do.

use crate::convert::checkpoint;
use crate::tool::{Folder, floats, npy};

const TORCH: &str = "a checkpoint of PyTorch, an archive with a pickle: pickles can run any code, so that they are not \
    read here; in Python, load it with torch.load(FILE, weights_only=True) and save its tensors with \
    safetensors.torch.save_file";
const PICKLE: &str = "a Python pickle, as torch.save wrote it: pickles can run any code, so that they are not read here; \
    in Python, load it with torch.load(FILE, weights_only=True) and save its tensors with safetensors.torch.save_file";
const LFS: &str = "a pointer of Git LFS, not the file itself: run `git lfs pull` in its repository";
const HTML: &str = "an HTML page, not a file of tensors: download the file itself (on Hugging Face by the address with \
    /resolve/, not /blob/)";
const GGUF: &str = "a GGUF file of llama.cpp: its blocks of quantized values are not read here; convert the checkpoint \
    that it was made from";
const HDF5: &str = "an HDF5 file, as Keras writes it: load it in Python and save its arrays as .npz";
const GZIP: &str = "a file compressed with gzip: decompress it first (gunzip FILE)";

/// The start of a zip archive: the header of its first member.
fn zip(member: &str) -> Vec<u8> {
    let mut file = b"PK\x03\x04".to_vec();
    file.resize(26, 0);
    file.extend((member.len() as u16).to_le_bytes());
    file.extend([0, 0]);
    file.extend(member.as_bytes());
    file.resize(file.len() + 64, 7);
    file
}

/// Files of other kinds, by what they are.
fn others() -> Vec<(Vec<u8>, &'static str)> {
    let mut tar = vec![b'a'; 1024];
    tar[257..262].copy_from_slice(b"ustar");
    vec![
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n".to_vec(), LFS),
        (b"\n<!DOCTYPE html>\n<html></html>".to_vec(), HTML),
        (zip("archive/data.pkl"), TORCH),
        (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.".to_vec(), PICKLE),
        (b"\x80\x04\x95\x02\0\0\0\0\0\0\0}.".to_vec(), PICKLE),
        (b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0".to_vec(), GGUF),
        (b"\x89HDF\r\n\x1a\n\0\0\0\0".to_vec(), HDF5),
        (b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec(), GZIP),
        (b"\xfd7zXZ\0\0\0".to_vec(), "a file compressed with xz: decompress it first (unxz FILE)"),
        (b"\x28\xb5\x2f\xfd\0\0".to_vec(), "a file compressed with zstd: decompress it first (unzstd FILE)"),
        (tar, "a tar archive: unpack it first (tar -xf FILE)"),
    ]
}

#[test]
fn files_of_other_kinds_are_named_with_what_to_do() {
    let folder = Folder::new();
    for (bytes, what) in others() {
        for name in ["a.safetensors", "a.npy", "a.npz", "a.onnx", "a.pb", "a.bin", "a.pt", "a.gguf", "a"] {
            folder.write(name, &bytes);
            let codes = if name == "a.bin" { "; --in-format bin reads it as raw codes" } else { "" };
            let expected = format!("wgpu-cast: {name}: it is {what}{codes}");
            for line in [format!("convert {name} out.npy --from int8 --to float16"), format!("info {name}")] {
                // Formats that cannot become each other are a usage error.
                let line = match name.rsplit_once('.') {
                    Some((_, kind @ ("safetensors" | "npz" | "onnx"))) => line.replace("npy", kind),
                    _ => line,
                };
                let outcome = folder.cast(&line);
                assert_eq!((outcome.status, outcome.line()), (Some(1), expected.as_str()), "{line}");
            }
        }
        let raw = folder.cast("convert a.bin out.bin --in-format bin --from int8 --to float16");
        assert_eq!(raw.status, Some(0), "{what}: {raw:?}");
        std::fs::remove_file(folder.path().join("out.bin")).expect("the output");
    }
    folder.write("m.onnx", others()[0].0.as_slice());
    let run = folder.cast("run m.onnx -o out");
    assert_eq!((run.status, run.line()), (Some(1), format!("wgpu-cast: m.onnx: it is {LFS}").as_str()));
    let mut names = folder.names();
    names.retain(|name| name.starts_with("out"));
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn files_with_the_wrong_extension_are_read_with_an_option() {
    let folder = Folder::new();
    for (bytes, kind) in [
        (checkpoint(&[("w", "F32", &[1], &floats(&[1.0]))]), "safetensors"),
        (npy("<f4", false, "(1,)", &floats(&[1.0])), "npy"),
        (zip("a.npy"), "npz"),
    ] {
        let what = if kind == "safetensors" { "a safetensors file".to_owned() } else { format!("a .{kind} file") };
        let what = what.replace("npz file", "npz archive");
        folder.write("a.bin", &bytes);
        folder.write("a.model", &bytes);
        let codes = "; --in-format bin reads it as raw codes";
        for (name, codes) in [("a.bin", codes), ("a.model", "")] {
            let outcome = folder.cast(&format!("convert {name} out.bin --from int8 --to float16"));
            let expected = format!("wgpu-cast: {name}: it is {what}: add --in-format {kind}{codes}");
            assert_eq!((outcome.status, outcome.line()), (Some(1), expected.as_str()));
        }
    }
    // Raw codes that begin as some of the marks do.
    for bytes in [&b"\x80\x02\x01\x01"[..], b"PK\x05\x06", b"\x1f\x8b\x01\x01", b"<htm"] {
        folder.write("a.bin", bytes);
        assert_eq!(folder.convert("a.bin out.bin --from int8 --to int16").len(), 2 * bytes.len());
    }
}

#[test]
fn valid_files_are_not_taken_for_others() {
    let folder = Folder::new();
    // The header of this file is as long as the mark of gzip says.
    let mut file = b"\x1f\x8b\x08\0\0\0\0\0{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}".to_vec();
    file.resize(8 + 0x08_8b1f, b' ');
    file.extend(floats(&[1.0]));
    folder.write("a.safetensors", &file);
    folder.convert("a.safetensors out.safetensors --to float16");
    let refused = folder.cast("convert a.safetensors out.safetensors --to int4");
    assert!(refused.line().contains("safetensors has no element type int4"), "{refused:?}");
    // What is wrong with a file of its own kind is told as before, and a short text is shown.
    folder.write("a.npy", npy("<f4", false, "(2,)", &floats(&[1.0])));
    let refused = folder.cast("convert a.npy out.npy --to float16");
    assert!(refused.line().contains("a.npy: ") && !refused.line().contains("it is "), "{refused:?}");
    folder.write("a.npy", "Entry not found\n");
    let refused = folder.cast("convert a.npy out.npy --to float16");
    assert!(refused.line().ends_with(" (the file is text: \"Entry not found\")"), "{refused:?}");
}

#[test]
fn a_folder_of_pickles_is_explained() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("m")).expect("a folder");
    folder.write("m/config.json", "{}");
    let outcome = folder.cast("convert m out --to float16");
    assert_eq!(outcome.line(), "wgpu-cast: m: the folder has no file that can be converted");
    for part in 1..=2 {
        folder.write(&format!("m/pytorch_model-0000{part}-of-00002.bin"), zip("pytorch_model/data.pkl"));
    }
    let outcome = folder.cast("convert m out --to float16");
    let expected = format!(
        "wgpu-cast: m: the folder has no file that can be converted; pytorch_model-00001-of-00002.bin is {TORCH}"
    );
    assert_eq!((outcome.status, outcome.line()), (Some(1), expected.as_str()));
    assert_eq!(folder.names(), ["m"]);
}

#[test]
fn types_of_other_programs_are_explained() {
    let folder = Folder::new();
    folder.write("a.bin", floats(&[1.0]));
    let none = "and this program casts values without scales";
    for (name, told) in [
        (
            "mxfp4",
            format!("mxfp4 has a scale for each block of values, {none} (--to float4e2m1 casts them as they are)"),
        ),
        (
            "NVFP4",
            format!("nvfp4 has a scale for each block of values, {none} (--to float4e2m1 casts them as they are)"),
        ),
        ("q4_0", format!("it is a quantization of llama.cpp with scales, {none}")),
        ("Q4_K_M", format!("it is a quantization of llama.cpp with scales, {none}")),
        ("iq4_nl", format!("it is a quantization of llama.cpp with scales, {none}")),
        ("nf4", format!("it is a quantization with scales, {none}")),
        ("gguf", "it is a file format of llama.cpp, which is not written here".to_owned()),
        ("onnx", "it is a file format, which the extension of the output names (OUT.onnx)".to_owned()),
        ("complex64", "complex numbers are not cast".to_owned()),
        ("tf32", "it is a way to multiply; its values are stored as float".to_owned()),
    ] {
        let outcome = folder.cast(&format!("convert a.bin out.bin --from float --to {name}"));
        let expected =
            format!("wgpu-cast: invalid value '{name}' for '--to <TYPE>': unknown element type \"{name}\": {told}");
        assert_eq!((outcome.status, outcome.line()), (Some(2), expected.as_str()));
    }
    let outcome = folder.cast("convert a.bin out.bin --from float --to half");
    assert_eq!((outcome.status, folder.read("out.bin")), (Some(0), vec![0, 0x3c]), "an alias of float16");
}

#[test]
fn options_of_other_programs_are_explained() {
    let folder = Folder::new();
    for (option, tip) in [
        ("--exclude", "--except GLOB leaves tensors out"),
        ("--include", "--only GLOB chooses tensors"),
        ("--dtype", "--to TYPE is the type"),
        ("-o", "the output is the last path"),
        ("--overwrite", "outputs are replaced without it, read-only ones with --force"),
    ] {
        let outcome = folder.cast(&format!("convert a.bin out.bin --to float16 {option} x"));
        let expected = format!("wgpu-cast: unexpected argument '{option}' found; tip: {tip}");
        assert_eq!((outcome.status, outcome.line()), (Some(2), expected.as_str()));
    }
    let other = folder.cast("verify --exclude x");
    assert!(!other.line().contains("--except"), "{other:?}");
}

#[test]
fn a_folder_in_place_of_an_output_is_refused() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(1,)", &floats(&[1.0])));
    std::fs::create_dir(folder.path().join("out")).expect("a folder");
    let outcome = folder.cast("convert a.npy out --to float16");
    let expected = "wgpu-cast: out: cannot write: it is a folder (--out-dir out writes into it)";
    assert_eq!((outcome.status, outcome.line()), (Some(1), expected));
    assert_eq!(folder.cast("convert a.npy --out-dir out --to float16").status, Some(0));
    assert!(folder.path().join("out/a.npy").exists());
}

#[test]
fn strict_ends_with_what_was_beyond_the_range() {
    let folder = Folder::new();
    folder.write("a.safetensors", checkpoint(&[("w", "F32", &[2], &floats(&[1e6, 1.0])), ("v", "F32", &[0], &[])]));
    let outcome = folder.cast("convert a.safetensors out.safetensors --to float16 --strict");
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    let expected = "wgpu-cast: --strict: 1 value beyond the range of the type, most of them in w; nothing was written (--stats lists all tensors)";
    assert_eq!((outcome.status, lines.len(), lines[1]), (Some(1), 2, expected));
    assert!(lines[0].starts_with("2 of 2 tensors cast (float -> float16), "), "{}", lines[0]);
    assert_eq!(folder.names(), ["a.safetensors"]);
}
