//! `.npy` files, good ones and hostile ones.

use crate::tool::{Folder, floats, npy, npy_file};

const CPU: &str = "--device cpu";

#[test]
fn arrays_of_either_order_and_byte_order() {
    let folder = Folder::new();
    let rows = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let columns = floats(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    let big_endian: Vec<u8> = rows.iter().flat_map(|value: &f32| value.to_be_bytes()).collect();
    let header = "{'shape': (2, 3), 'descr': '<f4', 'fortran_order': False}";
    folder.write("c.npy", npy("<f4", false, "(2, 3)", &floats(&rows)));
    folder.write("fortran.npy", npy("<f4", true, "(2, 3)", &columns));
    folder.write("big.npy", npy(">f4", false, "(2, 3)", &big_endian));
    folder.write("two.npy", npy_file(2, header, &floats(&rows)));
    folder.write("three.npy", npy_file(3, header, &floats(&rows)));
    let expected = npy("|i1", false, "(2, 3)", &[1, 2, 3, 4, 5, 6]);
    for name in ["c", "fortran", "big", "two", "three"] {
        assert_eq!(folder.convert(&format!("{name}.npy out.npy --to int8 {CPU}")), expected, "{name}");
    }
}

#[test]
fn fortran_order_of_three_axes() {
    let folder = Folder::new();
    // Element (i, j, k) holds 100 i + 10 j + k.
    let value = |i: u16, j: u16, k: u16| 100 * i + 10 * j + k;
    let order = |swapped: bool| -> Vec<u8> {
        let (outer, inner) = if swapped { (4, 2) } else { (2, 4) };
        let axes = (0..outer).flat_map(|a| (0..3).flat_map(move |b| (0..inner).map(move |c| (a, b, c))));
        axes.flat_map(|(a, b, c)| if swapped { value(c, b, a) } else { value(a, b, c) }.to_le_bytes()).collect()
    };
    folder.write("a.npy", npy("<u2", true, "(2, 3, 4)", &order(true)));
    let expected = npy("<i2", false, "(2, 3, 4)", &order(false));
    assert_eq!(folder.convert(&format!("a.npy out.npy --to int16 {CPU}")), expected);
}

#[test]
fn every_type_that_numpy_has() {
    let folder = Folder::new();
    let one_two: [(&str, &[u8], &str); 12] = [
        ("|b1", &[1, 0], "bool"),
        ("|i1", &[1, 2], "int8"),
        ("<i2", &[1, 0, 2, 0], "int16"),
        ("<i4", &[1, 0, 0, 0, 2, 0, 0, 0], "int32"),
        ("<i8", &[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0], "int64"),
        ("|u1", &[1, 2], "uint8"),
        ("<u2", &[1, 0, 2, 0], "uint16"),
        ("<u4", &[1, 0, 0, 0, 2, 0, 0, 0], "uint32"),
        ("<u8", &[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0], "uint64"),
        ("<f2", &[0, 0x3c, 0, 0x40], "float16"),
        ("<f4", &[0, 0, 0x80, 0x3f, 0, 0, 0, 0x40], "float"),
        ("<f8", &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0x40], "double"),
    ];
    for (descr, data, name) in one_two {
        folder.write("a.npy", npy(descr, false, "(2,)", data));
        let same = folder.convert(&format!("a.npy out.npy --from {name} --to {name} {CPU}"));
        assert_eq!(same, npy(descr, false, "(2,)", data), "{name} to itself");
        let narrow = folder.convert(&format!("a.npy out.npy --to int8 {CPU}"));
        let expected = if name == "bool" { [1, 0] } else { [1, 2] };
        assert_eq!(narrow, npy("|i1", false, "(2,)", &expected), "{name} to int8");
    }
}

#[test]
fn raw_codes_go_out_and_come_back() {
    let folder = Folder::new();
    let values = [1.0, -2.0, 0.5, -0.5, 3.0];
    folder.write("a.npy", npy("<f4", false, "(5,)", &floats(&values)));
    for (t, descr, codes) in [
        ("float8e5m2", "<V1", &[0x3c, 0xc0, 0x38, 0xb8, 0x42][..]),
        ("float6e2m3", "<V1", &[0x08, 0x30, 0x04, 0x24, 0x14]),
        ("float4e2m1", "<V1", &[0x2, 0xc, 0x1, 0x9, 0x5]),
        ("int4", "<V1", &[0x1, 0xe, 0x0, 0x0, 0x3]),
        ("bfloat16", "<V2", &[0x80, 0x3f, 0x00, 0xc0, 0x00, 0x3f, 0x00, 0xbf, 0x40, 0x40]),
    ] {
        let raw = folder.convert(&format!("a.npy out.npy --to {t} {CPU}"));
        assert_eq!(raw, npy(descr, false, "(5,)", codes), "{t}");
        folder.write("raw.npy", &raw);
        // As unsigned integers of the same width.
        let unsigned = if descr == "<V2" { "<u2" } else { "|u1" };
        folder.write("unsigned.npy", npy(unsigned, false, "(5,)", codes));
        let expected = if t == "int4" { floats(&[1.0, -2.0, 0.0, 0.0, 3.0]) } else { floats(&values) };
        for file in ["raw.npy", "unsigned.npy"] {
            let back = folder.convert(&format!("{file} out.npy --from {t} --to float {CPU}"));
            assert_eq!(back, npy("<f4", false, "(5,)", &expected), "{file} from {t}");
        }
    }
    folder.write("e5m2.npy", npy("<f1", false, "(1,)", &[0x3c]));
    assert_eq!(folder.convert(&format!("e5m2.npy out.bin --from float8e5m2 --to int8 {CPU}")), [1]);
}

#[test]
fn scalars_and_empty_arrays_keep_their_shape() {
    let folder = Folder::new();
    folder.write("scalar.npy", npy("<f4", false, "()", &floats(&[7.0])));
    folder.write("empty.npy", npy("<f4", false, "(3, 0, 2)", &[]));
    assert_eq!(folder.convert(&format!("scalar.npy out.npy --to int8 {CPU}")), npy("|i1", false, "()", &[7]));
    let empty = npy("|i1", false, "(3, 0, 2)", &[]);
    assert_eq!(folder.convert(&format!("empty.npy out.npy --to int8 {CPU}")), empty);
}

#[test]
fn shapes_as_python_2_wrote_them() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(2L, 1L)", &floats(&[1.0, -2.0])));
    let outcome = folder.cast("convert a.npy out.npy --to int8 --device cpu");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(folder.read("out.npy"), npy("|i1", false, "(2, 1)", &[1, 0xfe]));
    folder.write("b.npy", npy("<f4", false, "(2LL,)", &floats(&[1.0, -2.0])));
    assert_eq!(folder.cast("convert b.npy out_b.npy --to int8 --device cpu").status, Some(1));
}

#[test]
fn between_npy_and_bin() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(1, 3)", &floats(&[1.0, 2.0, -1.0])));
    assert_eq!(folder.convert(&format!("a.npy out.bin --to int4 {CPU}")), [0x21, 0x0f]);
    folder.write("b.bin", [0x21, 0x0f]);
    let array = folder.convert(&format!("b.bin out.npy --from int4 --len 3 --to int16 {CPU}"));
    assert_eq!(array, npy("<i2", false, "(3,)", &[1, 0, 2, 0, 0xff, 0xff]));
}

#[test]
fn hostile_files() {
    let folder = Folder::new();
    let good = npy("<f4", false, "(3,)", &[0; 12]);
    let dict = |shape: &str| npy("<f4", false, shape, &[0; 12]);
    let mut magic = good.clone();
    magic[0] = b'P';
    let structured = "{'descr': [('a', '<f4'), ('b', '<i2')], 'fortran_order': False, 'shape': (2,), }";
    let deep = "[".repeat(200) + &"]".repeat(200);
    const NO_HEADER: &str = "invalid .npy file: there is no header of a .npy file, or only its beginning";
    let cases = [
        ("truncated", good[..good.len() - 1].to_vec(), "expected 12 bytes for 3 elements of float, got 11"),
        ("trailing", [&good[..], &[0]].concat(), "expected 12 bytes for 3 elements of float, got 13"),
        ("cut header", good[..40].to_vec(), NO_HEADER),
        ("empty", vec![], NO_HEADER),
        ("magic", magic, NO_HEADER),
        ("version", npy_file(9, "{}", &[]), "unsupported .npy format version 9.0"),
        ("object", npy("|O", false, "(3,)", &[0; 12]), "dtype '|O' is not supported"),
        ("time", npy("<M8[s]", false, "(1,)", &[0; 8]), "datetime64"),
        ("complex", npy("<c8", false, "(1,)", &[0; 8]), "dtype '<c8' is not supported"),
        ("quadruple", npy("<f16", false, "(1,)", &[0; 16]), "dtype '<f16' is not supported"),
        ("void", npy("<V1", false, "(3,)", &[0; 3]), "add --from"),
        ("structured", npy_file(1, structured, &[0; 12]), "is not supported: it has several fields"),
        ("negative", dict("(-3,)"), "bad header"),
        ("large", dict("(1099511627776,)"), "expected 4398046511104 bytes for 1099511627776 elements of float, got 12"),
        ("overflow", dict("(4294967296, 4294967296)"), "size in bytes overflows"),
        ("bytes overflow", dict("(9223372036854775807,)"), "size in bytes overflows"),
        ("beyond u64", dict("(18446744073709551616,)"), "bad header"),
        ("expression", dict("(1+2,)"), "bad header"),
        ("fraction", dict("(3.0,)"), "bad header"),
        ("word", dict("(three,)"), "bad header"),
        ("no shape", npy_file(1, "{'descr': '<f4', 'fortran_order': False}", &[]), "bad header"),
        ("deep", npy_file(1, &deep, &[]), "bad header"),
        ("long header", npy_file(2, &" ".repeat(10_001), &[]), "the limit is 10000"),
        ("many axes", dict(&format!("({})", "1, ".repeat(65))), "more than 64 axes"),
    ];
    for (what, bytes, message) in cases {
        folder.write("a.npy", bytes);
        let outcome = folder.cast(&format!("convert a.npy out.npy --to int8 {CPU}"));
        assert_eq!(outcome.status, Some(1), "{what}: {}", outcome.stderr);
        assert!(outcome.line().starts_with("wgpu-cast: a.npy: "), "{what}: {}", outcome.stderr);
        assert!(outcome.line().contains(message), "{what}: {}", outcome.stderr);
        assert_eq!(folder.names(), ["a.npy"], "{what}");
    }
}

#[test]
fn from_that_contradicts_the_file() {
    let folder = Folder::new();
    folder.write("bytes.npy", npy("|u1", false, "(3,)", &[1, 0x41, 2]));
    folder.write("words.npy", npy("<i4", false, "(1,)", &[0; 4]));
    for (line, message) in [
        ("bytes.npy --from bfloat16", "dtype '|u1' has 1 byte per element, bfloat16 needs 2"),
        ("words.npy --from float", "dtype '<i4' is int32, which contradicts --from float"),
    ] {
        let (input, rest) = line.split_once(' ').expect("an input and options");
        let outcome = folder.cast(&format!("convert {input} out.npy --to int8 {CPU} {rest}"));
        assert_eq!(outcome.status, Some(1), "{line}");
        assert!(outcome.line().contains(message), "{line}: {}", outcome.stderr);
    }
    assert_eq!(folder.names(), ["bytes.npy", "words.npy"]);
}
