//! The elements of a string tensor, in chunks of many strings. A chunk is one text, and the offset at which each string
//! ends in it, similar to the layout of Arrow. A million short strings are then about a hundred allocations. Every
//! chunk but the last holds the same number of strings, so that threads can write and read chunks at the same time and
//! no text is copied to join them.

use std::collections::TryReserveError;

/// Strings in each chunk but the last. It is a multiple of 16, so that the packed codes of every chunk start at a byte.
pub(crate) const CHUNK_LEN: usize = 16 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StringArray {
    chunks: Vec<StringChunk>,
}

/// At most [`CHUNK_LEN`] strings one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StringChunk {
    text: String,
    /// The byte offset in `text` of each string's end. A string starts where the string before it ends.
    ends: Vec<usize>,
}

impl StringArray {
    /// Every chunk but the last must hold `CHUNK_LEN` strings, and the last at least one.
    pub(crate) fn from_chunks(chunks: Vec<StringChunk>) -> Self {
        assert!(chunks.iter().rev().skip(1).all(|chunk| chunk.ends.len() == CHUNK_LEN));
        Self { chunks }
    }

    pub(crate) fn push(&mut self, string: &str) -> Result<(), TryReserveError> {
        if let Some(chunk) = self.chunks.last_mut().filter(|chunk| chunk.ends.len() < CHUNK_LEN) {
            return chunk.push(string);
        }
        let mut chunk = StringChunk::default();
        chunk.push(string)?;
        self.chunks.try_reserve(1)?;
        self.chunks.push(chunk);
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK_LEN + last.ends.len())
    }

    /// Bytes of all strings together.
    pub(crate) fn text_len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.text.len()).sum()
    }

    /// The string at `index`, which must be below `len`.
    pub(crate) fn get(&self, index: usize) -> &str {
        self.chunks[index / CHUNK_LEN].get(index % CHUNK_LEN)
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|index| self.get(index))
    }

    pub(crate) fn chunks(&self) -> &[StringChunk] {
        &self.chunks
    }
}

impl StringChunk {
    /// Copies `text`, without spare capacity, and takes the ends of its strings.
    pub(crate) fn new(text: &str, ends: Vec<usize>) -> Result<Self, TryReserveError> {
        assert_eq!(ends.last().copied().unwrap_or_default(), text.len());
        let mut own = String::new();
        own.try_reserve_exact(text.len())?;
        own.push_str(text);
        Ok(Self { text: own, ends })
    }

    fn push(&mut self, string: &str) -> Result<(), TryReserveError> {
        self.text.try_reserve(string.len())?;
        self.ends.try_reserve(1)?;
        self.text.push_str(string);
        self.ends.push(self.text.len());
        Ok(())
    }

    fn get(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..self.ends[index]]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.ends.iter().scan(0, |start, &end| {
            let string = &self.text[*start..end];
            *start = end;
            Some(string)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_across_chunks() {
        for count in [0, 1, CHUNK_LEN - 1, CHUNK_LEN, CHUNK_LEN + 1, 2 * CHUNK_LEN, 2 * CHUNK_LEN + 5] {
            let given: Vec<_> = (0..count).map(|i| "ä".repeat(i % 4)).collect();
            let mut strings = StringArray::default();
            given.iter().for_each(|string| strings.push(string).unwrap());
            assert_eq!((strings.len(), strings.iter().len()), (count, count));
            assert_eq!(strings.text_len(), given.iter().map(String::len).sum::<usize>());
            assert!(strings.iter().eq(given.iter().map(String::as_str)));
            assert!(strings.chunks().iter().flat_map(StringChunk::iter).eq(strings.iter()));
            let chunks = strings.chunks().iter().map(|p| StringChunk::new(&p.text, p.ends.clone()).unwrap()).collect();
            assert_eq!(StringArray::from_chunks(chunks), strings);
        }
    }
}
