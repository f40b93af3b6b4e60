//! The sources of the data of tensors, and the file of external data that is written.

use std::collections::HashMap;
use std::ops::Range;

use super::edit::Edits;
use super::message::Message;
use super::structure::{Structure, TensorId};
use crate::error::{FileCause, FileError, ModelFault};
use crate::input::{ReadAt, size_of};
use crate::onnx::{NamedTensor, TensorPlace};
use crate::plan::{SourceRange, TensorCast};
use crate::text::quoted;

/// The most bytes of messages whose values are decoded in memory. Decoded values can take more: a varint of one byte can
/// become eight bytes.
const MOST_DECODED: u64 = 64 << 20;

/// Tensors in the data file start at multiples of this many bytes. Those of at least [`PAGE`] bytes start at multiples of
/// [`PAGE`], so that they can be mapped into memory.
const ALIGNMENT: u64 = 64;
const PAGE: u64 = 4096;

/// Packed codes in an input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub range: SourceRange,
    /// Whether the input is a file of external data.
    pub is_external: bool,
}

/// The inputs, and the decoded values of tensors that have no packed codes in any input.
pub(super) struct Sources<'a> {
    structure: &'a Structure,
    /// The sizes of the model and of its external files.
    sizes: Vec<u64>,
    pub decoded: Vec<u8>,
    /// Where the values of each decoded tensor are in `decoded`.
    ranges: HashMap<TensorId, Range<u64>>,
    spent: u64,
}

impl<'a> Sources<'a> {
    pub(super) fn new(structure: &'a Structure, inputs: &[&dyn ReadAt]) -> Result<Self, FileError> {
        let (expected, found) = (1 + structure.files.len(), inputs.len());
        if expected != found {
            return Err(ModelFault::Inputs { expected, found }.into());
        }
        let name = |index: usize| match index {
            0 => "the model".to_owned(),
            _ => format!("external data {}", quoted(structure.text(structure.files[index - 1]))),
        };
        let size = |(index, input): (usize, &&dyn ReadAt)| {
            size_of(*input).map_err(|error| error.of_input(index).in_element(|| name(index)))
        };
        let sizes = inputs.iter().enumerate().map(size).collect::<Result<_, _>>()?;
        Ok(Self { structure, sizes, decoded: Vec::new(), ranges: HashMap::new(), spent: 0 })
    }

    /// The index of the input for the bytes of [`decoded`](Self::decoded).
    pub(super) fn decoded_input(&self) -> usize {
        self.sizes.len()
    }

    /// Decodes the tensors that are to be cast and are not packed codes in one range.
    pub(super) fn decode(&mut self, model: &dyn ReadAt, edits: &Edits) -> Result<(), FileError> {
        let mut tensors: Vec<TensorId> = edits.tensors.keys().copied().collect();
        tensors.sort_unstable();
        for id in tensors {
            let tensor = self.structure.tensor(id);
            if !matches!(tensor.data, TensorPlace::Field { .. }) || edits.tensors[&id].to.is_none() {
                continue;
            }
            let name = self.structure.text(tensor.name);
            self.spend(name, tensor.range.end - tensor.range.start)?;
            let read = NamedTensor::read(model, tensor.range.clone(), None);
            let read = read.map_err(|error| error.of_tensor(name))?;
            let packed = read.tensor.into_bytes().unwrap_or_default();
            let range = self.append(name, &packed)?;
            self.ranges.insert(id, range);
        }
        Ok(())
    }

    /// Appends the decoded values of a tensor; returns where they are in `decoded`.
    pub(super) fn append(&mut self, name: &str, packed: &[u8]) -> Result<Range<u64>, FileError> {
        let out_of_memory = |_| FileError::from(FileCause::OutOfMemory { bytes: packed.len() as u64 }).of_tensor(name);
        self.decoded.try_reserve(packed.len()).map_err(out_of_memory)?;
        let start = self.decoded.len() as u64;
        self.decoded.extend_from_slice(packed);
        Ok(start..self.decoded.len() as u64)
    }

    /// Counts `bytes` bytes of a message before it is decoded. More than [`MOST_DECODED`] bytes in all are an error.
    pub(super) fn spend(&mut self, name: &str, bytes: u64) -> Result<(), FileError> {
        self.spent = self.spent.saturating_add(bytes);
        let over = || FileError::from(ModelFault::TypedData { limit: MOST_DECODED }).of_tensor(name);
        if self.spent > MOST_DECODED { Err(over()) } else { Ok(()) }
    }

    /// The packed codes of a tensor; `None` for strings and for values that are neither packed nor decoded.
    pub(super) fn of(&self, id: TensorId) -> Result<Option<Source>, FileError> {
        let tensor = self.structure.tensor(id);
        let at = |input, range: &Range<u64>| SourceRange { input, offset: range.start, bytes: range.end - range.start };
        let range = match &tensor.data {
            TensorPlace::Nowhere => SourceRange { input: 0, offset: 0, bytes: 0 },
            TensorPlace::Packed(range) => at(0, range),
            TensorPlace::Field { .. } => match self.ranges.get(&id) {
                Some(range) => at(self.decoded_input(), range),
                None => return Ok(None),
            },
            TensorPlace::External(range) => {
                let input = tensor.input();
                let expected = tensor.element_type().and_then(|t| t.packed_bytes(tensor.elements));
                let bytes = range.bytes_in(self.sizes[input], expected);
                let bytes = bytes.map_err(|error| error.of_tensor(self.structure.text(tensor.name)))?;
                let range = SourceRange { input, offset: range.offset, bytes };
                return Ok(Some(Source { range, is_external: true }));
            }
        };
        Ok(Some(Source { range, is_external: false }))
    }
}

/// The data of a tensor in the output.
pub(super) struct Content {
    pub source: Source,
    /// The cast, and its row in the report.
    pub cast: Option<(TensorCast, usize)>,
    pub bytes: u64,
}

impl Content {
    pub(super) fn append_to(self, out: &mut Message) -> Result<(), FileError> {
        match self.cast {
            Some((cast, row)) => out.cast(cast, row),
            None => out.copy_source(self.source.range),
        }
    }
}

/// The file of external data. Data that several tensors share is stored once.
#[derive(Debug)]
pub(super) struct DataFile {
    pub location: String,
    pub content: Message,
    placed: HashMap<Key, (u64, u64)>,
}

/// What the stored bytes of a tensor depend on: the source and, for a cast, the number of elements and both types. The
/// number of elements matters, because different numbers of codes narrower than a byte can take the same number of bytes.
type Key = (SourceRangeKey, Option<(u64, i32, i32)>);
type SourceRangeKey = (usize, u64, u64);

impl DataFile {
    pub(super) fn new(location: &str) -> Self {
        Self { location: location.to_owned(), content: Message::default(), placed: HashMap::new() }
    }

    /// Stores the data of a tensor, unless it is stored already; returns its offset and length.
    pub(super) fn place(&mut self, content: Content) -> Result<(u64, u64), FileError> {
        let range = content.source.range;
        let cast = content.cast.as_ref().map(|(cast, _)| {
            let [from, to] = [cast.from, cast.to].map(|storage| storage.element_type.onnx_code());
            (cast.elements, from, to)
        });
        let key = ((range.input, range.offset, range.bytes), cast);
        if let Some(&placed) = self.placed.get(&key) {
            return Ok(placed);
        }
        let alignment = if content.bytes >= PAGE { PAGE } else { ALIGNMENT };
        let gap = self.content.bytes().next_multiple_of(alignment) - self.content.bytes();
        self.content.literal(vec![0; gap as usize])?;
        let placed = (self.content.bytes(), content.bytes);
        content.append_to(&mut self.content)?;
        self.placed.insert(key, placed);
        Ok(placed)
    }
}
