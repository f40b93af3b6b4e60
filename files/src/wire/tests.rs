use std::io;

use super::numbers::NO_FIELDS;
use super::*;
use crate::input::ReadAt;

/// An input that is not in memory.
struct Elsewhere(Vec<u8>);

impl ReadAt for Elsewhere {
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(offset, buffer)
    }
    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }
}

/// A message of a number, bytes and numbers.
static KIND: Kind = Kind::new("Kind", &[(1, Form::Number), (16, Form::Bytes), (4, Form::Floats), (5, Form::Numbers)]);

/// All items, or the text of the first error.
fn all<T>(items: impl Iterator<Item = Result<T, WireError>>) -> Result<Vec<T>, String> {
    items.collect::<Result<_, _>>().map_err(|error| error.to_string())
}

fn fields(bytes: &[u8]) -> Result<Vec<Field>, String> {
    let input = Elsewhere(bytes.to_vec());
    let range = 0..bytes.len() as u64;
    let found = all(Fields::new(&input, &KIND, range.clone()));
    assert_eq!(all(Fields::new(&input.0, &KIND, range)), found);
    found
}

#[test]
fn every_kind_of_field_is_read_and_written() {
    let mut bytes = Vec::new();
    put_number(&mut bytes, 1, u64::MAX);
    put_bytes(&mut bytes, 16, b"abc");
    bytes.extend([0x15, 1, 2, 3, 4, 0x19, 1, 2, 3, 4, 5, 6, 7, 8]);
    let found = fields(&bytes).unwrap();
    let expected = [
        (1, 0..11, Value::Varint(u64::MAX)),
        (16, 11..17, Value::Bytes(14..17)),
        (2, 17..22, Value::Fixed32(0x0403_0201)),
        (3, 22..31, Value::Fixed64(0x0807_0605_0403_0201)),
    ];
    assert_eq!(found, expected.map(|(number, range, value)| Field { number, range, value }));
    assert_eq!(fields(&[]).unwrap(), []);
}

#[test]
fn fields_beyond_the_window_are_found_without_reading_what_is_between() {
    // Only the keys of this input exist. Reading anything else fails.
    struct Keys;
    const GAP: u64 = 1 << 40;
    impl ReadAt for Keys {
        fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
            let mut start = Vec::new();
            put_length(&mut start, 9, GAP);
            let source = match offset {
                0 => start,
                _ => vec![8, 5],
            };
            assert!(offset == 0 || offset == GAP + 7);
            buffer.fill(0);
            let length = source.len().min(buffer.len());
            buffer[..length].copy_from_slice(&source[..length]);
            Ok(())
        }
        fn size(&self) -> io::Result<u64> {
            Ok(GAP + 9)
        }
    }
    let found: Vec<Field> = Fields::new(&Keys, &NO_FIELDS, 0..GAP + 9).collect::<Result<_, _>>().unwrap();
    assert_eq!(found[0].value, Value::Bytes(7..GAP + 7));
    assert_eq!((found[1].number, &found[1].value), (1, &Value::Varint(5)));
}

#[test]
fn invalid_fields_are_errors() {
    for (bytes, message) in [
        (&[0x08][..], "the field at byte 0 ends beyond its message"),
        (&[0x08, 0x80], "the field at byte 0 ends beyond its message"),
        (&[8, 1, 0x12, 2, 0], "the field at byte 2 ends beyond its message"),
        (&[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], "ends beyond its message"),
        (&[0x15, 1, 2, 3], "ends beyond its message"),
        (&[8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], "has an invalid varint"),
        (&[0x0b, 0x0c], "has the invalid key 11"),
        (&[0x0f, 0], "has the invalid key 15"),
        (&[0, 0], "has the invalid key 0"),
        (&[0x80, 0x80, 0x80, 0x80, 0x10, 0], "has the invalid key 4294967296"),
        (&[8, 1, 8, 1], "the field 1 is given twice"),
        (&[0x82, 1, 0, 8, 1, 0x82, 1, 0], "the field 16 is given twice"),
        (&[0x0a, 0], "the field 1 has an unexpected wire type"),
        (&[0x80, 1, 0], "the field 16 has an unexpected wire type"),
        (&[0x20, 0], "the field 4 has an unexpected wire type"),
        (&[0x2d, 0, 0, 0, 0], "the field 5 has an unexpected wire type"),
    ] {
        let error = fields(bytes).unwrap_err();
        assert!(error.contains(message), "{bytes:x?}: {error}");
    }
    let input = Elsewhere(vec![0; 10]);
    assert!(matches!(read_bytes(&input, &(0..10), 9), Err(WireError::TooLong { bytes: 10, limit: 9, .. })));
    assert_eq!(read_bytes(&input, &(8..10), 9).unwrap(), [0, 0]);
    assert_eq!(read_bytes(&input, &(0..9), 9).unwrap().len(), 9);
}

/// The numbers of a field, from memory and not.
fn numbers(bytes: &[u8], field: u32) -> Result<Vec<u64>, String> {
    let input = Elsewhere(bytes.to_vec());
    let range = 0..bytes.len() as u64;
    let found = all(Numbers::new(&input, &KIND, range.clone(), field));
    assert_eq!(all(Numbers::new(&input.0, &KIND, range, field)), found);
    found
}

#[test]
fn numbers_are_packed_or_not() {
    let mut bytes = vec![0x28, 7, 0x2a, 3, 1, 0x80, 1, 0x25, 9, 0, 0, 0, 0x2a, 0, 0x28, 0, 8, 3];
    bytes.extend([0x22, 8, 1, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(numbers(&bytes, 5), Ok(vec![7, 1, 128, 0]));
    assert_eq!(numbers(&bytes, 4), Ok(vec![9, 1, 2]));
    assert_eq!(numbers(&[8, 1, 0x2a, 2, 1, 0x80], 5), Err("the field at byte 4 has an invalid varint".to_owned()));
    assert_eq!(numbers(&[0x22, 5, 1, 0, 0, 0, 2], 4), Err("the field at byte 2 ends beyond its message".to_owned()));
    // More numbers than are read at a time.
    let mut long = Vec::new();
    put_bytes(&mut long, 5, &[1; 100_000]);
    assert_eq!(numbers(&long, 5), Ok(vec![1; 100_000]));
    // Of every length.
    let lengths: Vec<u64> = (0..64).map(|bit| 1 << bit).chain([u64::MAX, 0]).cycle().take(10_000).collect();
    let mut packed = Vec::new();
    lengths.iter().for_each(|&number| put_varint(&mut packed, number));
    let mut long = Vec::new();
    put_bytes(&mut long, 5, &packed);
    assert_eq!(numbers(&long, 5), Ok(lengths));
}

#[test]
fn unpacked_numbers_are_read_with_what_stands_between_them() {
    // Varints of every length, which no window divides evenly, and codes of four bytes.
    let lengths: Vec<u64> = (0..64).map(|bit| 1 << bit).chain([u64::MAX, 0]).cycle().take(10_000).collect();
    let (mut bytes, mut floats) = (Vec::new(), Vec::new());
    for (index, &number) in lengths.iter().enumerate() {
        put_number(&mut bytes, 5, number);
        if index % 3000 > 1000 {
            let code = (index as u32).to_le_bytes();
            bytes.push(4 << 3 | 5);
            bytes.extend(code);
            floats.push(index as u64);
        }
        if index % 777 == 0 {
            bytes.extend([0x98, 6, index as u8 & 0x7f]);
        }
    }
    let codes = (0..20_000u32).flat_map(|code| [4 << 3 | 5].into_iter().chain(code.to_le_bytes()));
    bytes.extend(codes);
    floats.extend(0..20_000);
    assert_eq!(numbers(&bytes, 5), Ok(lengths));
    assert_eq!(numbers(&bytes, 4), Ok(floats));
    // A key of two bytes where one is enough.
    assert_eq!(numbers(&[0x28, 1, 0xa8, 0, 2, 0x28, 3], 5), Ok(vec![1, 2, 3]));
    // What is wrong after some numbers is found where it is.
    for (end, message) in [
        (&[0x28][..], "the field at byte 4 ends beyond its message"),
        (&[0x28, 0x80], "the field at byte 4 ends beyond its message"),
        (&[0x28, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], "the field at byte 4 has an invalid varint"),
        (&[0x2d, 0, 0, 0, 0], "the field 5 has an unexpected wire type"),
    ] {
        let bytes = [&[0x28, 1, 0x28, 2], end].concat();
        assert_eq!(numbers(&bytes, 5), Err(message.to_owned()));
    }
    let cut = [&[0x25, 1, 0, 0, 0].repeat(3)[..], &[0x25, 1, 0, 0]].concat();
    assert_eq!(numbers(&cut, 4), Err("the field at byte 15 ends beyond its message".to_owned()));
}

/// Skipping fields that are alike would hide that a message gives one twice.
#[test]
fn fields_that_are_given_once_are_never_skipped() {
    let bytes = vec![8, 1, 8, 1];
    let mut fields = Fields::new(&bytes, &KIND, 0..4);
    let first = fields.next().unwrap().unwrap();
    assert_eq!(fields.alike(&first, usize::MAX, |_, _| ()), 0);
    assert_eq!(fields.next().unwrap().unwrap_err().to_string(), "the field 1 is given twice");
}
