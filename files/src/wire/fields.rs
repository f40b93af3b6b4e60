//! Reads the fields of a message.

use std::borrow::Cow;
use std::ops::Range;

use super::WireError;
use super::bytes::{out_of_input, view_bytes};
use super::kind::Kind;
use crate::input::ReadAt;

/// The number of bytes that are read at a time. A read that continues the one before is twice as long, up to
/// [`LONGEST_WINDOW`].
const WINDOW: usize = 4 << 10;
const LONGEST_WINDOW: usize = 32 << 10;

/// The longest varint in bytes.
const LONGEST_VARINT: usize = 10;

/// The longest text in bytes, such as a name.
const LONGEST_TEXT: u64 = 1 << 20;

/// A field of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// The field's number.
    pub number: u32,
    /// The bytes of the whole field in the input, with its key.
    pub range: Range<u64>,
    /// The value.
    pub value: Value,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
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
    pub(crate) fn bytes(&self) -> Range<u64> {
        match &self.value {
            Value::Bytes(range) => range.clone(),
            _ => self.range.end..self.range.end,
        }
    }

    /// The number of a field of the form [`Form::Number`] or [`Form::Float`], which always has one.
    pub(crate) fn number(&self) -> u64 {
        match self.value {
            Value::Varint(value) | Value::Fixed64(value) => value,
            Value::Fixed32(value) => value.into(),
            Value::Bytes(_) => 0,
        }
    }

    /// The text of a field of the form [`Form::Bytes`] or [`Form::List`].
    pub(crate) fn text<'a>(&self, input: &'a dyn ReadAt) -> Result<Cow<'a, str>, WireError> {
        let invalid = || WireError::Utf8 { field: self.number };
        match view_bytes(input, &self.bytes(), LONGEST_TEXT)? {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| invalid()),
            Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).map_err(|_| invalid()),
        }
    }
}

/// The fields of a message, in their order. The iterator ends after an error.
pub(crate) struct Fields<'a> {
    pub(super) input: &'a dyn ReadAt,
    pub(super) kind: &'static Kind,
    /// A bit for each given field that the message can have once.
    given: u32,
    pub(super) position: u64,
    pub(super) end: u64,
    /// The bytes of the input from `window_start` on that are at hand: all of them if the input is in memory.
    window: Cow<'a, [u8]>,
    window_start: u64,
}

impl<'a> Fields<'a> {
    /// The fields of the message in the bytes `message` of the input. The range must lie inside the input.
    pub(crate) fn new(input: &'a dyn ReadAt, kind: &'static Kind, message: Range<u64>) -> Self {
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
    pub(super) fn varint(&mut self, field: u64) -> Result<u64, WireError> {
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

    /// Skips the fields at hand that repeat the number and the wire type of `field`, which is a number; returns how many
    /// there are. `take` gets their numbers, at most `most` of them. Unpacked numbers are many such fields, and reading each
    /// as any field takes three times as long. What is left, such as an invalid varint, is for [`next`](Self::next).
    #[inline]
    pub(crate) fn alike(&mut self, field: &Field, most: usize, take: impl FnMut(usize, u64)) -> usize {
        if self.kind.form(field.number).is_given_once() {
            return 0;
        }
        // Keys of one byte: those of fields below 16.
        let key = |wire_type| u8::try_from(field.number << 3 | wire_type).ok().filter(|key| *key < 0x80);
        let (number, bytes) = match field.value {
            Value::Varint(_) => key(0).map_or((0, 0), |key| varints(self.ahead(), key, most, take)),
            Value::Fixed32(_) => key(5).map_or((0, 0), |key| fixed_by::<4>(self.ahead(), key, most, take)),
            Value::Fixed64(_) => key(1).map_or((0, 0), |key| fixed_by::<8>(self.ahead(), key, most, take)),
            Value::Bytes(_) => (0, 0),
        };
        self.position += bytes as u64;
        number
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
    pub(super) fn fixed<const N: usize>(&mut self, field: u64) -> Result<[u8; N], WireError> {
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
    pub(super) fn ahead(&self) -> &[u8] {
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

/// The number and the length of a varint. `None` if it is not whole, and for one of ten bytes: `long_varint` checks the last
/// of them.
#[inline]
pub(super) fn short_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let (mut value, mut length) = (0u64, 0);
    for byte in bytes.iter().take(LONGEST_VARINT - 1) {
        value |= u64::from(byte & 0x7f) << (7 * length);
        length += 1;
        if *byte < 0x80 {
            return Some((value, length));
        }
    }
    None
}

/// The number of varints behind a key each, and their bytes.
#[inline]
fn varints(bytes: &[u8], key: u8, most: usize, mut take: impl FnMut(usize, u64)) -> (usize, usize) {
    let (mut rest, mut found) = (bytes, 0);
    while found < most
        && let Some((&first, behind)) = rest.split_first()
        && first == key
        && let Some((value, length)) = short_varint(behind)
    {
        take(found, value);
        (rest, found) = (&behind[length..], found + 1);
    }
    (found, bytes.len() - rest.len())
}

/// The number of codes of `N` bytes behind a key each, and their bytes.
#[inline]
fn fixed_by<const N: usize>(bytes: &[u8], key: u8, most: usize, mut take: impl FnMut(usize, u64)) -> (usize, usize) {
    let fields = bytes.chunks_exact(N + 1).take(most).take_while(|field| field[0] == key);
    let found = fields.enumerate().map(|(index, field)| {
        let mut code = [0; 8];
        code[..N].copy_from_slice(&field[1..]);
        take(index, u64::from_le_bytes(code));
    });
    let found = found.count();
    (found, found * (N + 1))
}
