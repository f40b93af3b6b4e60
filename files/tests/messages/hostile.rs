//! `TensorProto`s that are wrong: each a typed error that says what, before any memory is taken for what is not there.

use wgpu_cast::ElementType;
use wgpu_cast_files::FileCause;
use wgpu_cast_files::onnx::NamedTensor;

use crate::wire::*;

const FLOAT: i32 = 1;
const STRING: i32 = 8;

/// What is wrong with the tensor "t". More than this much memory is not taken to find out.
fn fault(message: &Message) -> String {
    let bytes = message.0.clone();
    let mut result = None;
    let peak = allocation_counter::measure(|| result = Some(NamedTensor::from_bytes(bytes, None))).bytes_max;
    assert!(peak <= 4 << 10, "{peak} bytes for {message:02x?}");
    match result.unwrap() {
        Err(error) if error.tensor() == Some("t") => error.cause().to_string(),
        other => panic!("{other:?}: {message:02x?}"),
    }
}

/// The text for data of a wrong length.
fn length(field: &str, unit: &str, expected: u64, found: u64) -> String {
    let unit = match (expected, unit) {
        (1, "entries") => "entry",
        (1, "bytes") => "byte",
        _ => unit,
    };
    format!("{field}: expected {expected} {unit} from dims and data_type, got {found}")
}

#[test]
fn types_that_casts_do_not_take() {
    for code in [0, 14, 15, 99, -1, i32::MIN, i32::MAX] {
        assert_eq!(
            fault(&tensor(code, &[1]).bytes(RAW_DATA, [0; 8])),
            format!("data_type {code} is not supported by Cast")
        );
    }
    assert_eq!(fault(&message().bytes(NAME, "t").bytes(RAW_DATA, [0; 4])), "data_type 0 is not supported by Cast");
}

#[test]
fn negative_dims() {
    for (dims, axis, dim) in [(&[-1][..], 0, -1), (&[2, -3], 1, -3), (&[0, i64::MIN], 1, i64::MIN), (&[-2, -2], 0, -2)]
    {
        for t in [FLOAT, STRING] {
            assert_eq!(
                fault(&tensor(t, dims).bytes(RAW_DATA, [0; 16])),
                format!("dimension {axis} is negative: {dim}")
            );
        }
    }
}

/// Every result has the shape of its source, so that many dimensions would take memory many times.
#[test]
fn more_dims_than_any_array_has() {
    for t in [FLOAT, STRING] {
        assert_eq!(fault(&tensor(t, &[1; 65])), "dims has 65 dimensions, the limit is 64");
        assert_eq!(fault(&tensor(t, &[-1; 70])), "dims has 70 dimensions, the limit is 64");
    }
    let most = tensor(FLOAT, &[1; 64]).bytes(RAW_DATA, [0, 0, 0x80, 0x3f]);
    let NamedTensor { tensor, .. } = NamedTensor::from_bytes(most.0, None).unwrap();
    assert_eq!((tensor.shape(), tensor.to_vec::<f32>().unwrap()), (&[1; 64][..], vec![1.0]));
}

#[test]
fn dims_that_cannot_be_counted() {
    let double = ElementType::DOUBLE.onnx_code();
    for (t, dims) in [
        (FLOAT, &[1 << 62, 1 << 62][..]),
        (FLOAT, &[1 << 40, 1 << 40]),
        (FLOAT, &[1 << 32, 1 << 32]),
        (STRING, &[1 << 40, 1 << 40]),
        (ElementType::INT2.onnx_code(), &[i64::MAX, 3]),
        // So many elements can be counted, their bytes cannot.
        (FLOAT, &[i64::MAX]),
        (double, &[1 << 61]),
        (double, &[1 << 31, 1 << 30]),
    ] {
        let expected = format!("dims {dims:?} are too large: the tensor's size overflows", dims = dims.to_vec());
        assert_eq!(fault(&tensor(t, dims)), expected);
        assert_eq!(fault(&tensor(t, dims).bytes(RAW_DATA, [0; 16])), expected);
    }
}

#[test]
fn raw_data_is_as_long_as_dims_and_type_say() {
    for &t in ElementType::ALL.iter().filter(|t| t.is_numeric()) {
        for count in [1, 3, 5] {
            let expected = t.packed_bytes(count).unwrap();
            for found in [expected - 1, expected + 1, 2 * expected + 1] {
                let message = tensor(t.onnx_code(), &[count as i64]).bytes(RAW_DATA, vec![0; found as usize]);
                let expected = match found {
                    // Empty raw_data is none.
                    0 => length(own_field(t), "entries", 1, 0),
                    _ => length("raw_data", "bytes", expected, found),
                };
                assert_eq!(fault(&message), expected, "{t}");
            }
        }
        assert_eq!(fault(&tensor(t.onnx_code(), &[0]).bytes(RAW_DATA, [0])), length("raw_data", "bytes", 0, 1));
    }
}

fn own_field(t: ElementType) -> &'static str {
    match t {
        ElementType::FLOAT => "float_data",
        ElementType::DOUBLE => "double_data",
        ElementType::INT64 => "int64_data",
        ElementType::UINT32 | ElementType::UINT64 => "uint64_data",
        ElementType::STRING => "string_data",
        _ => "int32_data",
    }
}

/// One entry of a field, and the field's name.
fn entry_of(field: u64) -> (Message, &'static str) {
    match field {
        FLOAT_DATA => (message().fixed32(FLOAT_DATA, 0), "float_data"),
        INT32_DATA => (message().int(INT32_DATA, 0), "int32_data"),
        STRING_DATA => (message().bytes(STRING_DATA, ""), "string_data"),
        INT64_DATA => (message().int(INT64_DATA, 0), "int64_data"),
        RAW_DATA => (message().bytes(RAW_DATA, [0]), "raw_data"),
        DOUBLE_DATA => (message().fixed64(DOUBLE_DATA, 0), "double_data"),
        UINT64_DATA => (message().int(UINT64_DATA, 0), "uint64_data"),
        _ => (message().bytes(EXTERNAL_DATA, entry("location", "x")).int(DATA_LOCATION, 1), "external_data"),
    }
}

const FIELDS: [u64; 8] =
    [EXTERNAL_DATA, RAW_DATA, FLOAT_DATA, INT32_DATA, STRING_DATA, INT64_DATA, DOUBLE_DATA, UINT64_DATA];

#[test]
fn the_own_field_has_as_many_entries_as_dims_and_type_say() {
    for &t in ElementType::ALL {
        let field = FIELDS.into_iter().find(|&field| entry_of(field).1 == own_field(t)).unwrap();
        let entries = |count: usize| entry_of(field).0.0.repeat(count);
        // Of types of 2 and 4 bits each entry is a packed byte.
        let expected = if matches!(t.bits(), Some(2 | 4)) { t.packed_bytes(9).unwrap() } else { 9 };
        for found in [0, 1, expected as usize - 1, expected as usize + 1, 40] {
            let message = tensor(t.onnx_code(), &[9]).raw(entries(found));
            assert_eq!(fault(&message), length(own_field(t), "entries", expected, found as u64), "{t}");
        }
        let empty = tensor(t.onnx_code(), &[4, 0]).raw(entries(1));
        assert_eq!(fault(&empty), length(own_field(t), "entries", 0, 1), "{t}");
    }
}

#[test]
fn two_fields_with_data() {
    for (place, &first) in FIELDS.iter().enumerate() {
        for &second in &FIELDS[place + 1..] {
            for t in ElementType::ALL {
                let ((one, first), (other, second)) = (entry_of(first), entry_of(second));
                let message = tensor(t.onnx_code(), &[1]).raw(other).raw(one);
                assert_eq!(fault(&message), format!("both {first} and {second} contain data"), "{t}");
            }
        }
    }
}

#[test]
fn the_field_of_another_type() {
    for &t in ElementType::ALL {
        for field in &FIELDS[2..] {
            let (entry, field) = entry_of(*field);
            if field != own_field(t) {
                let expected = format!("{field} cannot contain data of {t}");
                assert_eq!(fault(&tensor(t.onnx_code(), &[1]).raw(entry.clone())), expected);
                assert_eq!(fault(&tensor(t.onnx_code(), &[0]).raw(entry)), expected);
            }
        }
    }
    for (field, name) in [(RAW_DATA, "raw_data"), (EXTERNAL_DATA, "external_data")] {
        let expected = format!("{name} cannot contain data of string");
        assert_eq!(fault(&tensor(STRING, &[1]).raw(entry_of(field).0)), expected);
    }
}

#[test]
fn values_that_are_no_code_of_the_type() {
    use ElementType::*;
    for (t, values) in [
        (UINT8, &[300, 256, -1][..]),
        (INT8, &[128, -129, 255]),
        (UINT16, &[65536, -1, 1 << 30]),
        (INT16, &[32768, -32769]),
        (FLOAT16, &[65536, -32769]),
        (BFLOAT16, &[65536, i64::from(i32::MIN)]),
        (FLOAT8E4M3FN, &[256, -129]),
        (FLOAT8E4M3FNUZ, &[256]),
        (FLOAT8E5M2, &[256]),
        (FLOAT8E5M2FNUZ, &[256]),
        (FLOAT8E8M0, &[256, -129]),
        // Packed bytes.
        (INT4, &[256, -129]),
        (UINT4, &[256]),
        (FLOAT4E2M1, &[256, i64::from(i32::MAX)]),
        (INT2, &[256]),
        (UINT2, &[256, -129]),
        (FLOAT6E2M3, &[64, -33]),
        (FLOAT6E3M2, &[64, 255]),
    ] {
        for &value in values {
            let entries = if matches!(t.bits(), Some(2 | 4)) { 8 / i64::from(t.bits().unwrap()) } else { 1 };
            let message = tensor(t.onnx_code(), &[3 * entries]).packed(INT32_DATA, &[0, value, value]);
            let expected = format!("int32_data[1] is out of range for {t}: {value}");
            assert_eq!(fault(&message), expected);
        }
    }
    for value in [1 << 32, -1] {
        let message = tensor(UINT32.onnx_code(), &[1]).int(UINT64_DATA, value);
        let value = i128::from(value as u64);
        assert_eq!(
            fault(&message),
            format!("uint64_data[0] is out of range for {element_type}: {value}", element_type = UINT32)
        );
    }
}

#[test]
fn strings_that_are_not_utf8() {
    for wrong in [&b"\xff"[..], b"ab\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80"] {
        for index in 0..3 {
            let start = tensor(STRING, &[3]);
            let message = (0..3).fold(start, |m, i| m.bytes(STRING_DATA, if i == index { wrong } else { b"ok" }));
            assert_eq!(fault(&message), format!("string_data[{index}] is not valid UTF-8"));
        }
    }
}

#[test]
fn data_that_is_in_neither_place() {
    for segment in [message(), message().int(1, 0).int(2, 4)] {
        let message = tensor(FLOAT, &[1]).bytes(RAW_DATA, [0; 4]).bytes(SEGMENT, segment);
        assert_eq!(fault(&message), "tensor segments are not supported");
    }
    for code in [7, 2, -1, i32::MAX] {
        let message = tensor(FLOAT, &[1]).bytes(RAW_DATA, [0; 4]).int(DATA_LOCATION, code.into());
        assert_eq!(
            fault(&message),
            format!("data_location is {code}, expected 0 (DEFAULT) without external_data or 1 (EXTERNAL) with it")
        );
    }
    let unsaid = tensor(FLOAT, &[1]).bytes(EXTERNAL_DATA, entry("location", "x"));
    assert_eq!(
        fault(&unsaid),
        "data_location is 0, expected 0 (DEFAULT) without external_data or 1 (EXTERNAL) with it"
    );
}

#[test]
fn little_memory_for_large_dims() {
    for (t, field) in [(FLOAT, "float_data"), (STRING, "string_data"), (9, "int32_data")] {
        for dims in [&[1 << 31][..], &[1 << 20, 1 << 20], &[1, 1 << 40]] {
            let message = tensor(t, dims);
            assert!(message.0.len() <= 30);
            assert_eq!(fault(&message), length(field, "entries", dims.iter().product::<i64>() as u64, 0));
        }
    }
}

#[test]
fn every_truncation_is_an_error() {
    let dims = message().packed(DIMS, &[2, 2]).int(DATA_TYPE, 1).bytes(NAME, "a name").bytes(12, "text");
    let ends = [
        tensor(FLOAT, &[4]).bytes(RAW_DATA, [1; 16]),
        dims.bytes(FLOAT_DATA, [1; 16]),
        tensor(7, &[4]).packed(INT64_DATA, &[-1, 1 << 40, 3, 4]),
        tensor(13, &[2]).ints(UINT64_DATA, &[-1, 1 << 40]),
        tensor(11, &[2]).fixed64(DOUBLE_DATA, 1).fixed64(DOUBLE_DATA, 2),
        tensor(2, &[2]).packed(INT32_DATA, &[200, 100]),
        tensor(STRING, &[2]).bytes(STRING_DATA, "ab").bytes(STRING_DATA, "cd"),
        tensor(FLOAT, &[1]).int(DATA_LOCATION, 1).bytes(EXTERNAL_DATA, entry("location", "nowhere")),
    ];
    for message in ends {
        for end in 0..message.0.len() {
            let error = NamedTensor::from_bytes(message.0[..end].to_vec(), None).unwrap_err();
            assert!(error.tensor().is_some() || error.format() == Some("TensorProto"), "{end}: {error}");
        }
    }
}

#[test]
fn bytes_that_are_no_message() {
    for bytes in [
        &[0x80][..],
        &[0xff; 11],
        // A length beyond the end, near 2^63 and near 2^64.
        &[0x4a, 0x05, 0],
        &[0x4a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
        &[0x4a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        // Field 0, the wire types 6 and 7, a dim of bytes that are no numbers, a group that nothing ends.
        &[0x00, 0x01],
        &[0x0e],
        &[0x0f],
        &[0x0a, 0x01, 0x80],
        &[0x0d, 0, 0, 0, 0],
        &[0x63],
        &[0x64],
        // A name that is not UTF-8.
        &[0x42, 0x01, 0xff],
    ] {
        let error = NamedTensor::from_bytes(bytes.to_vec(), None).unwrap_err();
        assert!(matches!(error.cause(), FileCause::Malformed(_)), "{bytes:02x?}: {error:?}");
        assert_eq!(error.format(), Some("TensorProto"), "{bytes:02x?}: {error}");
    }
    // Groups in groups, deeper than anything goes.
    let error = NamedTensor::from_bytes(vec![0x63; 1 << 20], None).unwrap_err();
    assert_eq!(error.to_string(), "invalid TensorProto: the field at byte 0 has the invalid key 99");
}

#[test]
fn texts_count_entries_and_show_few_dims() {
    for (expected, amount) in [(1, "1 entry"), (2, "2 entries")] {
        let text = format!("float_data: expected {amount} from dims and data_type, got 0");
        assert_eq!(fault(&tensor(FLOAT, &[expected])), text);
    }
    for (dims, shown) in [(16, "1]"), (17, "1, …]")] {
        let dims = [vec![1 << 62, 1 << 62], vec![1; dims - 2]].concat();
        let ones = "1, ".repeat(13);
        let text = format!("dims [{0}, {0}, {ones}{shown} are too large: the tensor's size overflows", 1u64 << 62);
        assert_eq!(fault(&tensor(FLOAT, &dims)), text);
    }
}
