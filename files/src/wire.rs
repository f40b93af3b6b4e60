//! Protobuf's wire format, read at any offset of an input. Only the fields' keys and lengths are read, so that a
//! message may be larger than the memory.

use std::io;
use std::ops::Range;

use super::input::ReadAt;

/// The number of bytes that are read at a time.
const WINDOW: u64 = 4096;

/// The longest varint in bytes.
const LONGEST_VARINT: usize = 10;

/// Why bytes are not a message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The input cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// A field ends beyond the end of its message.
    #[error("the field at byte {offset} ends beyond its message")]
    Truncated {
        /// The first byte of the field.
        offset: u64,
    },
    /// A varint has more than 64 bits.
    #[error("the field at byte {offset} has an invalid varint")]
    Varint {
        /// The first byte of the field.
        offset: u64,
    },
    /// The key of a field has a number or a wire type that protobuf does not allow, or is a group, which ONNX does not
    /// use.
    #[error("the field at byte {offset} has the invalid key {key}")]
    Key {
        /// The first byte of the field.
        offset: u64,
        /// The key: the field's number times 8, plus the wire type.
        key: u64,
    },
    /// A field that is kept in memory is too long.
    #[error("the field at byte {offset} has {bytes} bytes, the limit is {limit}")]
    TooLong {
        /// The first byte of the value.
        offset: u64,
        /// The length of the value in bytes.
        bytes: u64,
        /// The longest that is supported.
        limit: u64,
    },
    /// There is no memory for a field.
    #[error("out of memory (requested {bytes} bytes)")]
    OutOfMemory {
        /// Bytes that were requested.
        bytes: u64,
    },
}

/// A field of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// The field's number.
    pub number: u32,
    /// The bytes of the whole field in the input, with its key.
    pub range: Range<u64>,
    /// The value.
    pub value: Value,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// An integer, an enum or a bool.
    Varint(u64),
    /// A 64-bit integer, or the code of a double.
    Fixed64(u64),
    /// A 32-bit integer, or the code of a float.
    Fixed32(u32),
    /// The bytes of the input that are a string, a message, or packed numbers.
    Bytes(Range<u64>),
}

/// The fields of a message, in their order. After an error there are no further ones.
pub(super) struct Fields<'a> {
    input: &'a dyn ReadAt,
    position: u64,
    end: u64,
    window: Vec<u8>,
    window_start: u64,
}

impl<'a> Fields<'a> {
    /// The fields of the message in these bytes of the input. The range must lie inside the input.
    pub(super) fn new(input: &'a dyn ReadAt, message: Range<u64>) -> Self {
        Self { input, position: message.start, end: message.end, window: Vec::new(), window_start: message.start }
    }

    fn field(&mut self) -> Result<Field, WireError> {
        let start = self.position;
        let key = self.varint(start)?;
        let invalid = || WireError::Key { offset: start, key };
        let number = u32::try_from(key >> 3).ok().filter(|number| (1..1 << 29).contains(number)).ok_or_else(invalid)?;
        let value = match key & 7 {
            0 => Value::Varint(self.varint(start)?),
            1 => Value::Fixed64(u64::from_le_bytes(self.fixed(start)?)),
            2 => {
                let length = self.varint(start)?;
                let first = self.position;
                let end = first.checked_add(length).filter(|end| *end <= self.end);
                self.position = end.ok_or(WireError::Truncated { offset: start })?;
                Value::Bytes(first..self.position)
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.fixed(start)?)),
            _ => return Err(invalid()),
        };
        Ok(Field { number, range: start..self.position, value })
    }

    fn varint(&mut self, field: u64) -> Result<u64, WireError> {
        let mut value = 0u64;
        for index in 0..LONGEST_VARINT {
            let byte = self.byte(field)?;
            if index == LONGEST_VARINT - 1 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(WireError::Varint { offset: field })
    }

    fn fixed<const N: usize>(&mut self, field: u64) -> Result<[u8; N], WireError> {
        let mut bytes = [0; N];
        for byte in &mut bytes {
            *byte = self.byte(field)?;
        }
        Ok(bytes)
    }

    fn byte(&mut self, field: u64) -> Result<u8, WireError> {
        if self.position >= self.end {
            return Err(WireError::Truncated { offset: field });
        }
        let in_window = |fields: &Self| {
            let index = fields.position.checked_sub(fields.window_start)?;
            fields.window.get(usize::try_from(index).ok()?).copied()
        };
        let byte = match in_window(self) {
            Some(byte) => byte,
            None => {
                self.window.resize((self.end - self.position).min(WINDOW) as usize, 0);
                self.window_start = self.position;
                self.input.read_exact_at(self.position, &mut self.window)?;
                self.window[0]
            }
        };
        self.position += 1;
        Ok(byte)
    }
}

impl Iterator for Fields<'_> {
    type Item = Result<Field, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.position >= self.end {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.position = self.end;
        }
        Some(field)
    }
}

/// The numbers of a packed field.
pub(super) fn varints(input: &dyn ReadAt, packed: Range<u64>) -> impl Iterator<Item = Result<u64, WireError>> {
    let start = packed.start;
    let mut rest = Fields::new(input, packed);
    let number = move || {
        let number = (rest.position < rest.end).then(|| rest.varint(start))?;
        Some(number.map_err(|error| match error {
            WireError::Truncated { offset } => WireError::Varint { offset },
            error => error,
        }))
    };
    std::iter::from_fn(number)
}

/// The bytes of a range of the input, of which there may be `limit` at most.
pub(super) fn read_bytes(input: &dyn ReadAt, range: &Range<u64>, limit: u64) -> Result<Vec<u8>, WireError> {
    let bytes = range.end.saturating_sub(range.start);
    if bytes > limit {
        return Err(WireError::TooLong { offset: range.start, bytes, limit });
    }
    let out_of_memory = || WireError::OutOfMemory { bytes };
    let length = usize::try_from(bytes).map_err(|_| out_of_memory())?;
    let mut read = Vec::new();
    read.try_reserve_exact(length).map_err(|_| out_of_memory())?;
    read.resize(length, 0);
    input.read_exact_at(range.start, &mut read)?;
    Ok(read)
}

/// Appends a varint.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a field with a varint.
pub(super) fn put_number(out: &mut Vec<u8>, field: u32, value: u64) {
    put_varint(out, u64::from(field) << 3);
    put_varint(out, value);
}

/// Appends the key and the length of a field of `length` bytes, which are to follow.
pub(super) fn put_length(out: &mut Vec<u8>, field: u32, length: u64) {
    put_varint(out, u64::from(field) << 3 | 2);
    put_varint(out, length);
}

/// Appends a field of bytes.
pub(super) fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_length(out, field, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(bytes: &[u8]) -> Result<Vec<Field>, WireError> {
        let input = bytes.to_vec();
        Fields::new(&input, 0..input.len() as u64).collect()
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
        // Only the keys of this input exist; to read anything else is an error.
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
        let found: Vec<Field> = Fields::new(&Keys, 0..GAP + 9).collect::<Result<_, _>>().unwrap();
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
        ] {
            let error = fields(bytes).unwrap_err().to_string();
            assert!(error.contains(message), "{bytes:x?}: {error}");
        }
        let input = vec![0; 10];
        assert!(matches!(read_bytes(&input, &(0..10), 9), Err(WireError::TooLong { bytes: 10, limit: 9, .. })));
        assert_eq!(read_bytes(&input, &(8..10), 9).unwrap(), [0, 0]);
        assert_eq!(read_bytes(&input, &(0..9), 9).unwrap().len(), 9);
    }
}
