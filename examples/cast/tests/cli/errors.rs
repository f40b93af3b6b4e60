//! Command lines that make no sense: exit status 2, one line, no file.

use crate::tool::{Folder, floats, npy};

#[test]
fn bad_command_lines() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(1,)", &floats(&[1.0])));
    folder.write("a.bin", floats(&[1.0]));
    folder.write("a.txt", "");
    for (line, message) in [
        ("convert a.npy out.npy --to flaot16", "unknown element type \"flaot16\", did you mean float16?"),
        ("convert a.npy out.npy --to fp8", "did you mean float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz or"),
        ("convert a.npy out.npy --from uint9 --to int8", "did you mean uint"),
        ("convert a.npy out.bin --to string", "out.bin: string tensors are supported only in .npy and .pb files"),
        ("shader --from float --to string", "string is not a numeric element type"),
        ("convert a.npy out.npy --to int8 --round-mode sideways", "unknown round_mode \"sideways\""),
        ("convert a.npy out.npy --to int8 --saturate maybe", "maybe"),
        ("convert a.npy out.npy --to int8 --opset 99", "Cast is not supported at opset 99 (supported opsets: 1 to "),
        ("convert a.npy out.npy --to int8 --opset 0", "not supported at opset 0"),
        (
            "convert a.npy out.npy --to float6e2m3 --opset 27",
            "Cast at opset 27 does not support float6e2m3 (added in opset 28)",
        ),
        (
            "convert a.bin out.bin --from int4 --to int8 --opset 20",
            "Cast at opset 20 does not support int4 (added in opset 21)",
        ),
        ("convert a.npy out.npy --to float --opset 23 --round-mode up", "(added in opset 24)"),
        ("convert a.npy out.npy --to float --opset 18 --saturate true", "(added in opset 19)"),
        ("convert a.bin out.bin --to int8", "a.bin: a .bin file does not contain its element type: add --from TYPE"),
        ("convert a.npy out.npy --to int8 --len 1", "--len is only for .bin files"),
        ("convert a.bin out.bin --from float --to int8 --len -1", "-1"),
        ("convert a.txt out.npy --to int8", "a.txt: unknown file extension"),
        ("convert a.npy out --to int8", "out: unknown file extension"),
        ("convert a.npy out.npy", "--to <TYPE>"),
        ("convert a.npy out.npy --to int8 --device cpu --adapter llvmpipe", "--adapter"),
        ("convert a.npy out.npy --to int8 --device tpu", "tpu"),
        ("convert a.npy out.npy --to int8 --wat", "--wat"),
        ("shader --from float --to int8 --format dxil", "dxil"),
        ("shader --from float", "--to <TYPE>"),
        ("verify --from floaty", "did you mean float?"),
        ("verify --device cpu", "--device cpu"),
        ("bench --elements 0", "0"),
        ("frobnicate", "frobnicate"),
    ] {
        let outcome = folder.cast(line);
        assert_eq!(outcome.status, Some(2), "{line}: {}", outcome.stderr);
        assert!(outcome.line().starts_with("wgpu-cast: "), "{line}: {}", outcome.stderr);
        assert!(outcome.line().contains(message), "{line}: {}", outcome.stderr);
        assert!(outcome.stdout.is_empty(), "{line}");
    }
    assert_eq!(folder.names(), ["a.bin", "a.npy", "a.txt"]);
}

#[test]
fn files_that_cannot_be_read_or_written() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(1,)", &floats(&[1.0])));
    std::fs::create_dir(folder.path().join("folder.npy")).expect("a folder");
    for (line, message) in [
        ("convert nothing.npy out.npy --to int8", "nothing.npy: "),
        ("convert nothing.bin out.npy --from int8 --to int8", "nothing.bin: "),
        ("convert folder.npy out.npy --to int8", "folder.npy: "),
        ("convert a.npy nowhere/out.npy --to int8", "nowhere/out.npy: cannot write: "),
        ("convert a.npy folder.npy --to int8", "folder.npy: cannot write: "),
        ("shader --from float --to int8 -o nowhere/a.wgsl", "nowhere/a.wgsl: cannot write: "),
    ] {
        let device = if line.starts_with("convert") { "--device cpu" } else { "" };
        let outcome = folder.cast(&format!("{line} {device}"));
        assert_eq!(outcome.status, Some(1), "{line}: {}", outcome.stderr);
        assert!(outcome.line().contains(message), "{line}: {}", outcome.stderr);
    }
    assert_eq!(folder.names(), ["a.npy", "folder.npy"]);
}

#[test]
fn help_is_complete_and_goes_to_stdout() {
    let folder = Folder::new();
    for command in
        ["", "adapters", "convert", "info", "merge-index", "run", "shader", "verify", "bench", "completions", "man"]
    {
        let outcome = folder.cast(&format!("{command} --help"));
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{command}");
        assert!(outcome.text().contains("Usage: wgpu-cast"), "{command}");
    }
    let convert = folder.cast("convert --help");
    for word in ["float8e4m3fnuz", "raw_data", "raw codes", "Fortran", "--opset", "--adapter", "--len"] {
        assert!(convert.text().contains(word), "{word}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let outcome = folder.cast(&format!("completions {shell}"));
        assert!(outcome.status == Some(0) && outcome.text().contains("keep-io-types"), "{shell}: {}", outcome.stderr);
    }
    assert_eq!(folder.cast("man pages").status, Some(0));
    let page = String::from_utf8(folder.read("pages/wgpu-cast-convert.1")).expect("UTF-8");
    assert!(page.contains("Element types") && page.contains(".safetensors"), "{page}");
    let bare = folder.cast("");
    assert_eq!(bare.status, Some(2));
    assert!(bare.stderr.contains("Usage: wgpu-cast"));
}
