//! `.npz` archives: arrays that are cast, and arrays of any dtype that are copied.

use std::io::Write;

use wgpu_cast_files::{NpzArchive, NpzWriter};

use crate::tool::{Folder, floats, npy, npy_file};

fn archive(arrays: &[(&str, Vec<u8>)], compress: bool) -> Vec<u8> {
    let mut archive = NpzWriter::new(Vec::new());
    for (name, array) in arrays {
        archive.start(name, array.len() as u64, compress).expect("an entry");
        archive.write_all(array).expect("memory");
    }
    archive.finish().expect("memory")
}

/// The arrays of an archive by name.
fn arrays(file: &[u8]) -> Vec<(String, Vec<u8>)> {
    let file = file.to_vec();
    let mut archive = NpzArchive::open(&file).expect("an archive");
    let members = archive.members().to_vec();
    let copied = members.into_iter().map(|member| {
        let mut copy = Vec::new();
        archive.copy(&member, &mut copy).expect("an array");
        (member.name, copy)
    });
    copied.collect()
}

fn array(file: &[u8], name: &str) -> Vec<u8> {
    let found = arrays(file).into_iter().find(|(found, _)| found == name);
    found.unwrap_or_else(|| panic!("no {name}")).1
}

fn text(strings: &[&str], length: usize) -> Vec<u8> {
    let codes = strings.iter().flat_map(|text| {
        let characters = text.chars().map(u32::from).chain(std::iter::repeat(0)).take(length);
        characters.flat_map(u32::to_le_bytes).collect::<Vec<_>>()
    });
    npy(&format!("<U{length}"), false, &format!("({},)", strings.len()), &codes.collect::<Vec<_>>())
}

/// Arrays that no cast can read, or that no rule is for.
fn others() -> Vec<(&'static str, Vec<u8>)> {
    let fields = "{'descr': [('x', '<f4'), ('n', '|S2')], 'fortran_order': False, 'shape': (1,), }";
    vec![
        ("labels", text(&["cat", "dog"], 3)),
        ("bytes", npy("|S2", false, "(2,)", b"abcd")),
        // The pickle of an object has any length, and nobody reads it.
        ("objects", npy("|O", false, "(1,)", b"\x80\x04cos\nsystem\n.")),
        ("fields", npy_file(1, fields, &[0, 0, 0x80, 0x3f, b'o', b'k'])),
        ("dates", npy("<M8[D]", false, "(1,)", &[1; 8])),
        ("ids", npy(">i4", true, "(1, 2)", &[0, 0, 0, 1, 0, 0, 0, 2])),
        ("mask", npy("|b1", false, "(3,)", &[2, 7, 0])),
        ("uuid", npy("|V16", false, "(1,)", &[9; 16])),
    ]
}

#[test]
fn arrays_that_are_not_cast_are_copied_byte_for_byte() {
    let folder = Folder::new();
    let mut all = vec![("f", npy("<f4", false, "(2,)", &floats(&[1.0, -2.0])))];
    all.extend(others());
    for compress in [false, true] {
        folder.write("a.npz", archive(&all, compress));
        let outcome = folder.cast("convert a.npz out.npz --to float16");
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        let lines: Vec<_> = outcome.stderr.lines().collect();
        assert_eq!(lines.len(), 2, "{}", outcome.stderr);
        assert!(lines[0].starts_with("warning: a.npz: fields: "), "{}", outcome.stderr);
        assert!(lines[1].starts_with("1 of 9 tensors cast (float -> float16), "), "{}", outcome.stderr);
        let found = arrays(&folder.read("out.npz"));
        assert_eq!(found[0], ("f".to_owned(), npy("<f2", false, "(2,)", &[0, 0x3c, 0, 0xc0])));
        for ((name, bytes), (expected_name, expected)) in found[1..].iter().zip(others()) {
            assert_eq!((&name[..], bytes), (expected_name, &expected), "compressed: {compress}");
        }
        assert_eq!(found.len(), all.len());
    }
    let listed = folder.cast("info a.npz");
    let expected = "f [2]: float, 8 bytes
labels [2]: string, 24 bytes
bytes [2]: string, 4 bytes
objects [1]: |O, 14 bytes
fields [1]: [('x', '<f4'), ('n', '|S2')], 6 bytes
dates [1]: <M8[D], 8 bytes
ids [1, 2]: int32, 8 bytes
mask [3]: bool, 3 bytes
uuid [1]: |V16, 16 bytes
";
    assert_eq!((listed.status, listed.text()), (Some(0), expected));
}

/// Codes that a cast to their own type would change.
#[test]
fn kept_arrays_have_the_bytes_that_they_had() {
    let folder = Folder::new();
    let all = [
        ("f", npy(">f4", true, "(1, 2)", &[0x7f, 0x80, 0, 0, 0x7f, 0xa0, 0, 1])),
        ("raw", npy("<V1", false, "(4,)", &[0x7c, 0xfc, 0x7d, 0xff])),
        ("small", npy("<f1", false, "(2,)", &[0x7c, 0xfc])),
        ("mask", npy("|b1", false, "(3,)", &[2, 7, 0])),
        ("nibbles", npy("<V1", false, "(2,)", &[0xf8, 7])),
    ];
    let file = archive(&all, false);
    folder.write("a.npz", &file);
    for rules in [
        "--map *=keep",
        "--map *=keep --from float8e5m2",
        "--to float16 --except *",
        "--from raw=float8e5m2 --from nibbles=int4 --map raw=float8e5m2 --map small=float8e5m2 --map mask=bool --map *=keep",
        "--from raw=float8e5m2 --map raw=float8e5m2 --map nibbles=keep --to float --except small",
    ] {
        let outcome = folder.cast(&format!("convert a.npz out.npz {rules}"));
        assert_eq!(outcome.status, Some(0), "{rules}: {}", outcome.stderr);
        assert_eq!(folder.read("out.npz"), file, "{rules}");
    }
}

#[test]
fn arrays_that_cannot_be_cast_are_refused_where_a_rule_asks_for_them() {
    let folder = Folder::new();
    let mut all = vec![("f", npy("<f4", false, "(1,)", &floats(&[1.0])))];
    all.extend(others());
    folder.write("a.npz", archive(&all, false));
    folder.write(
        "raw.npz",
        archive(&[("q.w", npy("<V1", false, "(1,)", &[1])), ("s", npy("<V2", false, "(1,)", &[0; 2]))], false),
    );
    for (rest, message) in [
        ("a --map objects=float16", "objects: dtype '|O' is not supported: Python objects"),
        ("a --map o*=float16", "objects: dtype '|O' is not supported: Python objects"),
        ("a --only objects --to float16", "objects: dtype '|O' is not supported: Python objects"),
        ("a --map dates=int64", "dates: dtype '<M8[D]' is not supported: datetime64"),
        (
            "a --only fields --to float16",
            "fields: dtype '[('x', '<f4'), ('n', '|S2')]' is not supported: it has several fields",
        ),
        ("a --only labels --to float16", "labels: dtype '<U3': --to is for floats, add --map 'labels=float16'"),
        ("a --map labels=float16", "labels: casting string to float16: element 0 is not a number: \"cat\""),
        (
            "a --map uuid=float16",
            "uuid: dtype '|V16' does not determine the element type: add --from 'uuid=TYPE', or leave it as it is with \
             --map 'uuid=keep'",
        ),
        // It may be a float, for which --to is.
        (
            "raw --to float",
            "q.w: dtype '<V1' does not determine the element type: add --from 'q.w=TYPE', or leave it as it is with \
             --map 'q.w=keep'",
        ),
        (
            "raw --to float --from bfloat16",
            "q.w: dtype '<V1' has 1 byte per element, bfloat16 needs 2: add --from 'q.w=TYPE', or leave it as it is \
             with --map 'q.w=keep'",
        ),
        ("raw --to float --from q*=bfloat16", "q.w: dtype '<V1' has 1 byte per element, bfloat16 needs 2"),
        ("a --to float16 --from f=bfloat16", "f: dtype '<f4' is float, which contradicts --from bfloat16"),
    ] {
        let (input, rest) = rest.split_once(' ').expect("an input and rules");
        let outcome = folder.cast(&format!("convert {input}.npz out.npz {rest}"));
        assert_eq!(
            (outcome.status, outcome.line()),
            (Some(1), &format!("wgpu-cast: {input}.npz: {message}")[..]),
            "{rest}"
        );
    }
    assert_eq!(folder.names(), ["a.npz", "raw.npz"]);
}

#[test]
fn floats_that_cannot_be_cast_are_copied_with_a_warning() {
    let folder = Folder::new();
    let all = [
        ("wide", npy("<f16", false, "(1,)", &[1; 16])),
        ("z", npy("<c8", false, "(1,)", &[2; 8])),
        (
            "fields",
            npy_file(1, "{'descr': [('a', '<f4'), ('b', '<i2')], 'fortran_order': False, 'shape': (1,), }", &[3; 6]),
        ),
        ("f", npy("<f4", false, "(1,)", &floats(&[1.0]))),
    ];
    folder.write("a.npz", archive(&all, false));
    let outcome = folder.cast("convert a.npz out.npz --to float16 --quiet");
    let expected =
        "warning: a.npz: wide: dtype '<f16' is not supported: a float that ONNX does not have; the array is copied as it is
warning: a.npz: z: dtype '<c8' is not supported: complex numbers; the array is copied as it is
warning: a.npz: fields: dtype '[('a', '<f4'), ('b', '<i2')]' is not supported: it has several fields; the array is copied as it is
";
    assert_eq!((outcome.status, &outcome.stderr[..]), (Some(0), expected));
    assert_eq!(
        arrays(&folder.read("out.npz"))[..3],
        all[..3].iter().map(|(n, b)| (n.to_string(), b.clone())).collect::<Vec<_>>()
    );
    for rest in
        ["--only f", "--except w* --except z* --except fields", "--map wide=keep --map z=keep --map fields=keep"]
    {
        let outcome = folder.cast(&format!("convert a.npz out.npz --to float16 --quiet {rest}"));
        assert_eq!((outcome.status, &outcome.stderr[..]), (Some(0), ""), "{rest}");
    }
}

#[test]
fn strings_are_cast_where_a_mapping_asks_for_them() {
    let folder = Folder::new();
    let all = [
        ("words", text(&["1.5", "-2", "inf"], 4)),
        ("f", npy("<f4", false, "(2,)", &floats(&[1.5, f32::NEG_INFINITY]))),
        ("raw", npy("<V1", false, "(2,)", &[0x7c, 0x3c])),
    ];
    for compress in [false, true] {
        folder.write("a.npz", archive(&all, compress));
        let rules = "--map words=float16 --map f=string --from raw=float8e5m2 --map raw=string";
        let outcome = folder.cast(&format!("convert a.npz out.npz {rules}"));
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        let file = folder.read("out.npz");
        assert_eq!(array(&file, "words"), npy("<f2", false, "(3,)", &[0, 0x3e, 0, 0xc0, 0, 0x7c]));
        assert_eq!(array(&file, "f"), text(&["1.5", "-INF"], 4));
        assert_eq!(array(&file, "raw"), text(&["INF", "1.0"], 3));
        // --to applies only to the type of --from, as to other types.
        let outcome = folder.cast("convert a.npz out.npz --to double --from string");
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        let file = folder.read("out.npz");
        assert!(array(&file, "words").starts_with(&npy("<f8", false, "(3,)", &[])));
        assert_eq!((array(&file, "f"), array(&file, "raw")), (all[1].1.clone(), all[2].1.clone()));
    }
    let outcome = folder.cast("convert a.npz out.npz --map words=float16 --device gpu");
    assert_ne!(outcome.status, Some(0));
}

/// What the program writes, it reads: types that numpy lacks, several in one archive.
#[test]
fn several_types_of_raw_codes_have_a_type_by_name() {
    let folder = Folder::new();
    let numbers = [1.0, -2.0, 0.5];
    let names = ["a.bf16", "a.fp8", "b.int4", "b.plain", "c.u8"];
    let mut all: Vec<_> = names[..4].iter().map(|name| (*name, npy("<f4", false, "(3,)", &floats(&numbers)))).collect();
    all.push(("c.u8", npy("|u1", false, "(3,)", &[0x38, 0xc0, 0x30])));
    folder.write("a.npz", archive(&all, false));
    let rules = "--map *.bf16=bfloat16 --map *.fp8=float8e4m3fn --map *.int4=int4";
    let outcome = folder.cast(&format!("convert a.npz out.npz {rules}"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let from = "--from *.bf16=bfloat16 --from a.*=float8e4m3fn --from *.int4=int4 --from c.u8=float8e4m3fn";
    let listed = folder.cast(&format!("info out.npz {from}"));
    let expected = "a.bf16 [3]: bfloat16, 6 bytes
a.fp8 [3]: float8e4m3fn, 3 bytes
b.int4 [3]: int4, 2 bytes
b.plain [3]: float, 12 bytes
c.u8 [3]: float8e4m3fn, 3 bytes
";
    assert_eq!((listed.status, listed.text()), (Some(0), expected));
    let unknown = folder.cast("info out.npz");
    assert_eq!(unknown.text().lines().next(), Some("a.bf16 [3]: <V2, 6 bytes"));
    // --to is for the arrays that are named, integers included, and for floats.
    folder.write("b.npz", folder.read("out.npz"));
    let outcome = folder.cast(&format!("convert b.npz out.npz --to float {from}"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let file = folder.read("out.npz");
    for name in names {
        let values = if name == "b.int4" { [1.0, -2.0, 0.0] } else { numbers };
        assert_eq!(array(&file, name), npy("<f4", false, "(3,)", &floats(&values)), "{name}");
    }
    // Beside a plain type, which is for the rest.
    folder.write(
        "c.npz",
        archive(&[("x", npy("<V2", false, "(1,)", &[0x80, 0x3f])), ("y", npy("<V1", false, "(1,)", &[0x38]))], false),
    );
    let outcome = folder.cast("convert c.npz out.npz --to float --from bfloat16 --from y=float8e4m3fn");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let file = folder.read("out.npz");
    let one = npy("<f4", false, "(1,)", &floats(&[1.0]));
    assert_eq!((array(&file, "x"), array(&file, "y")), (one.clone(), one));
}

#[test]
fn info_reads_raw_codes_of_every_format() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<V2", false, "(2,)", &[0; 4]));
    folder.write("a.bin", [0; 3]);
    folder.write("a.safetensors", crate::convert::checkpoint(&[("t", "F32", &[1], &[0; 4])]));
    for (line, text) in [
        ("a.npy --from bfloat16", "a.npy [2]: bfloat16, 4 bytes\n"),
        ("a.bin --from float6e2m3", "a.bin [4]: float6e2m3, 3 bytes\n"),
        (". --from bfloat16", "./a.npy [2]: bfloat16, 4 bytes\nt [1]: float, 4 bytes\n"),
    ] {
        let outcome = folder.cast(&format!("info {line}"));
        assert_eq!((outcome.status, outcome.text()), (Some(0), text), "{line}: {}", outcome.stderr);
    }
    folder.write("f.npy", npy("<f4", false, "(1,)", &floats(&[1.0])));
    for (input, text) in [("f.npy", "- [1]: float, 4 bytes\n"), ("a.npy", "- [2]: <V2, 4 bytes\n")] {
        let outcome = folder.cast_from(input, "info - --in-format npy");
        assert_eq!((outcome.status, outcome.text()), (Some(0), text), "{}", outcome.stderr);
    }
    // Without a type, an array is listed as one in an archive.
    folder.write("m/z.npy", npy("<c8", false, "(1,)", &[0; 8]));
    folder.write("m/a.npy", npy("<V2", false, "(2,)", &[0; 4]));
    let outcome = folder.cast("info m");
    let text = "m/a.npy [2]: <V2, 4 bytes\nm/z.npy [1]: <c8, 8 bytes\n";
    assert_eq!((outcome.status, outcome.text()), (Some(0), text), "{}", outcome.stderr);
}

#[test]
fn types_by_name_that_say_nothing_are_usage_errors() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<V2", false, "(2,)", &[0; 4]));
    folder.write("a.bin", [0; 3]);
    folder.write("a.safetensors", crate::convert::checkpoint(&[("t", "F32", &[1], &[0; 4])]));
    for (line, message) in [
        ("convert a.npy out.npy --to float --from a=bfloat16", "wgpu-cast: --from GLOB=TYPE is for .npz archives"),
        ("convert a.bin out.bin --to float --from int8 --from uint8", "wgpu-cast: --from TYPE is given twice"),
        ("info a.npy --from a=bfloat16", "wgpu-cast: --from GLOB=TYPE is for .npz archives"),
        ("info a.safetensors --from float", "wgpu-cast: a.safetensors: --from is for .bin, .npy, .npz and .pb files"),
    ] {
        let outcome = folder.cast(line);
        assert_eq!((outcome.status, outcome.line()), (Some(2), message), "{line}");
    }
    for (value, message) in [("a=keep", "expected GLOB=TYPE"), ("a=f99", "unknown element type")] {
        let outcome = folder.cast(&format!("convert a.npz out.npz --to float --from {value}"));
        assert!(outcome.status == Some(2) && outcome.stderr.contains(message), "{value}: {}", outcome.stderr);
    }
}
