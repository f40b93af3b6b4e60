//! Protobuf's wire format (<https://protobuf.dev/programming-guides/encoding>), read at any offset of an input. The bytes of
//! strings and messages are skipped, so that a message may be larger than the memory. A field that a message can have once
//! is an error if it is given twice.

use std::borrow::Cow;
use std::io;
use std::ops::Range;

use super::input::ReadAt;

/// The number of bytes that are read at a time. A read that continues the one before is twice as long, up to
/// [`LONGEST_WINDOW`].
const WINDOW: usize = 4 << 10;
const LONGEST_WINDOW: usize = 32 << 10;

/// The longest varint in bytes.
const LONGEST_VARINT: usize = 10;

/// The longest text in bytes, such as a name.
const LONGEST_TEXT: u64 = 1 << 20;

/// Why bytes are not a message.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    /// The input cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// A field ends beyond the end of its message.
    #[error("the field at byte {offset} ends beyond its message")]
    Truncated {
        /// The first byte of the field.
        offset: u64,
    },
    /// A varint has more than 64 bits, or ends beyond its packed field.
    #[error("the field at byte {offset} has an invalid varint")]
    Varint {
        /// The first byte of the field.
        offset: u64,
    },
    /// The key of a field has a number or a wire type that protobuf does not allow, or the wire type of a group. ONNX has
    /// no groups.
    #[error("the field at byte {offset} has the invalid key {key}")]
    Key {
        /// The first byte of the field.
        offset: u64,
        /// The key: the field's number times 8, plus the wire type.
        key: u64,
    },
    /// A field has another wire type than ONNX gives it.
    #[error("the field {field} has an unexpected wire type")]
    FieldType {
        /// The number of the field.
        field: u32,
    },
    /// A field that a message can have once is given twice. Parsers of protobuf take the last one.
    #[error("the field {field} is given twice")]
    Repeated {
        /// The number of the field.
        field: u32,
    },
    /// A string, such as a name, is not valid UTF-8.
    #[error("the field {field} is not valid UTF-8")]
    Utf8 {
        /// The number of the field.
        field: u32,
    },
    /// A field that is kept in memory is too long.
    #[error("the field at byte {offset} has {bytes} bytes, the limit is {limit}")]
    TooLong {
        /// The first byte of the value.
        offset: u64,
        /// The length of the value in bytes.
        bytes: u64,
        /// The longest value that is supported, in bytes.
        limit: u64,
    },
    /// There is no memory for a field.
    #[error("out of memory (requested {bytes} bytes)")]
    OutOfMemory {
        /// The number of bytes that were requested.
        bytes: u64,
    },
}

/// A kind of message, with the forms of its known fields.
#[derive(Debug)]
pub(super) struct Kind {
    pub name: &'static str,
    forms: [Form; 32],
}

/// The values that a field can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Any value, any number of times: the field is not known.
    Any,
    /// An integer, an enum or a bool.
    Number,
    Float,
    /// A string or a message.
    Bytes,
    /// Any number of strings or messages.
    List,
    /// Any number of integers, packed or not.
    Numbers,
    Floats,
    Doubles,
}

impl Kind {
    /// A kind with these fields: their numbers, which are below 32, and their forms.
    pub(super) const fn new(name: &'static str, fields: &[(u32, Form)]) -> Self {
        let mut forms = [Form::Any; 32];
        let mut index = 0;
        while index < fields.len() {
            forms[fields[index].0 as usize] = fields[index].1;
            index += 1;
        }
        Self { name, forms }
    }

    fn form(&self, field: u32) -> Form {
        self.forms.get(field as usize).copied().unwrap_or(Form::Any)
    }
}

impl Form {
    fn is_given_once(self) -> bool {
        matches!(self, Form::Number | Form::Float | Form::Bytes)
    }

    fn allows(self, value: &Value) -> bool {
        match self {
            Form::Any => true,
            Form::Number => matches!(value, Value::Varint(_)),
            Form::Float => matches!(value, Value::Fixed32(_)),
            Form::Bytes | Form::List => matches!(value, Value::Bytes(_)),
            Form::Numbers => matches!(value, Value::Varint(_) | Value::Bytes(_)),
            Form::Floats => matches!(value, Value::Fixed32(_) | Value::Bytes(_)),
            Form::Doubles => matches!(value, Value::Fixed64(_) | Value::Bytes(_)),
        }
    }
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

impl Field {
    /// The bytes of a field of the form [`Form::Bytes`] or [`Form::List`], which always has bytes.
    pub(super) fn bytes(&self) -> Range<u64> {
        match &self.value {
            Value::Bytes(range) => range.clone(),
            _ => self.range.end..self.range.end,
        }
    }

    /// The number of a field of the form [`Form::Number`] or [`Form::Float`], which always has one.
    pub(super) fn number(&self) -> u64 {
        match self.value {
            Value::Varint(value) | Value::Fixed64(value) => value,
            Value::Fixed32(value) => value.into(),
            Value::Bytes(_) => 0,
        }
    }

    /// The text of a field of the form [`Form::Bytes`] or [`Form::List`].
    pub(super) fn text<'a>(&self, input: &'a dyn ReadAt) -> Result<Cow<'a, str>, WireError> {
        let invalid = || WireError::Utf8 { field: self.number };
        match view_bytes(input, &self.bytes(), LONGEST_TEXT)? {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| invalid()),
            Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).map_err(|_| invalid()),
        }
    }
}

/// The fields of a message, in their order. The iterator ends after an error.
pub(super) struct Fields<'a> {
    input: &'a dyn ReadAt,
    kind: &'static Kind,
    /// A bit for each given field that the message can have once.
    given: u32,
    position: u64,
    end: u64,
    /// The bytes of the input from `window_start` on that are at hand: all of them if the input is in memory.
    window: Cow<'a, [u8]>,
    window_start: u64,
}

impl<'a> Fields<'a> {
    /// The fields of the message in the bytes `message` of the input. The range must lie inside the input.
    pub(super) fn new(input: &'a dyn ReadAt, kind: &'static Kind, message: Range<u64>) -> Self {
        let (window, window_start) = match input.in_memory() {
            Some(bytes) => (Cow::Borrowed(bytes), 0),
            None => (Cow::Owned(Vec::new()), message.start),
        };
        Self { input, kind, given: 0, position: message.start, end: message.end, window, window_start }
    }

    #[inline]
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
        let form = self.kind.form(number);
        if !form.allows(&value) {
            return Err(WireError::FieldType { field: number });
        }
        if form.is_given_once() {
            let bit = 1 << number;
            if self.given & bit != 0 {
                return Err(WireError::Repeated { field: number });
            }
            self.given |= bit;
        }
        Ok(Field { number, range: start..self.position, value })
    }

    #[inline]
    fn varint(&mut self, field: u64) -> Result<u64, WireError> {
        let (mut value, mut shift) = (0u64, 0);
        for (index, byte) in self.ahead().iter().take(LONGEST_VARINT - 1).enumerate() {
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                self.position += 1 + index as u64;
                return Ok(value);
            }
            shift += 7;
        }
        self.long_varint(field)
    }

    /// Reads a varint of ten bytes, or one that ends beyond the window.
    #[cold]
    fn long_varint(&mut self, field: u64) -> Result<u64, WireError> {
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

    #[inline]
    fn fixed<const N: usize>(&mut self, field: u64) -> Result<[u8; N], WireError> {
        if let Some(bytes) = self.ahead().first_chunk().copied() {
            self.position += N as u64;
            return Ok(bytes);
        }
        let mut bytes = [0; N];
        for byte in &mut bytes {
            *byte = self.byte(field)?;
        }
        Ok(bytes)
    }

    /// The bytes of the message that are at hand.
    #[inline]
    fn ahead(&self) -> &[u8] {
        let [index, left] = [self.position - self.window_start, self.end.saturating_sub(self.position)]
            .map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let ahead = self.window.get(index..).unwrap_or_default();
        &ahead[..ahead.len().min(left)]
    }

    fn byte(&mut self, field: u64) -> Result<u8, WireError> {
        if self.position >= self.end {
            return Err(WireError::Truncated { offset: field });
        }
        if self.ahead().is_empty() {
            self.refill()?;
        }
        let byte = self.ahead().first().copied().ok_or(WireError::Truncated { offset: field })?;
        self.position += 1;
        Ok(byte)
    }

    /// Reads the next bytes of the message.
    fn refill(&mut self) -> Result<(), WireError> {
        let window_end = self.window_start + self.window.len() as u64;
        let Cow::Owned(window) = &mut self.window else { return Err(out_of_input()) };
        let wanted = if self.position == window_end { 2 * window.len() } else { 0 }.clamp(WINDOW, LONGEST_WINDOW);
        window.resize((self.end - self.position).min(wanted as u64) as usize, 0);
        self.window_start = self.position;
        Ok(self.input.read_exact_at(self.position, window)?)
    }
}

fn out_of_input() -> WireError {
    io::Error::from(io::ErrorKind::UnexpectedEof).into()
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

/// The numbers of a packed field: integers, or the codes of floats or doubles. The iterator ends after an error.
pub(super) struct Packed<'a> {
    rest: Fields<'a>,
    form: Form,
    start: u64,
}

/// Packed numbers have no fields.
static NO_FIELDS: Kind = Kind::new("", &[]);

impl<'a> Packed<'a> {
    pub(super) fn new(input: &'a dyn ReadAt, form: Form, range: Range<u64>) -> Self {
        Self { form, start: range.start, rest: Fields::new(input, &NO_FIELDS, range) }
    }
}

impl Iterator for Packed<'_> {
    type Item = Result<u64, WireError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let Self { rest, form, start: offset } = self;
        if rest.position >= rest.end {
            return None;
        }
        let number = match form {
            Form::Floats => rest.fixed(*offset).map(|code| u32::from_le_bytes(code).into()),
            Form::Doubles => rest.fixed(*offset).map(u64::from_le_bytes),
            _ => rest.varint(*offset).map_err(|error| match error {
                WireError::Truncated { offset } => WireError::Varint { offset },
                error => error,
            }),
        };
        if number.is_err() {
            rest.position = rest.end;
        }
        Some(number)
    }
}

impl Packed<'_> {
    /// Decodes the integers that are at hand as a whole into `batch`; returns how many there are.
    fn decode(&mut self, batch: &mut [u64]) -> usize {
        let (mut rest, mut decoded) = (self.rest.ahead(), 0);
        let whole = rest.len();
        for number in batch {
            let (mut value, mut length) = (0u64, 0);
            // A varint of ten bytes is left to `long_varint`, which checks its last byte.
            for byte in rest.iter().take(LONGEST_VARINT - 1) {
                value |= u64::from(byte & 0x7f) << (7 * length);
                length += 1;
                if *byte < 0x80 {
                    break;
                }
            }
            if length == 0 || rest[length - 1] >= 0x80 {
                break;
            }
            (*number, rest) = (value, &rest[length..]);
            decoded += 1;
        }
        let read = whole - rest.len();
        self.rest.position += read as u64;
        decoded
    }
}

/// The most numbers that are decoded at a time.
const BATCH: usize = 64;

/// The numbers of a field of a message. Writers may pack them or not, and may mix both.
pub(super) struct Numbers<'a> {
    fields: Fields<'a>,
    field: u32,
    packed: Option<Packed<'a>>,
    /// Decoded numbers. Those with the indices `ready` are still to be returned.
    batch: [u64; BATCH],
    ready: Range<usize>,
}

impl<'a> Numbers<'a> {
    pub(super) fn new(input: &'a dyn ReadAt, kind: &'static Kind, message: Range<u64>, field: u32) -> Self {
        Self { fields: Fields::new(input, kind, message), field, packed: None, batch: [0; BATCH], ready: 0..0 }
    }

    /// Reads the next number when no decoded one is left.
    fn fetch(&mut self) -> Option<Result<u64, WireError>> {
        loop {
            if let Some(packed) = &mut self.packed {
                if packed.form == Form::Numbers {
                    self.ready = 0..packed.decode(&mut self.batch);
                    if let Some(index) = self.ready.next() {
                        return Some(Ok(self.batch[index]));
                    }
                }
                if let Some(number) = packed.next() {
                    return Some(number);
                }
            }
            match self.fields.next()? {
                Err(error) => return Some(Err(error)),
                Ok(field) if field.number != self.field => {}
                Ok(Field { value: Value::Bytes(range), .. }) => {
                    let form = self.fields.kind.form(self.field);
                    self.packed = Some(Packed::new(self.fields.input, form, range));
                }
                Ok(field) => return Some(Ok(field.number())),
            }
        }
    }
}

impl Iterator for Numbers<'_> {
    type Item = Result<u64, WireError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self.ready.next() {
            Some(index) => Some(Ok(self.batch[index % BATCH])),
            None => self.fetch(),
        }
    }
}

/// The bytes of a range of the input. More than `limit` bytes are an error. Bytes that are in memory are not copied.
pub(super) fn view_bytes<'a>(
    input: &'a dyn ReadAt,
    range: &Range<u64>,
    limit: u64,
) -> Result<Cow<'a, [u8]>, WireError> {
    match input.in_memory() {
        Some(bytes) if range.end - range.start <= limit => {
            let found = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
            let found = found.and_then(|(start, end)| bytes.get(start..end));
            Ok(Cow::Borrowed(found.ok_or_else(out_of_input)?))
        }
        _ => read_bytes(input, range, limit).map(Cow::Owned),
    }
}

/// A copy of the bytes of a range of the input. More than `limit` bytes are an error.
pub(super) fn read_bytes(input: &dyn ReadAt, range: &Range<u64>, limit: u64) -> Result<Vec<u8>, WireError> {
    let bytes = range.end.saturating_sub(range.start);
    if bytes > limit {
        return Err(WireError::TooLong { offset: range.start, bytes, limit });
    }
    let out_of_memory = || WireError::OutOfMemory { bytes };
    let length = usize::try_from(bytes).map_err(|_| out_of_memory())?;
    let mut read = Vec::new();
    read.try_reserve_exact(length).map_err(|_| out_of_memory())?;
    if input.in_memory().is_some() {
        read.extend_from_slice(&view_bytes(input, range, limit)?);
    } else {
        read.resize(length, 0);
        input.read_exact_at(range.start, &mut read)?;
    }
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

/// The length of a varint in bytes. Each byte has 7 bits of the value, and 0 takes one byte.
pub(super) fn varint_bytes(value: u64) -> u64 {
    u64::from(64 - (value | 1).leading_zeros()).div_ceil(7)
}

/// Appends a field with a varint.
pub(super) fn put_number(out: &mut Vec<u8>, field: u32, value: u64) {
    put_varint(out, u64::from(field) << 3);
    put_varint(out, value);
}

/// Appends the key and the length of a field of `length` bytes. The caller appends the bytes.
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
    static KIND: Kind =
        Kind::new("Kind", &[(1, Form::Number), (16, Form::Bytes), (4, Form::Floats), (5, Form::Numbers)]);

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

    #[test]
    fn numbers_are_packed_or_not() {
        let numbers = |bytes: &[u8], field| {
            let input = Elsewhere(bytes.to_vec());
            let range = 0..bytes.len() as u64;
            let found = all(Numbers::new(&input, &KIND, range.clone(), field));
            assert_eq!(all(Numbers::new(&input.0, &KIND, range, field)), found);
            found
        };
        let mut bytes = vec![0x28, 7, 0x2a, 3, 1, 0x80, 1, 0x25, 9, 0, 0, 0, 0x2a, 0, 0x28, 0, 8, 3];
        bytes.extend([0x22, 8, 1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(numbers(&bytes, 5), Ok(vec![7, 1, 128, 0]));
        assert_eq!(numbers(&bytes, 4), Ok(vec![9, 1, 2]));
        assert_eq!(numbers(&[8, 1, 0x2a, 2, 1, 0x80], 5), Err("the field at byte 4 has an invalid varint".to_owned()));
        assert_eq!(
            numbers(&[0x22, 5, 1, 0, 0, 0, 2], 4),
            Err("the field at byte 2 ends beyond its message".to_owned())
        );
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
}
