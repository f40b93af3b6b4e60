//! Values and `.bin` files.

use crate::tool::{Folder, floats};

/// Worked out by hand from the rules of Cast.
#[test]
fn known_values() {
    let folder = Folder::new();
    folder.write("a.bin", floats(&[1.0, -2.0, 0.1, 500.0, f32::NAN, -0.0, 8.0, -9.0, 7.9]));
    let cases: &[(&str, &[u8])] = &[
        ("float8e4m3fn", &[0x38, 0xc0, 0x1d, 0x7e, 0x7f, 0x80, 0x50, 0xd1, 0x50]),
        ("float8e4m3fn --saturate false", &[0x38, 0xc0, 0x1d, 0x7f, 0x7f, 0x80, 0x50, 0xd1, 0x50]),
        ("int8", &[1, 0xfe, 0, 0xf4, 0, 0, 8, 0xf7, 7]),
        ("int4", &[0xe1, 0x40, 0x00, 0x78, 0x07]),
        ("int4 --opset 21", &[0xe1, 0x70, 0x00, 0x87, 0x07]),
        ("float4e2m1", &[0xc2, 0x70, 0x88, 0xf7, 0x07]),
        ("float4e2m1 --opset 23", &[0xc2, 0x70, 0x87, 0xf7, 0x07]),
        ("float8e8m0", &[0x7f, 0x00, 0x7c, 0x88, 0xff, 0x00, 0x82, 0x00, 0x82]),
        ("float8e8m0 --round-mode down", &[0x7f, 0x00, 0x7b, 0x87, 0xff, 0x00, 0x82, 0x00, 0x81]),
        ("float8e8m0 --round-mode nearest", &[0x7f, 0x00, 0x7c, 0x88, 0xff, 0x00, 0x82, 0x00, 0x82]),
        ("bool", &[1, 1, 1, 1, 1, 0, 1, 1, 1]),
    ];
    for (to, expected) in cases {
        let found = folder.convert(&format!("a.bin out.bin --from float --device cpu --to {to}"));
        assert_eq!(found, *expected, "{to}");
    }
}

#[test]
fn bin_holds_as_many_elements_as_fit_or_len() {
    let folder = Folder::new();
    // int4: 1, -1, 2 and a pad; float6e3m2: 1.0 four times.
    folder.write("int4.bin", [0xf1, 0x02]);
    folder.write("float6.bin", [0x0c, 0xc3, 0x30]);
    folder.write("empty.bin", []);
    for (line, expected) in [
        ("int4.bin --from int4 --to int8", &[1, 0xff, 2, 0][..]),
        ("int4.bin --from int4 --to int8 --len 3", &[1, 0xff, 2]),
        ("int4.bin --from int4 --to int4 --len 3", &[0xf1, 0x02]),
        ("float6.bin --from float6e3m2 --to int8", &[1, 1, 1, 1]),
        ("float6.bin --from f6e3m2 --to uint2", &[0x55]),
        ("empty.bin --from float --to int8", &[]),
        ("empty.bin --from float --to int8 --len 0", &[]),
    ] {
        let (input, rest) = line.split_once(' ').expect("an input and options");
        assert_eq!(folder.convert(&format!("{input} out.bin {rest} --device cpu")), expected, "{line}");
    }
}

#[test]
fn bin_that_does_not_fit() {
    let folder = Folder::new();
    folder.write("a.bin", [0; 5]);
    for (rest, message) in [
        ("--from float", "a.bin: the file size of 5 bytes is not a whole number of float codes of 32 bits"),
        ("--from float16", "not a whole number"),
        ("--from int4 --len 8", "expected 4 bytes for 8 elements of int4, got 5"),
        ("--from int4 --len 11", "expected 6 bytes for 11 elements of int4, got 5"),
        ("--from float --len 18446744073709551615", "elements of float are too many"),
        (
            "--from int8 --len 18446744073709551615",
            "expected 18446744073709551615 bytes for 18446744073709551615 elements of int8, got 5",
        ),
    ] {
        let outcome = folder.cast(&format!("convert a.bin out.bin --to int8 --device cpu {rest}"));
        assert_eq!(outcome.status, Some(1), "{rest}");
        assert!(outcome.line().contains(message), "{rest}: {}", outcome.stderr);
    }
    assert_eq!(folder.names(), ["a.bin"]);
}

#[test]
fn output_replaces_a_file_and_in_place_the_input() {
    let folder = Folder::new();
    folder.write("out.bin", floats(&[3.0, -4.0]));
    assert_eq!(folder.convert("out.bin out.bin --in-place --from float --to int8 --device cpu"), [3, 0xfc]);
    assert_eq!(folder.names(), ["out.bin"]);
}
