//! Reads arrays in column-major order piece by piece in row-major order.
//!
//! The elements of a piece in row-major order are scattered over the whole file. A *slab* is therefore read at once. It
//! has elements that follow one another in row-major order, as many as the memory allows. The pieces are copied from the
//! slab, tile by tile. A *run* is a range of the file in which all elements belong to the slab.

mod tiles;

use std::io;
use std::ops::Range;

use super::error::{FileCause, FileError, PlanFault};
use super::input::{ReadAt, read_at};
use super::memory::resize;
use tiles::copy_row_major;

/// Two runs are read together, with the gap between them, if the gap is at most this many bytes or a quarter of a run.
/// Such a read takes no longer than two reads.
const GAP: u64 = 4096;

/// The size of the buffer for runs that are read together, in bytes.
const SPAN: u64 = 1 << 20;

/// Reads the elements of a column-major array in row-major order. Pieces that follow one another are read fastest,
/// because they are in the same slab.
pub(super) struct RowMajorReader<'a> {
    input: &'a dyn ReadAt,
    offset: u64,
    element_bytes: usize,
    /// The lengths of the axes, without those of length 1.
    axes: Vec<u64>,
    memory: usize,
    slab: Slab,
    /// The runs that are read together, with the gaps between them.
    span: Vec<u8>,
}

/// Elements that follow one another in row-major order: a range of one axis, and all of the axes after it.
#[derive(Default)]
struct Slab {
    /// The indices of the elements in row-major order.
    range: Range<u64>,
    /// The lengths of the axes.
    axes: Vec<usize>,
    /// The elements in column-major order.
    bytes: Vec<u8>,
}

/// The runs of a slab in the input: `outer` groups of `inner` runs each. `start`, `length` and the distances `inner_step`
/// and `outer_step` are in bytes.
struct Runs {
    start: u64,
    length: u64,
    inner: u64,
    inner_step: u64,
    outer: u64,
    outer_step: u64,
}

impl Runs {
    fn count(&self) -> u64 {
        self.inner * self.outer
    }

    fn offset(&self, run: u64) -> u64 {
        self.start + run % self.inner * self.inner_step + run / self.inner * self.outer_step
    }
}

impl<'a> RowMajorReader<'a> {
    /// A reader of an array whose elements have `element_bytes` bytes. The first element lies at `offset`. A slab takes at
    /// most `memory` bytes, or one element. The buffer for gaps takes at most [`SPAN`] bytes more.
    ///
    /// # Errors
    /// The size of the array overflows.
    pub(super) fn new(
        input: &'a dyn ReadAt,
        offset: u64,
        element_bytes: usize,
        axes: &[u64],
        memory: usize,
    ) -> Result<Self, FileError> {
        let start = offset.checked_add(element_bytes as u64);
        let end = axes.iter().try_fold(element_bytes as u64, |size, &axis| size.checked_mul(axis.max(1)));
        if start.and(end).and_then(|end| end.checked_add(offset)).is_none() {
            return Err(PlanFault::Size.into());
        }
        let axes = axes.iter().copied().filter(|&axis| axis != 1).collect();
        Ok(Self { input, offset, element_bytes, axes, memory, slab: Slab::default(), span: Vec::new() })
    }

    /// Fills `buffer` with elements from the row-major index `first` on.
    ///
    /// # Errors
    /// The input cannot be read; there is no memory; the buffer is not a whole number of elements, or has more elements
    /// than follow in the array.
    pub(super) fn read(&mut self, mut first: u64, mut buffer: &mut [u8]) -> Result<(), FileError> {
        let size = self.element_bytes;
        let last = (buffer.len() / size.max(1)) as u64;
        let elements = self.axes.iter().product::<u64>();
        if size == 0 || !buffer.len().is_multiple_of(size) || first.checked_add(last).is_none_or(|end| end > elements) {
            return Err(FileCause::Read { bytes: None, error: io::ErrorKind::InvalidInput.into() }.into());
        }
        if self.axes.len() <= 1 {
            return read_at(self.input, self.offset + first * size as u64, buffer);
        }
        while !buffer.is_empty() {
            if !self.slab.range.contains(&first) {
                self.read_slab(first)?;
            }
            let held = (self.slab.range.end - first).min((buffer.len() / size) as u64);
            let (piece, rest) = buffer.split_at_mut(held as usize * size);
            let skipped = (first - self.slab.range.start) as usize;
            copy_row_major(&self.slab.bytes, size, &self.slab.axes, skipped, piece);
            (first, buffer) = (first + held, rest);
        }
        Ok(())
    }

    /// Reads the slab that contains the element `first`. It starts with the last element up to `first` with which a slab
    /// can start.
    fn read_slab(&mut self, first: u64) -> Result<(), FileError> {
        let room = (self.memory / self.element_bytes).max(1) as u64;
        // A slab is a range of one axis, the divided one, and all of the axes after it. The divided axis is the first one
        // for which the elements of the axes after it (`rest`) fit into memory.
        let rest = |axis: usize| self.axes[axis + 1..].iter().product::<u64>();
        let axis = (0..self.axes.len()).find(|&axis| rest(axis) <= room).unwrap_or(self.axes.len() - 1);
        let (length, rest) = (self.axes[axis], rest(axis));
        // The slabs get about equal sizes: a short last one would have short runs, which are slow to read.
        let rows = length.div_ceil(length.div_ceil((room / rest).max(1)));
        let row = first / rest;
        let start = row % length;
        let rows = rows.min(length - start);

        // `row / length` is the row-major index of the axes in front of the divided one, and `prefix` their column-major
        // index. In the file, elements along the divided axis lie `step` elements apart. They are one run if `step` is 1.
        let step: u64 = self.axes[..axis].iter().product();
        let (mut prefix, mut index, mut stride) = (0, row / length, step);
        for &length in self.axes[..axis].iter().rev() {
            stride /= length;
            prefix += index % length * stride;
            index /= length;
        }
        let size = self.element_bytes as u64;
        let run = if step == 1 { rows } else { 1 };
        let runs = Runs {
            start: self.offset + (prefix + step * start) * size,
            length: run * size,
            inner: rows / run,
            inner_step: step * size,
            outer: rest,
            outer_step: step * length * size,
        };

        self.slab.range = 0..0;
        resize(&mut self.slab.bytes, rows * rest * size)?;
        self.read_runs(&runs)?;
        // The lengths fit `usize`, because no axis of the slab is longer than the slab, which is in memory.
        self.slab.axes.clear();
        self.slab.axes.push(rows as usize);
        self.slab.axes.extend(self.axes[axis + 1..].iter().map(|&length| length as usize));
        self.slab.range = row * rest..(row + rows) * rest;
        Ok(())
    }

    /// Reads the runs into the slab, one after the other.
    fn read_runs(&mut self, runs: &Runs) -> Result<(), FileError> {
        if runs.inner == 1 && runs.outer_step == runs.length {
            return read_at(self.input, runs.start, &mut self.slab.bytes);
        }
        let length = runs.length as usize;
        let (mut run, mut slab) = (0, &mut self.slab.bytes[..]);
        while run < runs.count() {
            let start = runs.offset(run);
            let (mut end, mut after) = (start + runs.length, run + 1);
            while after < runs.count() {
                let next = runs.offset(after);
                if next - end > GAP.max(runs.length / 4) || next + runs.length - start > SPAN {
                    break;
                }
                (end, after) = (next + runs.length, after + 1);
            }
            let (found, rest) = slab.split_at_mut((after - run) as usize * length);
            if after == run + 1 {
                read_at(self.input, start, found)?;
            } else {
                resize(&mut self.span, end - start)?;
                read_at(self.input, start, &mut self.span)?;
                for (run, found) in (run..after).zip(found.chunks_exact_mut(length)) {
                    let at = (runs.offset(run) - start) as usize;
                    found.copy_from_slice(&self.span[at..at + length]);
                }
            }
            (run, slab) = (after, rest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random numbers: a linear congruential generator.
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % limit
        }
    }

    /// The column-major index of each element in row-major order, one axis at a time.
    fn order(axes: &[u64]) -> Vec<u64> {
        let mut found = vec![0];
        let mut stride = 1;
        for &axis in axes {
            found = found.iter().flat_map(|first| (0..axis).map(move |index| first + index * stride)).collect();
            stride *= axis;
        }
        found
    }

    #[test]
    fn pieces_are_those_of_the_array_in_row_major_order() {
        let mut random = Random(1);
        for case in 0..600 {
            let mut axes: Vec<u64> = (0..random.below(6)).map(|_| random.below(6) + 1).collect();
            match case % 4 {
                0 => axes.push(random.below(200) + 1),
                1 => axes.insert(0, random.below(200) + 1),
                2 => axes = vec![2; random.below(11) as usize],
                _ => {}
            }
            let size = [1, 2, 3, 4, 8, 20][random.below(6) as usize];
            let order = order(&axes);
            let offset = random.below(50);
            let file: Vec<u8> = (0..offset + order.len() as u64 * size).map(|at| ((at * 151) >> 3) as u8).collect();
            let element = |index: u64| &file[(offset + index * size) as usize..][..size as usize];
            let expected: Vec<u8> = order.iter().flat_map(|&index| element(index).iter().copied()).collect();
            let memory = random.below(2 * expected.len() as u64) as usize;
            let mut reader = RowMajorReader::new(&file, offset, size as usize, &axes, memory).unwrap();
            let piece = 1 + random.below(order.len() as u64);
            let mut found = vec![0; expected.len()];
            let mut first = 0;
            for buffer in found.chunks_mut((piece * size) as usize) {
                reader.read(first, buffer).unwrap();
                first += piece;
            }
            assert!(found == expected, "{axes:?} of {size} bytes, {memory} bytes of memory, pieces of {piece}");
            assert!(reader.slab.bytes.capacity() <= memory.max(size as usize), "{axes:?} of {size} bytes: {memory}");
            // Any piece, not only the next one.
            let first = random.below(order.len() as u64);
            let mut buffer = vec![0; (size * (1 + random.below(order.len() as u64 - first))) as usize];
            reader.read(first, &mut buffer).unwrap();
            assert!(expected[(first * size) as usize..].starts_with(&buffer), "{axes:?} from {first}");
        }
    }

    fn text(result: Result<(), FileError>) -> String {
        result.unwrap_err().to_string()
    }

    /// The error names the size of the slab.
    #[test]
    fn memory_that_does_not_exist_is_named() {
        let empty = Vec::new();
        let mut reader = RowMajorReader::new(&empty, 0, 8, &[1 << 28, 1 << 28], usize::MAX).unwrap();
        let error = reader.read(0, &mut [0; 8]).unwrap_err();
        let most = if usize::BITS == 64 { 1 << 59 } else { 1 << 31 };
        assert!(matches!(error.cause(), FileCause::OutOfMemory { bytes } if *bytes == most), "{error:?}");
    }

    #[test]
    fn what_does_not_exist_is_an_error() {
        let file = vec![0; 24];
        let mut reader = RowMajorReader::new(&file, 0, 4, &[2, 3], 100).unwrap();
        for (first, bytes) in [(6, 4), (5, 8), (0, 5), (u64::MAX, 4)] {
            let error = text(reader.read(first, &mut vec![0; bytes]));
            assert_eq!(error, "cannot read: invalid input parameter", "{bytes} bytes from {first}");
        }
        reader.read(6, &mut []).unwrap();
        let overflow = RowMajorReader::new(&file, 0, 4, &[1 << 32, 1 << 31], 100).map(|_| ());
        assert_eq!(text(overflow), "a size in bytes overflows");
        let mut truncated = RowMajorReader::new(&file, 4, 4, &[2, 3], 100).unwrap();
        assert_eq!(text(truncated.read(0, &mut [0; 4])), "cannot read 24 bytes at offset 4: unexpected end of file");
        // An empty array has nothing to read.
        RowMajorReader::new(&file, 0, 4, &[3, 0], 100).unwrap().read(0, &mut []).unwrap();
    }

    /// The whole address space is claimed, but only what a piece needs is allocated and read.
    #[test]
    fn an_array_larger_than_memory_is_read_in_slabs() {
        struct Zeros;
        impl ReadAt for Zeros {
            fn read_exact_at(&self, _: u64, buffer: &mut [u8]) -> io::Result<()> {
                assert!(buffer.len() <= 1 << 20);
                buffer.fill(7);
                Ok(())
            }
            fn size(&self) -> io::Result<u64> {
                Ok(1 << 60)
            }
        }
        for axes in [[1 << 28, 1 << 28], [2, 1 << 50], [1 << 50, 2]] {
            let mut reader = RowMajorReader::new(&Zeros, 0, 4, &axes, 1 << 16).unwrap();
            let mut buffer = [0; 32];
            reader.read((1 << 40) + 1, &mut buffer).unwrap();
            assert_eq!(buffer, [7; 32]);
        }
    }
}
