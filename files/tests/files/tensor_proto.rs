//! `.pb` files: what is copied and cast in place, and what is refused.

use std::io;

use wgpu_cast::{CastOptions, ElementType, Tensor, cpu};
use wgpu_cast_files::onnx::NamedTensor;
use wgpu_cast_files::{ReadAt, SourceRange, StoredTensor, TensorData, TensorMessage, TensorStorage, tensor_proto_plan};

use crate::plans::execute;
use crate::wire::*;

const FLOAT: i32 = 1;
const UINT8: i32 = 2;
const DOC_STRING: u64 = 12;

fn read(message: &Message) -> TensorMessage {
    TensorMessage::read(&message.0).unwrap_or_else(|error| panic!("{error}: {message:02x?}"))
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The `.pb` file of a message whose data is inline.
fn converted(message: &Message, from: Option<ElementType>, to: ElementType) -> Vec<u8> {
    let found = read(message);
    let TensorData::Inline(offset) = found.data else { panic!("not inline: {found:?}") };
    let kept =
        found.kept.iter().map(|range| SourceRange { input: 0, offset: range.start, bytes: range.end - range.start });
    let kept: Vec<SourceRange> = kept.collect();
    let tensor = found.stored(0, offset, from).unwrap();
    let plan = tensor_proto_plan(&tensor, to, &CastOptions::default(), &kept).unwrap();
    execute(&plan, &[&message.0 as &dyn ReadAt])
}

#[test]
fn data_in_one_range_is_cast_where_it_is() {
    let values = floats(&[1.0, -2.0, 0.5, 3.0, 4.0, 6.0]);
    for message in [
        tensor(FLOAT, &[2, 3]).bytes(RAW_DATA, &values),
        message().bytes(RAW_DATA, &values).int(DATA_TYPE, 1).packed(DIMS, &[2, 3]).bytes(NAME, "t"),
        tensor(FLOAT, &[2, 3]).bytes(FLOAT_DATA, &values),
        tensor(FLOAT, &[2, 3]).bytes(FLOAT_DATA, []).bytes(FLOAT_DATA, &values),
        // Fields without data are none.
        tensor(FLOAT, &[2, 3]).bytes(RAW_DATA, &values).bytes(INT64_DATA, []),
    ] {
        let found = NamedTensor::from_bytes(converted(&message, None, ElementType::FLOAT4E2M1), None);
        let whole = NamedTensor::from_bytes(message.0.clone(), None).unwrap();
        let expected = cpu::cast(&whole.tensor, ElementType::FLOAT4E2M1, &CastOptions::default()).unwrap();
        assert_eq!(found.unwrap(), NamedTensor { name: "t".to_owned(), tensor: expected });
    }
    let doubles = tensor(11, &[1]).bytes(DOUBLE_DATA, 2.0f64.to_le_bytes());
    let tensor = NamedTensor::from_bytes(converted(&doubles, None, ElementType::INT8), None).unwrap().tensor;
    assert_eq!(tensor, Tensor::from_slice([1], &[2i8]).unwrap());
}

#[test]
fn files_are_those_of_the_library_s_own_messages() {
    for (shape, name) in [(vec![], ""), (vec![3], "t"), (vec![2, 0, 300], "ä"), (vec![1; 64], "t")] {
        let elements = shape.iter().product::<usize>();
        let tensor = Tensor::from_codes(ElementType::INT4, shape, (0..elements as u64).map(|code| code + 1)).unwrap();
        let named = NamedTensor { name: name.to_owned(), tensor };
        let input = named.tensor.bytes().unwrap().to_vec();
        let shape = named.tensor.shape().iter().map(|&axis| axis as u64).collect();
        let storage = TensorStorage::packed(ElementType::INT4);
        let stored = StoredTensor { name: name.to_owned(), shape, input: 0, offset: 0, storage, column_major: false };
        let plan = tensor_proto_plan(&stored, ElementType::INT4, &CastOptions::default(), &[]).unwrap();
        assert_eq!(execute(&plan, &[&input as &dyn ReadAt]), named.into_bytes().unwrap());
    }
}

#[test]
fn other_fields_are_kept_byte_for_byte() {
    let other = message().bytes(DOC_STRING, "a text").int(1000, 5).bytes(16, "an entry");
    let source = message().raw(&other).raw(tensor(FLOAT, &[1]).bytes(RAW_DATA, floats(&[1.0])));
    let result = converted(&source, None, ElementType::BFLOAT16);
    assert!(result.ends_with(&other.0), "{result:02x?}");
    let named = NamedTensor::from_bytes(result, None).unwrap();
    assert_eq!((&named.name[..], named.tensor.bytes()), ("t", Some(&[0x80, 0x3f][..])));
}

#[test]
fn unsigned_integers_are_read_as_raw_codes() {
    let codes = tensor(UINT8, &[2]).bytes(RAW_DATA, [0x38, 0xc0]);
    let result = converted(&codes, Some(ElementType::FLOAT8E4M3FN), ElementType::FLOAT);
    let tensor = NamedTensor::from_bytes(result, None).unwrap().tensor;
    assert_eq!(tensor.to_vec::<f32>().unwrap(), [1.0, -2.0]);
    let found = read(&codes);
    for from in [ElementType::BFLOAT16, ElementType::INT4, ElementType::STRING] {
        let error = found.stored(0, 0, Some(from)).unwrap_err().to_string();
        assert_eq!(error, format!("contains uint8, which cannot be read as {from}"));
    }
    let float = crate::wire::tensor(FLOAT, &[1]).bytes(RAW_DATA, [0; 4]);
    assert!(read(&float).stored(0, 0, Some(ElementType::FLOAT)).is_ok());
    let packed = crate::wire::tensor(UINT8, &[2]).packed(INT32_DATA, &[0x38, 0xc0]);
    let tensor = read(&packed).read_tensor(&packed.0, Some(ElementType::FLOAT8E4M3FN)).unwrap().tensor;
    assert_eq!((tensor.element_type(), tensor.bytes()), (ElementType::FLOAT8E4M3FN, Some(&[0x38, 0xc0][..])));
}

#[test]
fn what_is_not_in_one_range_is_read_as_before() {
    let two_ranges = floats(&[1.0, -2.0]);
    for message in [
        tensor(FLOAT, &[2]).bytes(FLOAT_DATA, &two_ranges[..4]).bytes(FLOAT_DATA, &two_ranges[4..]),
        tensor(FLOAT, &[1]).fixed32(FLOAT_DATA, 5),
        tensor(6, &[2]).packed(INT32_DATA, &[1, -2]),
        tensor(8, &[2]).bytes(STRING_DATA, "a").bytes(STRING_DATA, "b"),
        tensor(FLOAT, &[0]),
        tensor(6, &[3]).packed(INT32_DATA, &[1, -2]),
        tensor(6, &[2]).packed(INT32_DATA, &[1, -2, 3]),
        tensor(2, &[1]).int(INT32_DATA, 256),
        tensor(8, &[1]).bytes(STRING_DATA, [0xff]),
    ] {
        let found = read(&message);
        assert_eq!(found.data, TensorData::Fields, "{message:02x?}");
        let expected = NamedTensor::from_bytes(message.0.clone(), None);
        match (found.read_tensor(&message.0, None), expected) {
            (Ok(tensor), Ok(expected)) => assert_eq!(tensor, expected),
            (Err(error), Err(expected)) => assert_eq!(error.to_string(), expected.to_string()),
            (found, expected) => panic!("{found:?}, not {expected:?}"),
        }
    }
}

#[cfg(any(unix, windows))]
#[test]
fn external_data_is_a_range_of_another_input() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.bin"), [0, 0, 0x38, 0xc0]).unwrap();
    let external = |location: &str, offset: &str| {
        let start = tensor(UINT8, &[2]).int(DATA_LOCATION, 1);
        start.bytes(EXTERNAL_DATA, entry("location", location)).bytes(EXTERNAL_DATA, entry("offset", offset))
    };
    let message = external("x.bin", "2");
    let found = read(&message);
    assert_eq!(found.data, TensorData::External);
    assert_eq!(found.external_file(), "x.bin");
    let (file, offset) = found.open_external(folder.path()).unwrap();
    let tensor = found.stored(1, offset, Some(ElementType::FLOAT8E4M3FN)).unwrap();
    let plan = tensor_proto_plan(&tensor, ElementType::FLOAT, &CastOptions::default(), &[]).unwrap();
    let result = NamedTensor::from_bytes(execute(&plan, &[&message.0, &file]), None).unwrap();
    assert_eq!(result.tensor.to_vec::<f32>().unwrap(), [1.0, -2.0]);
    for (location, offset, expected) in
        [("x.bin", "3", "2 bytes at offset 3 exceed the file's size of 4"), ("y.bin", "2", "cannot read: ")]
    {
        let message = external(location, offset);
        let error = read(&message).open_external(folder.path()).map(drop).unwrap_err().to_string();
        let expected = format!("tensor \"t\": external_data location {location:?}: {expected}");
        assert!(error.starts_with(&expected), "{error}");
    }
    for location in ["../x.bin", "/x.bin"] {
        let error = TensorMessage::read(&external(location, "2").0).unwrap_err().to_string();
        let expected = format!("external_data location {location:?} is not a relative path inside the model's folder");
        assert_eq!(error, format!("tensor \"t\": {expected}"));
    }
}

#[test]
fn hostile_messages() {
    let many = vec![1; 100_000];
    for (message, error) in [
        (tensor(FLOAT, &[2]).bytes(RAW_DATA, [0; 4]), "raw_data: expected 8 bytes from dims and data_type, got 4"),
        (
            tensor(FLOAT, &[2]).bytes(FLOAT_DATA, [0; 4]),
            "float_data: expected 2 entries from dims and data_type, got 1",
        ),
        (tensor(FLOAT, &[3]), "float_data: expected 3 entries from dims and data_type, got 0"),
        (tensor(FLOAT, &[1]).bytes(RAW_DATA, [0; 4]).int(INT64_DATA, 1), "both raw_data and int64_data contain data"),
        (
            tensor(FLOAT, &[1]).bytes(RAW_DATA, [0; 4]).bytes(FLOAT_DATA, [0; 4]),
            "both raw_data and float_data contain data",
        ),
        (
            tensor(FLOAT, &[1]).bytes(RAW_DATA, [0; 4]).bytes(EXTERNAL_DATA, entry("location", "x")),
            "both external_data and raw_data contain data",
        ),
        (tensor(FLOAT, &[1]).bytes(EXTERNAL_DATA, entry("location", "x")), "data_location is 0, expected 0 (DEFAULT)"),
        (tensor(FLOAT, &[1]).bytes(DOUBLE_DATA, [0; 8]), "double_data cannot contain data of float"),
        (tensor(8, &[1]).bytes(RAW_DATA, [0; 4]), "raw_data cannot contain data of string"),
        (tensor(FLOAT, &[1]).bytes(RAW_DATA, [0; 4]).int(DATA_LOCATION, 7), "data_location is 7"),
        (tensor(FLOAT, &[-1]), "dimension 0 is negative: -1"),
        (tensor(FLOAT, &[1 << 40, 1 << 40]), "are too large"),
        (tensor(FLOAT, &[i64::MAX]), "are too large"),
        (tensor(0, &[1]), "data_type 0 is not supported"),
        (tensor(14, &[1]), "data_type 14 is not supported"),
        (tensor(FLOAT, &[1]).bytes(SEGMENT, []), "tensor segments are not supported"),
        (tensor(FLOAT, &many), "tensor \"t\": dims has 100000 dimensions, the limit is 64"),
        (tensor(FLOAT, &[]).packed(DIMS, &many), "tensor \"t\": dims has 100000 dimensions, the limit is 64"),
        (tensor(FLOAT, &[]).packed(DIMS, &[1; 65]), "tensor \"t\": dims has 65 dimensions, the limit is 64"),
        // A varint of more than 64 bits.
        (message().bytes(DIMS, [&[0xff; 9][..], &[2]].concat()), "the field at byte 2 has an invalid varint"),
        (message().bytes(DIMS, [0x80]), "invalid TensorProto: the field at byte 2 has an invalid varint"),
        (message().bytes(NAME, [0xff]), "invalid TensorProto: the field 8 is not valid UTF-8"),
        (message().fixed32(DATA_TYPE, 1), "invalid TensorProto: the field 2 has an unexpected wire type"),
        (message().raw([0x4a, 0xff, 0xff, 0xff, 0xff, 7]), "the field at byte 0 ends beyond its message"),
    ] {
        let found = TensorMessage::read(&message.0).unwrap_err().to_string();
        assert!(found.contains(error), "{error}: {found}");
    }
}

/// A message of 2 GiB less one byte, of which only the beginning and the end exist.
#[test]
fn a_large_message_is_planned_from_its_keys() {
    struct Large(Vec<u8>, u64);
    impl ReadAt for Large {
        fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
            assert!(buffer.len() < 1 << 16, "only keys are read");
            let from = usize::try_from(offset).unwrap().min(self.0.len());
            let held = (self.0.len() - from).min(buffer.len());
            buffer.fill(0);
            buffer[..held].copy_from_slice(&self.0[from..from + held]);
            Ok(())
        }
        fn size(&self) -> io::Result<u64> {
            Ok(self.1)
        }
    }
    // With a header of 18 bytes.
    let elements = (1i64 << 31) - 19;
    let start = message().packed(DIMS, &[elements]).int(DATA_TYPE, UINT8.into());
    let mut start = start.bytes(NAME, "t").raw([0x4a]).0;
    let mut length = elements as u64;
    while length >= 0x80 {
        start.push(length as u8 | 0x80);
        length >>= 7;
    }
    start.push(length as u8);
    let size = start.len() as u64 + elements as u64;
    let input = Large(start, size);
    let found = TensorMessage::read(&input).unwrap();
    let tensor = found.stored(0, 30, None).unwrap();
    let plan = |to| tensor_proto_plan(&tensor, to, &CastOptions::default(), &[]);
    assert_eq!(plan(ElementType::INT8).unwrap().bytes(), Some(size));
    let too_large =
        |bytes: u64| format!("the message would have {bytes} bytes; protobuf messages must be smaller than 2 GiB");
    let planned = plan(ElementType::INT16).unwrap_err().to_string();
    assert_eq!(planned, format!("tensor \"t\": {}", too_large(size + elements as u64)));
    let beyond = TensorMessage::read(&Large(input.0, 1 << 31)).unwrap_err();
    assert_eq!(beyond.to_string(), too_large(1 << 31));
    assert_eq!(plan(ElementType::STRING).unwrap_err().to_string(), "expected numbers, got string");
}

/// Fields of two bytes each, which take no memory of their own where they follow one another.
#[test]
fn memory_does_not_follow_the_number_of_fields() {
    const COUNT: usize = 1 << 20;
    let whole = |fields: &[u8]| Message(fields.repeat(COUNT)).raw(tensor(FLOAT, &[1]).bytes(RAW_DATA, [0; 4]));
    let (doc, values) = ([0x62, 0], [0x28, 1]);
    let places = |count| {
        let fields = [doc, [0x2a, 0]].concat().repeat(count);
        Message(fields).raw(tensor(FLOAT, &[1]).bytes(RAW_DATA, [0; 4]))
    };
    assert_eq!(read(&places(64)).kept.len(), 64);
    assert!(TensorMessage::read(&places(65).0).is_err());
    let source = whole(&doc);
    let info = allocation_counter::measure(|| {
        assert_eq!(read(&source).kept.iter().map(|range| range.end - range.start).sum::<u64>(), 2 * COUNT as u64);
    });
    assert!(info.bytes_max < 1 << 20, "{info:?}");
    for (fields, error) in [
        ([doc, [0x70, 0]], "the field 14 is given twice"),
        ([doc, values], "the data lies in more than 64 places between other fields"),
        ([doc, [0x10, 1]], "the field 2 is given twice"),
        ([doc, [0x42, 0]], "the field 8 is given twice"),
        ([[0x6a, 0], [0x6a, 0]], "both external_data and raw_data contain data"),
    ] {
        let source = whole(&fields.concat());
        let info = allocation_counter::measure(|| {
            let found = TensorMessage::read(&source.0).unwrap_err().to_string();
            assert!(found.contains(error), "{found}");
        });
        assert!(info.bytes_max < 1 << 20, "{info:?}");
    }
}
