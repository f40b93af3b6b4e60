//! What `TensorProto`s mean: every type, every way to hold its data.

use wgpu_cast::{Bytes, ElementType, Kind, Tensor};
use wgpu_cast_files::onnx::NamedTensor;

use crate::wire::*;

fn read(message: &Message) -> NamedTensor {
    NamedTensor::from_bytes(message.0.clone(), None).unwrap_or_else(|error| panic!("{error}: {message:02x?}"))
}

fn numeric() -> impl Iterator<Item = (ElementType, u32)> {
    ElementType::ALL.iter().filter_map(|&t| Some((t, t.bits()?)))
}

/// Codes of all widths with bits in every place; true and false for BOOL.
fn codes(t: ElementType, count: usize) -> Vec<u64> {
    let mask = if t == ElementType::BOOL { 1 } else { u64::MAX >> (64 - t.bits().unwrap()) };
    (1..=count as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(i as u32) & mask).collect()
}

/// The bits of the codes one after another, the low ones first, in as many bytes as that takes.
fn packed(bits: u32, codes: &[u64]) -> Vec<u8> {
    let mut bytes = vec![0; (codes.len() * bits as usize).div_ceil(8)];
    for (index, code) in codes.iter().enumerate() {
        for bit in (0..bits as usize).filter(|bit| code >> bit & 1 == 1) {
            let place = index * bits as usize + bit;
            bytes[place / 8] |= 1 << (place % 8);
        }
    }
    bytes
}

/// The field of a type's values and what stands in it for some codes.
fn field(t: ElementType, codes: &[u64]) -> (u64, Vec<i64>) {
    let bits = t.bits().unwrap();
    let entry = |&code: &u64| match t.kind() {
        Kind::Int { signed: true } => (code << (64 - bits)) as i64 >> (64 - bits),
        _ => code as i64,
    };
    let entries = codes.iter().map(entry).collect();
    match (t.kind(), bits) {
        (Kind::Float(_), 32) => (FLOAT_DATA, entries),
        (Kind::Float(_), 64) => (DOUBLE_DATA, entries),
        (Kind::Int { signed: true }, 64) => (INT64_DATA, entries),
        (Kind::Int { signed: false }, 32 | 64) => (UINT64_DATA, entries),
        (_, 2 | 4) => (INT32_DATA, packed(bits, codes).into_iter().map(Into::into).collect()),
        _ => (INT32_DATA, entries),
    }
}

/// Entries one by one, each with its tag.
fn one_by_one(message: Message, field: u64, entries: &[i64]) -> Message {
    entries.iter().fold(message, |message, &entry| match field {
        FLOAT_DATA => message.fixed32(field, entry as u32),
        DOUBLE_DATA => message.fixed64(field, entry as u64),
        _ => message.int(field, entry),
    })
}

/// All entries under one tag.
fn together(message: Message, field: u64, entries: &[i64]) -> Message {
    match field {
        FLOAT_DATA => message.bytes(field, entries.iter().flat_map(|e| (*e as u32).to_le_bytes()).collect::<Vec<_>>()),
        DOUBLE_DATA => message.bytes(field, entries.iter().flat_map(|e| e.to_le_bytes()).collect::<Vec<_>>()),
        _ => message.packed(field, entries),
    }
}

#[test]
fn raw_data_holds_every_numeric_type() {
    for (t, bits) in numeric() {
        for count in [1, 2, 3, 5, 17] {
            let codes = codes(t, count);
            let message = tensor(t.onnx_code(), &[1, count as i64]).bytes(RAW_DATA, packed(bits, &codes));
            let NamedTensor { name, tensor } = read(&message);
            assert_eq!((name.as_str(), tensor.element_type(), tensor.shape()), ("t", t, &[1, count][..]));
            assert!(tensor.codes().eq(codes), "{t} x {count}");
        }
    }
}

#[test]
fn raw_data_is_not_copied_where_it_is_most_of_the_message() {
    let codes = codes(ElementType::FLOAT, 1000);
    let message = tensor(1, &[1000]).bytes(RAW_DATA, packed(32, &codes));
    // Other fields after it, then more of them than data.
    for (other, is_shared) in [(10, true), (10_000, false)] {
        let bytes = message.clone().bytes(12, vec![b'x'; other]).0;
        let memory = bytes.as_ptr_range();
        let tensor = NamedTensor::from_bytes(bytes, None).unwrap().tensor;
        assert_eq!(memory.contains(&tensor.bytes().unwrap().as_ptr()), is_shared);
        assert!(tensor.codes().eq(codes.iter().copied()));
    }
}

#[test]
fn the_own_field_holds_every_numeric_type_with_its_entries_packed_or_not() {
    for (t, _) in numeric() {
        for count in [1, 2, 3, 5, 17] {
            let codes = codes(t, count);
            let (field, entries) = field(t, &codes);
            let (first, second) = entries.split_at(entries.len() / 2);
            let start = || tensor(t.onnx_code(), &[count as i64]);
            for message in [
                one_by_one(start(), field, &entries),
                together(start(), field, &entries),
                // Writers need not keep to one way.
                together(one_by_one(start(), field, first), field, second),
                together(together(start(), field, first), field, second),
            ] {
                let tensor = read(&message).tensor;
                assert_eq!((tensor.element_type(), tensor.len()), (t, count));
                assert!(tensor.codes().eq(codes.iter().copied()), "{t} x {count}: {message:02x?}");
            }
        }
    }
}

#[test]
fn int32_data_of_other_writers() {
    use ElementType::*;
    for (t, entries, expected) in [
        // Any number but 0 is true.
        (BOOL, &[0, 1, 2, -1, i64::from(i32::MIN), 256][..], &[0, 1, 1, 1, 1, 1][..]),
        // Codes and packed bytes whose sign somebody extended.
        (FLOAT16, &[-1, -0x8000, 0xffff], &[0xffff, 0x8000, 0xffff]),
        (BFLOAT16, &[-0x4080], &[0xbf80]),
        (FLOAT8E5M2, &[-4, 0xfc], &[0xfc, 0xfc]),
        (INT4, &[-1, -128, 0x7f], &[15, 15, 0, 8, 15]),
        (UINT4, &[-16, 255, 1], &[0, 15, 15, 15, 1]),
        (FLOAT4E2M1, &[-2, 0x21, 3], &[14, 15, 1, 2, 3]),
        (INT2, &[-28, 0xe4], &[0, 1, 2, 3, 0]),
        // One code an entry, unlike those of 2 and 4 bits.
        (FLOAT6E2M3, &[63, 0, 1], &[63, 0, 1]),
        (FLOAT6E3M2, &[-1, 32, 31], &[63, 32, 31]),
    ] {
        let message = tensor(t.onnx_code(), &[expected.len() as i64]).packed(INT32_DATA, entries);
        assert_eq!(read(&message).tensor.codes().collect::<Vec<_>>(), expected, "{t} {entries:?}");
    }
    let largest = tensor(UINT32.onnx_code(), &[2]).packed(UINT64_DATA, &[0, 0xffff_ffff]);
    assert_eq!(read(&largest).tensor.to_vec::<u32>().unwrap(), [0, u32::MAX]);
}

#[test]
fn string_data_holds_strings() {
    let strings = ["", "1.5", "ä\u{1f600}\0", ""];
    let start = tensor(ElementType::STRING.onnx_code(), &[2, 2]);
    let message = strings.iter().fold(start, |message, string| message.bytes(STRING_DATA, string));
    let tensor = read(&message).tensor;
    assert_eq!((tensor.element_type(), tensor.shape()), (ElementType::STRING, &[2, 2][..]));
    assert!(tensor.strings().unwrap().eq(strings));
}

#[test]
fn no_elements_need_no_data() {
    for &t in ElementType::ALL {
        for dims in [&[0][..], &[3, 0, 1 << 62], &[i64::MAX, i64::MAX, 0]] {
            let message = tensor(t.onnx_code(), dims);
            let present = message.clone().bytes(RAW_DATA, "");
            let messages = if t.is_numeric() { vec![message, present] } else { vec![message] };
            for message in messages {
                let tensor = read(&message).tensor;
                assert_eq!((tensor.element_type(), tensor.len()), (t, 0));
                assert!(tensor.shape().iter().map(|&dim| dim as i64).eq(dims.iter().copied()));
            }
        }
    }
}

#[test]
fn no_dims_mean_one_element() {
    for (t, bits) in numeric() {
        let codes = codes(t, 1);
        let tensor = read(&tensor(t.onnx_code(), &[]).bytes(RAW_DATA, packed(bits, &codes))).tensor;
        assert_eq!((tensor.shape(), tensor.codes().collect::<Vec<_>>()), (&[][..], codes), "{t}");
    }
    let string = read(&tensor(ElementType::STRING.onnx_code(), &[]).bytes(STRING_DATA, "x")).tensor;
    assert_eq!(string.strings().unwrap().collect::<Vec<_>>(), ["x"]);
}

#[test]
fn dims_may_be_packed() {
    let fields = message().packed(DIMS, &[1, 2]).int(DIMS, 3).packed(DIMS, &[1]).int(DATA_TYPE, 3);
    let tensor = read(&fields.bytes(RAW_DATA, [1; 6])).tensor;
    assert_eq!((tensor.shape(), tensor.bytes()), (&[1, 2, 3, 1][..], Some(&[1; 6][..])));
}

#[test]
fn fields_that_casts_do_not_need_are_skipped() {
    let others = message().bytes(12, "a doc_string").bytes(16, entry("key", "value")).fixed32(100, 1).fixed64(101, 1);
    let others = others.int(102, -1).bytes(1000, [0xff; 40]);
    let message = others.clone().raw(tensor(2, &[3]).bytes(RAW_DATA, [1, 2, 3])).raw(others);
    assert_eq!(read(&message).tensor.to_vec::<u8>().unwrap(), [1, 2, 3]);
}

#[test]
fn pad_bits_are_ignored_and_written_as_zero() {
    for (t, bits) in numeric().filter(|(_, bits)| *bits < 8) {
        for count in [1, 2, 3, 5, 6, 7] {
            let codes = codes(t, count);
            let clean = packed(bits, &codes);
            let mut dirty = clean.clone();
            let used = (count * bits as usize - 1) % 8 + 1;
            *dirty.last_mut().unwrap() |= (0xff_u16 << used) as u8;
            let expected = Tensor::from_bytes(t, [count], clean).unwrap();
            let as_field = dirty.iter().map(|&byte| byte.into()).collect::<Vec<i64>>();
            let start = || tensor(t.onnx_code(), &[count as i64]);
            assert_eq!(read(&start().bytes(RAW_DATA, dirty)).tensor, expected, "{t} x {count}");
            if bits != 6 {
                assert_eq!(read(&start().packed(INT32_DATA, &as_field)).tensor, expected, "{t} x {count}");
            }
        }
    }
}

#[test]
fn what_is_written_is_read_again() {
    for &t in ElementType::ALL {
        for shape in [&[][..], &[1], &[3], &[7, 1], &[3, 5, 1], &[0], &[2, 0, 3], &[1, 1, 1, 1, 1]] {
            let count = shape.iter().product();
            let tensor = match t.bits() {
                Some(_) => Tensor::from_codes(t, shape, codes(t, count)),
                None => Tensor::from_strings(shape, (0..count).map(|i| "ä\n".repeat(i % 3))),
            };
            for name in ["", "x", "näme / \0"] {
                let named = NamedTensor { name: name.to_owned(), tensor: tensor.clone().unwrap() };
                let bytes = named.clone().into_bytes().unwrap();
                assert_eq!(NamedTensor::from_bytes(bytes, None).unwrap(), named);
            }
        }
    }
}

/// A tensor without elements may have an axis of any size; a message has 63 bits for it.
#[cfg(target_pointer_width = "64")]
/// Nothing is written for an owner that shows other bytes than the tensor was made of.
#[test]
fn shared_bytes_are_written_as_own_bytes_are() {
    let message = |tensor| NamedTensor { name: "x".to_owned(), tensor }.into_bytes();
    let shared = Tensor::from_shared(ElementType::UINT8, [2], Bytes::from_owner([1, 2])).unwrap();
    assert_eq!(message(shared).unwrap(), message(Tensor::from_slice([2], &[1u8, 2]).unwrap()).unwrap());
}

#[test]
fn an_axis_of_64_bits_cannot_be_written() {
    let tensor = Tensor::from_slice([0, usize::MAX], &[0.0f32; 0]).unwrap();
    let error = NamedTensor { name: "x".to_owned(), tensor }.into_bytes().unwrap_err();
    let expected = "tensor \"x\": dims [0, 9223372036854775807] are too large: the tensor's size overflows";
    assert_eq!(error.to_string(), expected);
}
