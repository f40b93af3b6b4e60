//! `.npy` files as numpy and ml_dtypes save them, other files, and hostile ones.

use wgpu_cast::{CastOptions, ElementType, Tensor, cpu};
use wgpu_cast_files::{
    Characters, CodeStorage, FileCause, FileError, NpyArray, NpyElements, NpyHeader, NpyOrder, ReadAt, StoredTensor,
    StringLayout, TensorStorage, npy_plan, write_strings,
};

use crate::plans::execute;

/// The file that `files/tests/golden/make_npy.py` wrote under this name.
pub fn golden(name: &str) -> Vec<u8> {
    let line = include_str!("../golden/npy.txt").lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let digits = line.unwrap_or_else(|| panic!("no {name}: run files/tests/golden/make_npy.py"));
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.as_bytes().chunks(2).map(byte).collect()
}

/// A file with this header and data.
fn file(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let length = header.len() as u32;
    let length = if version == 1 { length.to_le_bytes()[..2].to_vec() } else { length.to_le_bytes().to_vec() };
    [b"\x93NUMPY", &[version, 0][..], &length, header.as_bytes(), data].concat()
}

pub fn array(dtype: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    file(1, &format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"), data)
}

fn stored(file: &Vec<u8>, from: Option<ElementType>) -> StoredTensor {
    NpyArray::read(file, from).unwrap().stored("", 0).unwrap()
}

/// The file as a file of this type.
fn converted(file: &Vec<u8>, from: Option<ElementType>, to: ElementType, order: NpyOrder) -> Vec<u8> {
    let plan = npy_plan(&stored(file, from), to, &CastOptions::default(), order).unwrap();
    execute(&plan, &[file as &dyn ReadAt])
}

fn numeric_types() -> impl Iterator<Item = ElementType> {
    ElementType::ALL.iter().copied().filter(|element_type| element_type.is_numeric())
}

#[test]
fn every_type_is_read_and_written_as_numpy_and_ml_dtypes_do() {
    for element_type in numeric_types() {
        let file = golden(element_type.name());
        let tensor = stored(&file, Some(element_type));
        let is_narrow = element_type.bits() < Some(8);
        let codes = if is_narrow { CodeStorage::OnePerByte } else { CodeStorage::Packed };
        assert_eq!((&tensor.shape[..], tensor.column_major), (&[2, 3][..], false), "{element_type}");
        assert_eq!(tensor.storage, TensorStorage { element_type, codes });
        let mut expected = file.clone();
        if element_type == ElementType::FLOAT8E5M2 {
            // numpy refuses what ml_dtypes writes.
            let place = file.windows(3).position(|text| text == b"<f1").unwrap();
            expected[place + 1] = b'V';
        }
        assert_eq!(converted(&file, Some(element_type), element_type, NpyOrder::Keep), expected, "{element_type}");
        let other = if element_type == ElementType::INT8 { ElementType::INT16 } else { ElementType::INT8 };
        let other = stored(&golden(other.name()), None);
        let plan = npy_plan(&other, element_type, &CastOptions::default(), NpyOrder::Keep).unwrap();
        assert_eq!(plan.casts().next().unwrap().to, TensorStorage { element_type, codes });
        match NpyArray::read(&file, None) {
            Ok(array) => assert_eq!(array.elements, NpyElements::Numbers(tensor.storage)),
            Err(error) => match error.cause() {
                FileCause::ElementTypeNeeded { dtype, bytes, given: None, .. } => {
                    let expected = if element_type == ElementType::BFLOAT16 { ("<V2", 2) } else { ("<V1", 1) };
                    assert_eq!((&dtype[..], *bytes), expected, "{element_type}");
                }
                other => panic!("{element_type}: {other}"),
            },
        }
    }
}

#[test]
fn bfloat16_comes_back_as_the_numbers_that_it_was() {
    let ones = array("<f4", "(2,)", &[1.0f32.to_le_bytes(), (-2.5f32).to_le_bytes()].concat());
    let narrow = converted(&ones, None, ElementType::BFLOAT16, NpyOrder::Keep);
    let unknown = NpyArray::read(&narrow, None).unwrap_err().to_string();
    assert_eq!(unknown, "dtype '<V2' does not determine the element type");
    let back = converted(&narrow, Some(ElementType::BFLOAT16), ElementType::FLOAT, NpyOrder::Keep);
    assert_eq!(back[back.len() - 8..], ones[ones.len() - 8..]);
}

#[test]
fn shapes_and_orders_are_those_of_numpy() {
    let int16 = ElementType::INT16;
    for name in ["scalar", "one_axis", "empty", "column_major", "column_major_in_name_only", "many_axes"] {
        assert_eq!(converted(&golden(name), None, int16, NpyOrder::Keep), golden(name), "{name}");
    }
    let numbers = [1i16, 2, 3, 4, 5, 6].map(i16::to_le_bytes).concat();
    for (name, order) in [("column_major", NpyOrder::RowMajor), ("big_endian", NpyOrder::Keep)] {
        let expected = golden("int16")[..128].iter().copied().chain(numbers.clone()).collect::<Vec<_>>();
        assert_eq!(converted(&golden(name), None, int16, order), expected, "{name}");
    }
    assert_eq!(stored(&golden("column_major"), None).shape, [2, 3]);
    assert_eq!(stored(&golden("scalar"), None).shape, [0; 0]);
}

#[test]
fn headers_of_other_writers() {
    let data = [1, 0, 2, 0];
    let expected = [1, 2];
    for header in [
        "{'shape': (2,), 'fortran_order': False, 'descr': '<i2'}",
        "{ 'descr' : \"<i2\" ,\n'fortran_order':False,'shape':( 2 , ) , }  \n",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (2L, 1L), }",
    ] {
        for version in [1, 2, 3] {
            let file = file(version, header, &data);
            let result = converted(&file, None, ElementType::INT8, NpyOrder::Keep);
            assert_eq!(result[result.len() - 2..], expected, "{header:?} {version}");
        }
    }
}

#[test]
fn unsigned_integers_are_read_as_raw_codes() {
    let file = array("|u1", "(3,)", &[0x38, 0xc0, 0x00]);
    let floats = converted(&file, Some(ElementType::FLOAT8E4M3FN), ElementType::FLOAT, NpyOrder::Keep);
    assert_eq!(floats[floats.len() - 12..], [1.0f32, -2.0, 0.0].map(f32::to_le_bytes).concat());
    let big_endian = array(">u2", "(1,)", &[0x3f, 0x80]);
    let floats = converted(&big_endian, Some(ElementType::BFLOAT16), ElementType::FLOAT, NpyOrder::Keep);
    assert_eq!(floats[floats.len() - 4..], 1.0f32.to_le_bytes());
}

#[test]
fn hostile_headers() {
    let good = array("<f4", "(3,)", &[0; 12]);
    let shape = |shape: &str| array("<f4", shape, &[0; 12]);
    let dtype = |dtype: &str| array(dtype, "(1,)", &[0; 16]);
    let mut magic = good.clone();
    magic[0] = b'P';
    let structured = "{'descr': [('a', '<f4'), ('b', '<i2')], 'fortran_order': False, 'shape': (2,), }";
    let deep = "[".repeat(200) + &"]".repeat(200);
    let plain = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
    assert!(NpyArray::read(&file(2, &format!("{plain:<10000}"), &[0; 12]), None).is_ok());
    const NO_DICTIONARY: &str =
        "invalid .npy file: bad header: it is not a dictionary of descr, fortran_order and shape";
    const NO_HEADER: &str = "invalid .npy file: there is no header of a .npy file, or only its beginning";
    let cases = [
        ("truncated", good[..good.len() - 1].to_vec(), "expected 12 bytes for 3 elements of float, got 11"),
        ("trailing", [&good[..], &[0]].concat(), "expected 12 bytes for 3 elements of float, got 13"),
        ("cut header", good[..40].to_vec(), NO_HEADER),
        ("empty", vec![], NO_HEADER),
        ("magic", magic, NO_HEADER),
        ("version", file(9, "{}", &[]), "unsupported .npy format version 9.0"),
        ("object", dtype("|O"), "dtype '|O' is not supported: Python objects"),
        ("complex", dtype("<c8"), "dtype '<c8' is not supported: complex numbers"),
        ("ml_dtypes' complex", dtype("<W4"), "dtype '<W4' is not supported: complex numbers of ml_dtypes"),
        ("datetime", dtype("<M8[ns]"), "dtype '<M8[ns]' is not supported: datetime64"),
        ("timedelta", dtype("<m8[s]"), "dtype '<m8[s]' is not supported: timedelta64"),
        ("quadruple", dtype("<f16"), "dtype '<f16' is not supported: a float that ONNX does not have"),
        ("void", dtype("|V16"), "dtype '|V16' does not determine the element type"),
        ("empty strings", dtype("<U0"), "dtype '<U0' is not supported: strings of no length"),
        ("no size", dtype("<i"), "dtype '<i' is not supported: unknown"),
        ("no order", dtype("i2"), "dtype 'i2' is not supported: unknown"),
        ("no dtype", dtype(""), "dtype '' is not supported: unknown"),
        ("negative size", dtype("<i-2"), "dtype '<i-2' is not supported: unknown"),
        (
            "structured",
            file(1, structured, &[0; 12]),
            "dtype '[('a', '<f4'), ('b', '<i2')]' is not supported: it has several fields",
        ),
        ("negative", shape("(-3,)"), "invalid .npy file: bad header: an axis length is negative"),
        (
            "large",
            shape("(1099511627776,)"),
            "expected 4398046511104 bytes for 1099511627776 elements of float, got 12",
        ),
        ("overflow", shape("(4294967296, 4294967296)"), "a size in bytes overflows"),
        ("bytes overflow", shape("(9223372036854775807,)"), "a size in bytes overflows"),
        ("strings overflow", array("<U4611686018427387904", "(1,)", &[]), "a size in bytes overflows"),
        ("beyond u64", shape("(18446744073709551616,)"), "invalid .npy file: bad header: invalid axis length"),
        ("expression", shape("(1+2,)"), NO_DICTIONARY),
        ("fraction", shape("(3.0,)"), NO_DICTIONARY),
        ("word", shape("(three,)"), "invalid .npy file: bad header: invalid axis length"),
        ("two suffixes", shape("(3LL,)"), "invalid .npy file: bad header: invalid axis length"),
        ("no tuple", shape("(3)"), "invalid .npy file: bad header: shape is not a tuple"),
        ("nested", shape("((3,),)"), "invalid .npy file: bad header: invalid axis length"),
        (
            "no shape",
            file(1, "{'descr': '<f4', 'fortran_order': False}", &[]),
            "invalid .npy file: bad header: descr, fortran_order or shape is missing",
        ),
        (
            "a key twice",
            file(1, &plain.replace("{", "{'descr': '<f8', "), &[]),
            "invalid .npy file: bad header: it has a key twice",
        ),
        (
            "another key",
            file(1, &plain.replace("{", "{'align': '<f8', "), &[]),
            "invalid .npy file: bad header: it has an unknown key",
        ),
        (
            "text after it",
            file(1, &format!("{plain} 1"), &[]),
            "invalid .npy file: bad header: text follows the dictionary",
        ),
        ("escape", array("<f4\\x00", "(3,)", &[]), "invalid .npy file: bad header: a string has an escape"),
        ("no end", file(1, "{'descr': '<f4", &[]), "invalid .npy file: bad header: a string has no end"),
        ("not text", file(1, "{'descr': '\u{1}", &[]), "invalid .npy file: bad header: a string has no end"),
        ("deep", file(1, &deep, &[]), NO_DICTIONARY),
        ("deep dtype", file(1, &format!("{{'descr': {deep}"), &[]), NO_DICTIONARY),
        (
            "a list without an end",
            file(1, "{'descr': [('a', '<f4')", &[]),
            "invalid .npy file: bad header: a list has no end",
        ),
        (
            "a string in a list",
            file(1, "{'descr': [('a', '<f4)]", &[]),
            "invalid .npy file: bad header: a string has no end",
        ),
        ("more ends than lists", file(1, "{'descr': [])], ", &[]), NO_DICTIONARY),
        ("long header", file(2, &" ".repeat(10_001), &[]), "the header has 10001 bytes, the limit is 10000"),
        ("many axes", shape(&format!("({})", "1, ".repeat(65))), "the array has more than 64 axes"),
    ];
    for (what, bytes, message) in cases {
        let error = NpyArray::read(&bytes, None).expect_err(what).to_string();
        assert_eq!(error, message, "{what}");
    }
}

/// The header of any dtype is read, also where no cast can read the data.
#[test]
fn headers_of_dtypes_that_have_no_element_type() {
    for (descr, dtype) in [
        ("'|O'", "|O"),
        ("'<M8[ns]'", "<M8[ns]"),
        ("'<V2'", "<V2"),
        ("[('a', '<f4'), ('b]', '<i2', (2, 3))]", "[('a', '<f4'), ('b]', '<i2', (2, 3))]"),
        (
            " [('x', [('y', '<f4')]), (('a \"title\"', 'z'), '|V4')]",
            "[('x', [('y', '<f4')]), (('a \"title\"', 'z'), '|V4')]",
        ),
    ] {
        let text = format!("{{'descr': {descr}, 'fortran_order': True, 'shape': (2, 3), }}");
        let header = NpyHeader::read(&file(1, &text, &[1, 2])).unwrap();
        assert_eq!((&header.dtype[..], &header.shape[..], header.column_major), (dtype, &[2, 3][..], true));
        assert_eq!(header.data_offset, 10 + text.len() as u64);
    }
    let pickle = NpyHeader::read(&b"pickle".to_vec()).unwrap_err();
    assert!(matches!(pickle.cause(), FileCause::Malformed(_)), "{pickle:?}");
    assert_eq!(pickle.format(), Some(".npy file"));
    // Names of fields: Latin-1 in versions 1 and 2, UTF-8 in version 3.
    let text = "{'descr': [('nä', '<f4')], 'fortran_order': False, 'shape': (), }";
    assert_eq!(NpyHeader::read(&file(3, text, &[])).unwrap().dtype, "[('nä', '<f4')]");
    for version in [1, 2] {
        // The two bytes of the letter in UTF-8.
        assert_eq!(NpyHeader::read(&file(version, text, &[])).unwrap().dtype, "[('nÃ¤', '<f4')]");
    }
    let mut latin = file(1, &text.replace('ä', "a"), &[]);
    let place = latin.windows(2).position(|bytes| bytes == b"na").unwrap();
    latin[place + 1] = 0xe4;
    assert_eq!(NpyHeader::read(&latin).unwrap().dtype, "[('nä', '<f4')]");
    latin[6] = 3;
    latin.splice(8..10, [latin[8], latin[9], 0, 0]);
    assert_eq!(NpyHeader::read(&latin).unwrap_err().to_string(), "invalid .npy file: bad header: it is not text");
}

/// A file of which only the header exists allocates nothing for what the header claims.
#[test]
fn a_large_array_is_planned_from_its_header() {
    struct Large(Vec<u8>);
    impl ReadAt for Large {
        fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
            self.0.read_exact_at(offset, buffer)
        }
        fn size(&self) -> std::io::Result<u64> {
            Ok(self.0.len() as u64 + (1 << 52))
        }
    }
    let file = Large(array("<f4", "(1125899906842624,)", &[]));
    let tensor = NpyArray::read(&file, None).unwrap().stored("", 0).unwrap();
    let plan = npy_plan(&tensor, ElementType::DOUBLE, &CastOptions::default(), NpyOrder::Keep).unwrap();
    assert_eq!(plan.bytes(), Some(128 + (1 << 53)));
    assert_eq!(stored(&golden("int16"), None).bytes(), Some(12));
    let large = StoredTensor { shape: vec![1 << 62], ..tensor.clone() };
    assert!(large.part(TensorStorage::packed(ElementType::INT8), &CastOptions::default()).is_none());
    assert!(large.keep(CodeStorage::BigEndian).is_none());
    let huge = StoredTensor { shape: vec![1 << 62], ..tensor };
    let plan = npy_plan(&huge, ElementType::DOUBLE, &CastOptions::default(), NpyOrder::Keep);
    let error = plan.unwrap_err();
    assert!(matches!(error.cause(), FileCause::TooLarge(_)), "{error:?}");
    assert_eq!(error.to_string(), "a size in bytes overflows");
}

#[test]
fn from_that_contradicts_the_file() {
    for (dtype, from, message) in [
        ("|u1", ElementType::BFLOAT16, "dtype '|u1' has 1 byte per element, bfloat16 needs 2"),
        ("<V2", ElementType::FLOAT, "dtype '<V2' has 2 bytes per element, float needs 4"),
        ("<i4", ElementType::FLOAT, "dtype '<i4' is int32, which contradicts float"),
        ("<f1", ElementType::FLOAT8E4M3FN, "dtype '<f1' is float8e5m2, which contradicts float8e4m3fn"),
        ("<U3", ElementType::FLOAT, "dtype '<U3' is string, which contradicts float"),
        ("|V1", ElementType::STRING, "expected a type of numbers, got string"),
        ("|V0", ElementType::STRING, "expected a type of numbers, got string"),
        ("|u1", ElementType::STRING, "dtype '|u1' is uint8, which contradicts string"),
    ] {
        let error = NpyArray::read(&array(dtype, "(1,)", &[0; 4]), Some(from)).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

fn error<T: std::fmt::Debug>(result: Result<T, FileError>) -> String {
    result.unwrap_err().to_string()
}

fn read_strings(file: &Vec<u8>) -> Result<Tensor, FileError> {
    NpyArray::read(file, None).unwrap().read_strings(file)
}

#[test]
fn strings_are_read_and_written_as_numpy_does() {
    let texts = ["", "a", "äöü", "𝄞", "NaN", "x y"];
    let expected = Tensor::from_strings([2, 3], texts).unwrap();
    for name in ["strings", "strings_big_endian", "strings_column_major", "strings_of_bytes"] {
        assert_eq!(read_strings(&golden(name)).unwrap(), expected, "{name}");
    }
    assert_eq!(write_strings(&expected).unwrap(), golden("strings"));
    let empty = Tensor::from_strings([2], ["", ""]).unwrap();
    assert_eq!(write_strings(&empty).unwrap(), golden("strings_of_no_character"));
    assert_eq!(read_strings(&golden("strings_of_no_character")).unwrap(), empty);
    let numbers = Tensor::from_slice([2], &[1.5f32, -100.0]).unwrap();
    let decimals = cpu::cast(&numbers, ElementType::STRING, &CastOptions::default()).unwrap();
    let file = write_strings(&decimals).unwrap();
    assert!(String::from_utf8_lossy(&file).contains("'<U6'"));
    assert_eq!(read_strings(&file).unwrap(), decimals);
    // More strings than are read at a time.
    let many = Tensor::from_strings([40_000], (0..40_000).map(|index| index.to_string())).unwrap();
    assert_eq!(read_strings(&write_strings(&many).unwrap()).unwrap(), many);
}

#[test]
fn strings_that_are_not_unicode() {
    let surrogate = array("<U1", "(2,)", &[b'a', 0, 0, 0, 0, 0xd8, 0, 0]);
    assert_eq!(error(read_strings(&surrogate)), "string 1 contains 0xd800, which is not a Unicode character");
    let beyond = array(">U1", "(1,)", &[0x7f, 0xff, 0xff, 0xff]);
    assert_eq!(error(read_strings(&beyond)), "string 0 contains 0x7fffffff, which is not a Unicode character");
    let latin = array("|S2", "(2,)", b"ab\xe4b");
    assert_eq!(error(read_strings(&latin)), "string 1 is not valid UTF-8");
    let inner = array("|S3", "(1,)", b"a\0b");
    assert_eq!(read_strings(&inner).unwrap(), Tensor::from_strings([1], ["a\0b"]).unwrap());
    let nul = Tensor::from_strings([2], ["a", "b\0"]).unwrap();
    assert_eq!(error(write_strings(&nul)), "string 1 ends with U+0000, which a .npy file cannot contain");
}

/// numpy has no such arrays: neither are they written, nor read where a caller describes one.
#[test]
fn arrays_of_strings_that_numpy_lacks() {
    let most = Tensor::from_strings([1; 64], ["a"]).unwrap();
    assert_eq!(read_strings(&write_strings(&most).unwrap()).unwrap(), most);
    let more = Tensor::from_strings([1; 65], ["a"]).unwrap();
    assert_eq!(error(write_strings(&more)), "the array has more than 64 axes");
    let elements = NpyElements::Strings(StringLayout { characters: Characters::Utf8, length: 0 });
    let array = NpyArray { elements, shape: vec![3], column_major: false, data_offset: 0 };
    assert_eq!(error(array.read_strings(&vec![])), "bad header: its strings have no length");
}

#[test]
fn strings_and_numbers_are_not_confused() {
    let (numbers, strings) = (golden("int16"), golden("strings"));
    assert_eq!(error(read_strings(&numbers)), "expected strings, got int16");
    let array = NpyArray::read(&strings, Some(ElementType::STRING)).unwrap();
    assert_eq!(error(array.stored("", 0)), "expected numbers, got string");
    let to_strings = npy_plan(&stored(&numbers, None), ElementType::STRING, &CastOptions::default(), NpyOrder::Keep);
    assert_eq!(error(to_strings), "expected numbers, got string");
    let tensor = Tensor::from_slice([1], &[1i16]).unwrap();
    assert_eq!(error(write_strings(&tensor)), "expected strings, got int16");
}

/// numpy leaves room for a longer first axis, and pads to 64 bytes. These shapes are next to a limit; numpy 2.4 writes headers of
/// these lengths.
#[test]
fn headers_leave_the_room_that_numpy_leaves() {
    for (ones, length) in [(13, 128), (35, 256)] {
        let shape = [vec![10], vec![1; ones]].concat();
        let tensor = StoredTensor { shape, ..stored(&golden("int16"), None) };
        let plan = npy_plan(&tensor, ElementType::INT16, &CastOptions::default(), NpyOrder::Keep).unwrap();
        assert_eq!(plan.parts[0].bytes(), Some(length));
    }
}
