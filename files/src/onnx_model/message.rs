//! A protobuf message as parts of an output file. Its length is thus known before its data is read.

use std::ops::Range;

use crate::error::{FileError, PlanFault};
use crate::input::ReadAt;
use crate::plan::{FilePlan, Part, SourceRange, TensorCast};
use crate::wire::{WireError, put_bytes, put_length, put_number};

/// Copied ranges of the model up to this size, in bytes, are read when the plan is made. Reading each of them later would
/// be slower.
const SHORT: u64 = 1024;

/// Fields, one after another.
#[derive(Debug, Default)]
pub(super) struct Message {
    parts: Vec<Part>,
    bytes: u64,
    /// The row in the report of each cast.
    rows: Vec<usize>,
}

impl Message {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn push(&mut self, part: Part) -> Result<(), FileError> {
        self.bytes = part.bytes().and_then(|bytes| self.bytes.checked_add(bytes)).ok_or(PlanFault::Size)?;
        match (self.parts.last_mut(), part) {
            (Some(Part::Bytes(bytes)), Part::Bytes(more)) => bytes.extend(more),
            (Some(Part::Copy(range)), Part::Copy(more))
                if range.input == more.input && range.offset + range.bytes == more.offset =>
            {
                range.bytes += more.bytes;
            }
            (_, part) if part.bytes() == Some(0) => {}
            (_, part) => self.parts.push(part),
        }
        Ok(())
    }

    /// Appends bytes of the model.
    pub(super) fn copy(&mut self, range: &Range<u64>) -> Result<(), FileError> {
        self.push(Part::Copy(SourceRange { input: 0, offset: range.start, bytes: range.end - range.start }))
    }

    /// Appends a range of any input.
    pub(super) fn copy_source(&mut self, range: SourceRange) -> Result<(), FileError> {
        self.push(Part::Copy(range))
    }

    /// Appends the result of a cast, unless it is empty.
    pub(super) fn cast(&mut self, cast: TensorCast, row: usize) -> Result<(), FileError> {
        if cast.to.bytes(cast.elements).ok_or(PlanFault::Size)? == 0 {
            return Ok(());
        }
        self.rows.push(row);
        self.push(Part::Cast(cast))
    }

    pub(super) fn literal(&mut self, bytes: Vec<u8>) -> Result<(), FileError> {
        self.push(Part::Bytes(bytes))
    }

    pub(super) fn number(&mut self, field: u32, value: u64) -> Result<(), FileError> {
        let mut bytes = Vec::new();
        put_number(&mut bytes, field, value);
        self.literal(bytes)
    }

    pub(super) fn text(&mut self, field: u32, text: &str) -> Result<(), FileError> {
        let mut bytes = Vec::new();
        put_bytes(&mut bytes, field, text.as_bytes());
        self.literal(bytes)
    }

    /// Appends a field that is a message.
    pub(super) fn message(&mut self, field: u32, message: Message) -> Result<(), FileError> {
        let mut head = Vec::new();
        put_length(&mut head, field, message.bytes);
        self.literal(head)?;
        self.rows.extend(message.rows);
        message.parts.into_iter().try_for_each(|part| self.push(part))
    }

    /// Whether the message consists of exactly the bytes `range` of the model.
    pub(super) fn is_copy_of(&self, range: &Range<u64>) -> bool {
        let whole = SourceRange { input: 0, offset: range.start, bytes: range.end - range.start };
        match self.parts.as_slice() {
            [] => range.is_empty(),
            [Part::Copy(copied)] => *copied == whole,
            _ => false,
        }
    }

    /// The plan of an output file with this message, and the rows of its casts.
    pub(super) fn into_plan(self, model: &dyn ReadAt) -> Result<(FilePlan, Vec<usize>), WireError> {
        let mut parts: Vec<Part> = Vec::new();
        for part in self.parts {
            let part = match part {
                Part::Copy(range) if range.input == 0 && range.bytes <= SHORT => {
                    let mut bytes = vec![0; range.bytes as usize];
                    model.read_exact_at(range.offset, &mut bytes)?;
                    Part::Bytes(bytes)
                }
                part => part,
            };
            match (parts.last_mut(), part) {
                (Some(Part::Bytes(bytes)), Part::Bytes(more)) => bytes.extend(more),
                (_, part) => parts.push(part),
            }
        }
        Ok((FilePlan { parts }, self.rows))
    }
}
