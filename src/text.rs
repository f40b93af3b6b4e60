//! The elements of a string tensor: texts of many strings each and where each string ends, much as Arrow lays them out,
//! so that a million short strings are some hundred allocations. The texts are cut at fixed elements, so that threads
//! make and read them side by side and nothing is ever joined.

use std::collections::TryReserveError;

/// Strings in each piece but the last: a multiple of 16, so that the packed codes of so many elements start at a byte.
pub(crate) const PIECE: usize = 16 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strings {
    pieces: Vec<Piece>,
}

/// At most [`PIECE`] strings one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    text: String,
    /// Byte offset of each string's end in `text`; it starts where the one before ends.
    ends: Vec<usize>,
}

impl Strings {
    /// Every piece but the last must hold `PIECE` strings, and the last at least one.
    pub(crate) fn from_pieces(pieces: Vec<Piece>) -> Self {
        debug_assert!(pieces.iter().rev().skip(1).all(|piece| piece.ends.len() == PIECE));
        Self { pieces }
    }

    pub(crate) fn push(&mut self, string: &str) {
        match self.pieces.last_mut() {
            Some(piece) if piece.ends.len() < PIECE => piece.push(string),
            _ => {
                let mut piece = Piece::default();
                piece.push(string);
                self.pieces.push(piece);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.pieces.last().map_or(0, |last| (self.pieces.len() - 1) * PIECE + last.ends.len())
    }

    /// Bytes of all strings together.
    pub(crate) fn text_len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.text.len()).sum()
    }

    /// The string at `index`, which must be below `len`.
    pub(crate) fn get(&self, index: usize) -> &str {
        self.pieces[index / PIECE].get(index % PIECE)
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|index| self.get(index))
    }

    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }
}

impl Piece {
    /// A copy of `text`, no larger than it must be, and the ends of its strings.
    pub(crate) fn new(text: &str, ends: Vec<usize>) -> Result<Self, TryReserveError> {
        debug_assert_eq!(ends.last().copied().unwrap_or_default(), text.len());
        let mut own = String::new();
        own.try_reserve_exact(text.len())?;
        own.push_str(text);
        Ok(Self { text: own, ends })
    }

    fn push(&mut self, string: &str) {
        self.text.push_str(string);
        self.ends.push(self.text.len());
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
    fn strings_come_back_across_pieces() {
        for count in [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 2 * PIECE + 5] {
            let given: Vec<_> = (0..count).map(|i| "ä".repeat(i % 4)).collect();
            let mut strings = Strings::default();
            given.iter().for_each(|string| strings.push(string));
            assert_eq!((strings.len(), strings.iter().len()), (count, count));
            assert_eq!(strings.text_len(), given.iter().map(String::len).sum::<usize>());
            assert!(strings.iter().eq(given.iter().map(String::as_str)));
            assert!(strings.pieces().iter().flat_map(Piece::iter).eq(strings.iter()));
            let pieces = strings.pieces().iter().map(|p| Piece::new(&p.text, p.ends.clone()).unwrap()).collect();
            assert_eq!(Strings::from_pieces(pieces), strings);
        }
    }
}
