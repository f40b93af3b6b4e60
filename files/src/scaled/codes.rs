//! The codes of a transposed matrix: two rows of the output lie in each byte of the input.

use std::ops::Range;

use super::ScaledCast;
use crate::error::FileError;
use crate::input::ReadAt;
use crate::memory::resize;
use crate::transpose::RowMajorReader;

/// Reads a matrix of pairs of 4-bit codes, and its scales, in the order of the transposed matrix.
pub(crate) struct Transposed<'a> {
    pairs: RowMajorReader<'a>,
    scales: RowMajorReader<'a>,
    columns: u64,
    bytes: Vec<u8>,
}

impl<'a> Transposed<'a> {
    /// A reader that takes at most `memory` bytes for slabs.
    ///
    /// # Errors
    /// A size overflows.
    pub fn new(cast: &ScaledCast, inputs: &[&'a dyn ReadAt], memory: usize) -> Result<Self, FileError> {
        let (rows, columns) = (cast.rows(), cast.columns);
        let reader = |input: usize, offset: u64, rows: u64| {
            let reader = RowMajorReader::new(inputs[input], offset, 1, &[rows, columns], memory / 2);
            reader.map_err(|error| error.of_input(input).of_tensor(&cast.cast.name))
        };
        let pairs = reader(cast.cast.input, cast.cast.offset, rows / 2)?;
        let scales = reader(cast.scales.input, cast.scales.offset, rows.div_ceil(cast.block[0]))?;
        Ok(Self { pairs, scales, columns, bytes: Vec::new() })
    }

    /// Reads scales from the index `first` on.
    pub fn scales(&mut self, first: u64, buffer: &mut [u8]) -> Result<(), FileError> {
        self.scales.read(first, buffer)
    }

    /// Reads the codes of a range of elements, which starts and ends at a byte of the output. Rows have an even number of
    /// codes.
    pub fn codes(&mut self, range: Range<u64>, mut output: &mut [u8]) -> Result<(), FileError> {
        let mut at = range.start;
        while at < range.end {
            let (row, column) = (at / self.columns, at % self.columns);
            let (pair_elements, left) = (2 * self.columns, range.end - at);
            // Both rows lie in the same bytes. Several pairs are read at once: elements that are neighbours in the input
            // belong to different rows.
            let pairs = if row.is_multiple_of(2) && column == 0 { left / pair_elements } else { 0 };
            if pairs > 0 {
                let (codes, rest) = output.split_at_mut((pairs * self.columns) as usize);
                resize(&mut self.bytes, pairs * self.columns)?;
                self.pairs.read(row / 2 * self.columns, &mut self.bytes)?;
                let rows = codes.chunks_exact_mut(self.columns as usize);
                for (bytes, rows) in self.bytes.chunks_exact(self.columns as usize).zip(rows) {
                    let (even, odd) = rows.split_at_mut(self.columns as usize / 2);
                    row_of_pairs::<0>(bytes, even);
                    row_of_pairs::<4>(bytes, odd);
                }
                (output, at) = (rest, at + pairs * pair_elements);
                continue;
            }
            let length = (self.columns - column).min(left);
            let (codes, rest) = output.split_at_mut(length as usize / 2);
            resize(&mut self.bytes, length)?;
            self.pairs.read(row / 2 * self.columns + column, &mut self.bytes)?;
            match row % 2 {
                0 => row_of_pairs::<0>(&self.bytes, codes),
                _ => row_of_pairs::<4>(&self.bytes, codes),
            }
            (output, at) = (rest, at + length);
        }
        Ok(())
    }
}

/// Packs the codes of a row: those that begin at bit `SHIFT` of each byte of `bytes`.
fn row_of_pairs<const SHIFT: u32>(bytes: &[u8], codes: &mut [u8]) {
    for (code, pair) in codes.iter_mut().zip(bytes.as_chunks::<2>().0) {
        let pair = u16::from_le_bytes(*pair) >> SHIFT;
        *code = (pair & 0xf | pair >> 4 & 0xf0) as u8;
    }
}
