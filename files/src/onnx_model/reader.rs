//! Reads the fields of a model's messages. Errors name the element of the model.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::error::FileError;
use crate::input::{ReadAt, size_of};
use crate::wire::{Field, Fields, Kind, WireError};

/// The number of bytes that are read at a time.
const PAGE: usize = 16 << 10;

/// An input that keeps the bytes behind the last place that was read. A model has many small messages: reading each from
/// the file would be slow.
pub(super) struct Paged<'a> {
    input: &'a dyn ReadAt,
    size: u64,
    page: Mutex<(u64, Vec<u8>)>,
}

impl<'a> Paged<'a> {
    pub(super) fn new(input: &'a dyn ReadAt) -> Result<Self, FileError> {
        Ok(Self { input, size: size_of(input)?, page: Mutex::new((0, Vec::new())) })
    }

    /// The number of bytes.
    pub(super) fn len(&self) -> u64 {
        self.size
    }
}

impl ReadAt for Paged<'_> {
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        if buffer.len() >= PAGE / 2 {
            return self.input.read_exact_at(offset, buffer);
        }
        let mut page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        let (start, bytes) = &mut *page;
        let found = |start: u64, bytes: &[u8]| {
            let first = usize::try_from(offset.checked_sub(start)?).ok()?;
            Some(first..first.checked_add(buffer.len()).filter(|&end| end <= bytes.len())?)
        };
        let range = match found(*start, bytes) {
            Some(range) => range,
            None => {
                let length = self.size.saturating_sub(offset).min(PAGE as u64) as usize;
                bytes.resize(length.max(buffer.len()), 0);
                *start = u64::MAX;
                self.input.read_exact_at(offset, bytes)?;
                *start = offset;
                0..buffer.len()
            }
        };
        buffer.copy_from_slice(&bytes[range]);
        Ok(())
    }

    fn size(&self) -> std::io::Result<u64> {
        Ok(self.size)
    }

    fn in_memory(&self) -> Option<&[u8]> {
        self.input.in_memory()
    }
}

/// The fields of a message.
pub(super) fn fields(
    input: &dyn ReadAt,
    kind: &'static Kind,
    message: &Range<u64>,
    element: impl Fn() -> String,
) -> impl Iterator<Item = Result<Field, FileError>> {
    Fields::new(input, kind, message.clone()).map(move |field| field.map_err(|error| wire(&element, error)))
}

pub(super) fn wire(element: impl FnOnce() -> String, error: WireError) -> FileError {
    FileError::from(error).in_element(element)
}

/// The error of a tensor. It names the tensor's name or, if there is none, the element of the model.
pub(super) fn of_tensor(element: impl FnOnce() -> String, error: FileError) -> FileError {
    if error.tensor().is_some() { error } else { error.in_element(element) }
}

/// A name in the model. Equal texts have equal names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Name(u32);

impl Name {
    /// The empty name. As an input or output of a node, it is an optional value that is not given.
    pub(super) const EMPTY: Name = Name(0);
}

/// The names of a model. Each text is kept once.
#[derive(Debug)]
pub(super) struct Names {
    texts: Vec<std::sync::Arc<str>>,
    indexes: HashMap<std::sync::Arc<str>, Name>,
}

impl Default for Names {
    fn default() -> Self {
        Self { texts: vec!["".into()], indexes: HashMap::from([("".into(), Name::EMPTY)]) }
    }
}

impl Names {
    /// The name of a text, and whether it is new.
    pub(super) fn intern(&mut self, text: &str) -> (Name, bool) {
        if let Some(&name) = self.indexes.get(text) {
            return (name, false);
        }
        // The index fits: the scan limits the memory for names, and each name takes more than a byte.
        let name = Name(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        let text: std::sync::Arc<str> = text.into();
        self.texts.push(text.clone());
        self.indexes.insert(text, name);
        (name, true)
    }

    pub(super) fn text(&self, name: Name) -> &str {
        &self.texts[name.0 as usize]
    }

    pub(super) fn find(&self, text: &str) -> Option<Name> {
        self.indexes.get(text).copied()
    }
}
