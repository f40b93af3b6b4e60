//! Reads the numbers of a field, packed or not.

use std::ops::Range;

use super::WireError;
use super::fields::{Field, Fields, Value, short_varint};
use super::kind::{Form, Kind};
use crate::input::ReadAt;

/// The numbers of a packed field: integers, or the codes of floats or doubles. The iterator ends after an error.
pub(crate) struct Packed<'a> {
    rest: Fields<'a>,
    form: Form,
    start: u64,
}

/// Packed numbers have no fields.
pub(super) static NO_FIELDS: Kind = Kind::new("", &[]);

impl<'a> Packed<'a> {
    pub(crate) fn new(input: &'a dyn ReadAt, form: Form, range: Range<u64>) -> Self {
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
            let Some((value, length)) = short_varint(rest) else { break };
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
pub(crate) struct Numbers<'a> {
    fields: Fields<'a>,
    field: u32,
    packed: Option<Packed<'a>>,
    /// Decoded numbers. Those with the indices `ready` are still to be returned.
    batch: [u64; BATCH],
    ready: Range<usize>,
}

impl<'a> Numbers<'a> {
    pub(crate) fn new(input: &'a dyn ReadAt, kind: &'static Kind, message: Range<u64>, field: u32) -> Self {
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
                Ok(field) => {
                    let batch = &mut self.batch;
                    self.ready = 0..self.fields.alike(&field, BATCH, |index, number| batch[index] = number);
                    return Some(Ok(field.number()));
                }
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
