//! Tensors that are read or that stay in their type: their codes are copied and never cast, in every format.

use support::models::field;
use wgpu_cast::{ElementType, Tensor};
use wgpu_cast_files::onnx::NamedTensor;

use crate::convert::checkpoint;
use crate::tool::{Folder, npy};

/// Types with codes that Cast to the same type changes: ∞, −∞, NaNs, and bytes of BOOL other than 0 and 1. The dtype of
/// numpy, and the name in safetensors.
const KEPT: [(&str, [u8; 6], &str, &str); 2] = [
    ("float8e5m2", [0x7c, 0xfc, 0x7d, 0xff, 0x7b, 0x00], "<V1", "F8_E5M2"),
    ("bool", [2, 7, 0, 1, 255, 128], "|b1", "BOOL"),
];

/// A model of one initializer.
fn model(element_type: ElementType, codes: &[u8]) -> Vec<u8> {
    let number = element_type.onnx_code() as u8;
    let tensor = [&[8, codes.len() as u8, 16, number][..], &field(8, b"w"), &field(9, codes)].concat();
    let graph = [field(2, b"g"), field(5, &tensor)].concat();
    [vec![8, 10], field(7, &graph), field(8, &[16, 21])].concat()
}

#[test]
fn the_type_that_a_tensor_has_leaves_its_codes_alone_in_every_format() {
    let folder = Folder::new();
    for (name, codes, dtype, safetensors) in KEPT {
        let element_type: ElementType = name.parse().expect("a type");
        let tensor = Tensor::from_bytes(element_type, [6], codes.to_vec()).expect("a tensor");
        let message = NamedTensor { name: "t".to_owned(), tensor }.into_bytes().expect("a message");
        let array = npy(dtype, false, "(6,)", &codes);
        for (file, bytes) in [
            ("a.bin", codes.to_vec()),
            ("a.npy", array.clone()),
            ("a.pb", message.clone()),
            ("a.safetensors", checkpoint(&[("t", safetensors, &[6], &codes)])),
            ("a.onnx", model(element_type, &codes)),
        ] {
            folder.write(file, &bytes);
            let out = file.replace('a', "out");
            let out = if file == "a.safetensors" { "out.safetensors" } else { &out };
            // Only where the format does not have the type.
            let from = if ["a.bin", "a.npy"].contains(&file) { format!("--from {name}") } else { String::new() };
            for saturate in ["", "--saturate true"] {
                let saturate = if name == "bool" { "" } else { saturate };
                let found = folder.convert(&format!("{file} {out} {from} --to {name} {saturate} --device cpu"));
                assert_eq!(found, bytes, "{file} to {name} {saturate}");
            }
        }
        // From one format to another.
        let found = folder.convert(&format!("a.npy out.bin --from {name} --to {name}"));
        assert_eq!(found, codes, "{name}");
        let found = folder.convert(&format!("a.bin out.npy --from {name} --to {name}"));
        assert_eq!(found, array, "{name}");
    }
}

#[test]
fn a_kept_tensor_is_reported_as_unchanged() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<V1", false, "(6,)", &KEPT[0].1));
    let outcome = folder.cast("convert a.npy out.bin --from float8e5m2 --to float8e5m2");
    assert_eq!(outcome.status, Some(0));
    let line = "float8e5m2 (unchanged), 6 elements, nothing was cast";
    assert_eq!(outcome.line(), line);
}

/// Column-major order and big-endian codes change, the codes do not.
#[test]
fn only_the_layout_of_kept_codes_changes() {
    let folder = Folder::new();
    // A signalling NaN with a payload, and ∞.
    let codes = [0x7fa0_0001u32, 0x7f80_0000, 0xff80_0000, 0x8000_0001, 1, 2];
    let bytes = |codes: &[u32], order: fn(u32) -> [u8; 4]| codes.iter().flat_map(|&c| order(c)).collect::<Vec<_>>();
    let by_columns = [codes[0], codes[3], codes[1], codes[4], codes[2], codes[5]];
    let expected = npy("<f4", false, "(2, 3)", &bytes(&codes, u32::to_le_bytes));
    folder.write("big.npy", npy(">f4", false, "(2, 3)", &bytes(&codes, u32::to_be_bytes)));
    folder.write("fortran.npy", npy("<f4", true, "(2, 3)", &bytes(&by_columns, u32::to_le_bytes)));
    folder.write("both.npy", npy(">f4", true, "(2, 3)", &bytes(&by_columns, u32::to_be_bytes)));
    for file in ["big.npy", "fortran.npy", "both.npy"] {
        assert_eq!(folder.convert(&format!("{file} out.npy --to float --device cpu")), expected, "{file}");
    }
    // Packed and one code per byte.
    folder.write("int4.npy", npy("<V1", false, "(3,)", &[8, 15, 7]));
    assert_eq!(folder.convert("int4.npy out.bin --from int4 --to int4"), [0xf8, 7]);
    folder.write("int4.bin", [0xf8, 0x57]);
    let array = folder.convert("int4.bin out.npy --from int4 --to int4 --len 3");
    assert_eq!(array, npy("<V1", false, "(3,)", &[8, 15, 7]));
    assert_eq!(folder.convert("int4.bin out.bin --from int4 --to int4 --len 3"), [0xf8, 7]);
}

/// Text is that of the code itself, from every format.
#[test]
fn text_of_infinity() {
    let folder = Folder::new();
    let (name, codes, dtype, _) = KEPT[0];
    let tensor = Tensor::from_bytes(ElementType::FLOAT8E5M2, [6], codes.to_vec()).expect("a tensor");
    folder.write("a.pb", NamedTensor { name: String::new(), tensor }.into_bytes().expect("a message"));
    folder.write("a.npy", npy(dtype, false, "(6,)", &codes));
    folder.write("a.bin", codes);
    for input in ["a.pb", "a.npy --from float8e5m2", "a.bin --from float8e5m2"] {
        folder.convert(&format!("{input} out.pb --to string"));
        let tensor = NamedTensor::from_bytes(folder.read("out.pb"), None).expect("a message").tensor;
        let texts: Vec<_> = tensor.strings().expect("strings").collect();
        assert_eq!(texts, ["INF", "-INF", "NaN", "NaN", "57344.0", "0.0"], "{input} of {name}");
    }
    folder.write("b.npy", npy("|b1", false, "(3,)", &[2, 7, 0]));
    folder.convert("b.npy out.pb --to string");
    let tensor = NamedTensor::from_bytes(folder.read("out.pb"), None).expect("a message").tensor;
    assert_eq!(tensor.strings().expect("strings").collect::<Vec<_>>(), ["True", "True", "False"]);
}

/// ml_dtypes 0.2 wrote int4 with the sign extended to the byte, and every version reads the low bits.
#[test]
fn higher_bits_of_one_code_per_byte_are_ignored() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<V1", false, "(4,)", &[0xff, 0xf8, 0x07, 0x1f]));
    for (name, expected) in [
        ("int4", [0xff, 0xf8, 7, 0xff]),
        ("uint4", [15, 8, 7, 15]),
        ("int2", [0xff, 0, 0xff, 0xff]),
        ("uint2", [3, 0, 3, 3]),
        ("float4e2m1", [0xfa, 0, 6, 0xfa]),
        ("float6e2m3", [0xf9, 0xfc, 0, 7]),
        ("float6e3m2", [0xe4, 0xf8, 0, 28]),
    ] {
        assert_eq!(folder.convert(&format!("a.npy out.bin --from {name} --to int8 --device cpu")), expected, "{name}");
    }
}
