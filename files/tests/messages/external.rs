//! Data in a file beside the message: read where it is a plain file below the folder, refused everywhere else.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use wgpu_cast::{ElementType, Tensor};
use wgpu_cast_files::FileCause;
use wgpu_cast_files::onnx::{Model, NamedTensor};

use crate::models::{model, untyped_output};
use crate::wire::*;

const UINT8: i32 = 2;

/// A folder with a file of the bytes 0 to 9, and one in a folder below.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.bin"), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]).unwrap();
    fs::create_dir_all(folder.path().join("a/b")).unwrap();
    fs::write(folder.path().join("a/b/y.bin"), [20, 21, 22]).unwrap();
    folder
}

/// A tensor whose data is in another file, by the entries of `external_data`.
fn external(t: i32, dims: &[i64], entries: &[(&str, &str)]) -> Message {
    let start = tensor(t, dims).int(DATA_LOCATION, 1);
    entries.iter().fold(start, |message, (key, value)| message.bytes(EXTERNAL_DATA, entry(key, value)))
}

fn read(message: &Message, folder: Option<&Path>) -> Result<Tensor, String> {
    match NamedTensor::from_bytes(message.0.clone(), folder) {
        Ok(NamedTensor { tensor, .. }) => Ok(tensor),
        Err(error) => Err(error.to_string().strip_prefix("tensor \"t\": ").expect("the name").to_owned()),
    }
}

fn fault(folder: &Path, dims: &[i64], entries: &[(&str, &str)]) -> String {
    read(&external(UINT8, dims, entries), Some(folder)).expect_err(&format!("{entries:?}"))
}

/// What is wrong with a location, where all else is right.
fn location(folder: &Path, location: &str) -> String {
    fault(folder, &[3], &[("location", location), ("length", "3")])
}

#[test]
fn plain_files_below_the_folder() {
    let folder = folder();
    for (entries, expected) in [
        (&[("location", "x.bin")][..], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9][..]),
        (&[("location", "./x.bin"), ("offset", "7")], &[7, 8, 9]),
        (&[("location", "x.bin"), ("offset", "2"), ("length", "3")], &[2, 3, 4]),
        (&[("length", "3"), ("offset", "0"), ("location", "x.bin")], &[0, 1, 2]),
        (&[("location", "a/b/y.bin")], &[20, 21, 22]),
        (&[("location", "a/./b//y.bin"), ("checksum", "not looked at")], &[20, 21, 22]),
        (&[("location", "x.bin"), ("offset", "10"), ("length", "0")], &[]),
        (&[("location", "x.bin"), ("offset", "10")], &[]),
    ] {
        let message = external(UINT8, &[expected.len() as i64], entries);
        let tensor = read(&message, Some(folder.path())).unwrap_or_else(|fault| panic!("{entries:?}: {fault}"));
        assert_eq!(tensor.to_vec::<u8>().unwrap(), expected, "{entries:?}");
    }
}

#[test]
fn types_of_less_than_a_byte_lie_in_files_as_in_raw_data() {
    let folder = folder();
    fs::write(folder.path().join("int4"), [0x21, 0xf3]).unwrap();
    let int4 = external(ElementType::INT4.onnx_code(), &[3], &[("location", "int4")]);
    let tensor = read(&int4, Some(folder.path())).unwrap();
    assert_eq!((tensor.bytes(), tensor.codes().collect::<Vec<_>>()), (Some(&[0x21, 0x03][..]), vec![1, 2, 3]));
}

#[test]
fn locations_that_leave_the_folder_or_name_no_file() {
    let folder = folder();
    let path = folder.path();
    let absolute = path.join("x.bin");
    let escapes = ["..", "../x.bin", "a/../x.bin", "a/b/../../x.bin", "/", "/etc/hosts", absolute.to_str().unwrap()];
    for text in escapes.into_iter().chain(["", ".", "./."]) {
        assert_eq!(
            location(path, text),
            format!("external_data location {text:?} is not a relative path inside the model's folder")
        );
    }
    for text in ["a", "a/b", "a/b/"] {
        assert_eq!(location(path, text), format!("external_data location {text:?}: it is not a regular file"));
    }
    let long = "x".repeat(100_000);
    for text in ["missing", "a/missing", "missing/x.bin", "x.bin/y", "x.bin\0", "\0", &long] {
        let fault = location(path, text);
        let shown: String = text.chars().take(80).collect();
        let shown = format!("{shown:?}").replace("x\"", if text.len() > 80 { "x…\"" } else { "x\"" });
        assert!(fault.starts_with(&format!("external_data location {shown}: cannot read: ")), "{fault}");
    }
}

/// Where a backslash is no separator it is part of a name; where it is, these leave the folder.
#[test]
fn backslashes() {
    let folder = folder();
    for text in ["a\\b\\y.bin", "..\\x.bin", "C:\\x.bin", "\\\\host\\x.bin"] {
        let fault = location(folder.path(), text);
        assert!(fault.contains("\": cannot read: ") || cfg!(windows), "{fault}");
    }
}

#[test]
fn offsets_and_lengths_within_the_file() {
    let folder = folder();
    let (path, at) = (folder.path(), ("location", "x.bin"));
    let beyond = |offset: u64, length: u64| {
        format!("external_data location \"x.bin\": {length} bytes at offset {offset} exceed the file's size of 10")
    };
    let length =
        |expected, found: u64| format!("external_data: expected {expected} bytes from dims and data_type, got {found}");
    let max = u64::MAX.to_string();
    for (dims, entries, expected) in [
        (3, &[at, ("offset", "8"), ("length", "3")][..], beyond(8, 3)),
        (3, &[at, ("offset", "8")], beyond(8, 3)),
        (11, &[at], beyond(0, 11)),
        (3, &[at, ("offset", "11"), ("length", "3")], beyond(11, 3)),
        (3, &[at, ("offset", &max), ("length", "3")], beyond(u64::MAX, 3)),
        (0, &[at, ("offset", "11")], beyond(11, 0)),
        (1 << 50, &[at], beyond(0, 1 << 50)),
        (1 << 50, &[at, ("length", "1125899906842624")], beyond(0, 1 << 50)),
        (3, &[at, ("length", "4")], length(3, 4)),
        (3, &[at, ("length", "0")], length(3, 0)),
        (3, &[at, ("length", &max)], length(3, u64::MAX)),
        // Without a length the data goes on to the end.
        (3, &[at, ("offset", "6")], length(3, 4)),
        (3, &[at], length(3, 10)),
    ] {
        assert_eq!(fault(path, &[dims], entries), expected, "{dims} {entries:?}");
    }
}

#[test]
fn entries_that_nobody_knows_or_that_are_no_numbers() {
    let folder = folder();
    let number = |key, value| format!("invalid external_data {key} {value:?}: expected a non-negative integer");
    for (key, value, expected) in [
        ("offset", "-1", number("offset", "-1")),
        ("length", "-3", number("length", "-3")),
        ("offset", "", number("offset", "")),
        ("offset", "0x1", number("offset", "0x1")),
        ("offset", " 1", number("offset", " 1")),
        ("length", "3.0", number("length", "3.0")),
        ("length", "three", number("length", "three")),
        ("length", "18446744073709551616", number("length", "18446744073709551616")),
        ("location", "a/b/y.bin", "external_data has a second location, \"a/b/y.bin\"".to_owned()),
        ("basepath", "/", "unknown external_data key \"basepath\"".to_owned()),
        ("Offset", "1", "unknown external_data key \"Offset\"".to_owned()),
        ("", "", "external_data has an entry without a valid key".to_owned()),
    ] {
        let entries = [("location", "x.bin"), (key, value)];
        assert_eq!(fault(folder.path(), &[3], &entries), expected);
    }
    for key in ["offset", "length"] {
        let expected = format!("external_data has a second {key}, \"3\"");
        assert_eq!(fault(folder.path(), &[3], &[("location", "x.bin"), (key, "3"), (key, "3")]), expected);
    }
    let start = tensor(UINT8, &[3]).int(DATA_LOCATION, 1);
    for wrong in [message().bytes(1, b"\xff"), message().int(1, 1), message().raw([0xff])] {
        let fault = read(&start.clone().bytes(EXTERNAL_DATA, wrong), Some(folder.path())).unwrap_err();
        assert_eq!(fault, "external_data has an entry without a valid key");
    }
    assert_eq!(fault(folder.path(), &[3], &[]), "the data is in an external file, but external_data has no location");
    assert_eq!(
        fault(folder.path(), &[3], &[("length", "3")]),
        "the data is in an external file, but external_data has no location"
    );
}

#[test]
fn a_folder_must_be_given_and_strings_lie_in_none() {
    let message = external(UINT8, &[10], &[("location", "x.bin")]);
    assert_eq!(read(&message, None), Err("the data is in an external file, but no folder was given".to_owned()));
    let folder = folder();
    let message = external(8, &[1], &[("location", "x.bin")]);
    let expected = "external_data cannot contain data of string";
    assert_eq!(read(&message, Some(folder.path())), Err(expected.to_owned()));
    // An empty path is the working directory, as the parent of a file's plain name is.
    let message = external(UINT8, &[1], &[("location", "no/such/file")]);
    let missing = read(&message, Some(Path::new(""))).unwrap_err();
    assert!(missing.starts_with("external_data location \"no/such/file\": cannot read: "), "{missing}");
    // A path that leads nowhere is the fault of that path, not of the data's file.
    let fault = NamedTensor::from_bytes(message.0, Some(&folder.path().join("no"))).unwrap_err();
    let FileCause::ModelPath { path, error, .. } = fault.cause() else { panic!("{fault:?}") };
    assert_eq!(*path, folder.path().join("no"));
    let expected = "tensor \"t\": the data is in an external file, but the model's path";
    assert_eq!(fault.to_string(), format!("{expected} {path:?} cannot be resolved: {error}"));
}

#[test]
fn data_to_the_end_is_checked_where_it_was_read_before() {
    let folder = folder();
    let start = |name: &str| {
        let tensor = message().int(DIMS, 3).int(DATA_TYPE, 2).bytes(NAME, name).int(DATA_LOCATION, 1);
        tensor.bytes(EXTERNAL_DATA, entry("location", "x.bin"))
    };
    let (a, b) = (start("a").bytes(EXTERNAL_DATA, entry("length", "3")), start("b"));
    let parts = [message().bytes(5, a), message().bytes(5, b), untyped_output("a"), untyped_output("b")];
    let error = Model::from_bytes(&model(28, &parts).0, Some(folder.path())).unwrap_err();
    let expected = "tensor \"b\": external_data: expected 3 bytes from dims and data_type, got 10";
    assert_eq!(error.to_string(), expected);
}
