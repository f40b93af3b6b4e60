//! The elements of a string tensor: one text and where each string ends, as Arrow lays them out, so that a tensor of a
//! million short strings is two allocations.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strings {
    text: String,
    /// Byte offset of each string's end in `text`; it starts where the one before ends.
    ends: Vec<usize>,
}

impl Strings {
    pub(crate) fn push(&mut self, string: &str) {
        self.text.push_str(string);
        self.ends.push(self.text.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of all strings together.
    pub(crate) fn text_len(&self) -> usize {
        self.text.len()
    }

    /// The string at `index`, which must be below `len`.
    pub(crate) fn get(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..self.ends[index]]
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|index| self.get(index))
    }
}
