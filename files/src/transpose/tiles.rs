//! Copies elements from column-major into row-major order in memory.

/// The number of elements along each side of a tile. A tile is so small that its cache lines stay in the cache until all
/// of their elements are read or written.
const TILE: usize = 32;

/// Fills `out` with elements of a column-major array in row-major order, from the row-major index `first` on. Each
/// element has `size` bytes.
pub(super) fn copy_row_major(source: &[u8], size: usize, axes: &[usize], first: usize, out: &mut [u8]) {
    match size {
        1 => for_each_tile(axes, first, out.len(), &mut |tile| copy_bytes(source, tile, out)),
        2 => copy_elements::<2>(source, axes, first, out),
        4 => copy_elements::<4>(source, axes, first, out),
        8 => copy_elements::<8>(source, axes, first, out),
        _ => {
            let count = out.len() / size;
            for_each_tile(axes, first, count, &mut |tile| {
                tile.for_each(|from, to| {
                    out[to * size..][..size].copy_from_slice(&source[from * size..][..size]);
                });
            });
        }
    }
}

fn copy_elements<const SIZE: usize>(source: &[u8], axes: &[usize], first: usize, out: &mut [u8]) {
    let (source, out) = (source.as_chunks::<SIZE>().0, out.as_chunks_mut::<SIZE>().0);
    for_each_tile(axes, first, out.len(), &mut |tile| tile.for_each(|from, to| out[to] = source[from]));
}

/// The side of a square of bytes in registers.
const SIDE: usize = 8;

/// Copies a tile of bytes, in squares where rows follow one another in the source.
fn copy_bytes(source: &[u8], tile: Tile<'_>, out: &mut [u8]) {
    let Tile { rows, columns } = tile;
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return };
    if last.0 - first.0 != rows.len() - 1 {
        return tile.for_each(|from, to| out[to] = source[from]);
    }
    let (squares, rest) = columns.as_chunks::<SIDE>();
    let (bands, last_rows) = rows.as_chunks::<SIDE>();
    for (index, columns) in squares.iter().enumerate() {
        for band in bands {
            let words = columns.map(|column| word(&source[band[0].0 + column..]));
            for (row, word) in band.iter().zip(transposed(words)) {
                out[row.1 + index * SIDE..][..SIDE].copy_from_slice(&word.to_le_bytes());
            }
        }
    }
    let after = squares.len() * SIDE;
    Tile { rows, columns: rest }.for_each(|from, to| out[to + after] = source[from]);
    Tile { rows: last_rows, columns: &columns[..after] }.for_each(|from, to| out[to] = source[from]);
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(*bytes.first_chunk().expect("a column has the rows of a band"))
}

/// Byte `j` of word `i` becomes byte `i` of word `j`: squares of four, two and one byte change places.
fn transposed(mut words: [u64; SIDE]) -> [u64; SIDE] {
    for side in [4, 2, 1] {
        let (bits, low) = (8 * side, u64::MAX / ((1 << (8 * side)) + 1));
        for i in (0..SIDE).filter(|i| i & side == 0) {
            let (a, b) = (words[i], words[i + side]);
            words[i] = a & low | (b & low) << bits;
            words[i + side] = a >> bits & low | b & !low;
        }
    }
    words
}

/// Calls `copy` for tiles that have each of `count` elements once. Places in the result are less `first`.
fn for_each_tile(axes: &[usize], first: usize, count: usize, copy: &mut impl FnMut(Tile<'_>)) {
    let last = axes.len() - 1;
    let rest = |axis: usize| axes[axis + 1..].iter().product::<usize>();
    let mut done = 0;
    while done < count {
        // The largest block that starts at `at` and does not end beyond `count`: a range of one axis, and all of the axes
        // after it.
        let at = first + done;
        let starts = |axis: &usize| at.is_multiple_of(rest(*axis)) && done + rest(*axis) <= count;
        let divided = (0..last).find(starts).unwrap_or(last);
        let mut block = Block { axes: Vec::new(), source: 0, out: done };
        let mut step = 1;
        for (axis, &length) in axes.iter().enumerate() {
            let (rest, mut length) = (rest(axis), length);
            if axis <= divided {
                let index = at / rest % length;
                block.source += index * step;
                length = if axis == divided { (length - index).min((count - done) / rest) } else { 1 };
            }
            if axis >= divided {
                block.axes.push(Axis { length, source_step: step, out_step: rest });
            }
            step *= axes[axis];
        }
        done += block.axes[0].length * block.axes[0].out_step;
        block.for_each_tile(copy);
    }
}

struct Axis {
    length: usize,
    source_step: usize,
    out_step: usize,
}

/// Elements that follow one another in row-major order: a range of the first of `axes`, and all of the others.
struct Block {
    axes: Vec<Axis>,
    /// The index of the first element in the source.
    source: usize,
    /// The index of the first element in the result.
    out: usize,
}

impl Block {
    fn for_each_tile(&self, copy: &mut impl FnMut(Tile<'_>)) {
        // Where one axis is shorter than a tile, several axes together are a side of it.
        let mut start = self.axes.len();
        while start > 0 && length(&self.axes[start..]) < TILE {
            start -= 1;
        }
        let mut end = 0;
        while end < start && length(&self.axes[..end]) < TILE {
            end += 1;
        }
        let (rows, between, columns) = (&self.axes[..end], &self.axes[end..start], &self.axes[start..]);
        let (mut rows_of, mut columns_of) = ([(0, 0); TILE], [0; TILE]);
        for index in 0..length(between) {
            let at = position(between, index);
            let (source, out) = (self.source + at.0, self.out + at.1);
            for column in (0..length(columns)).step_by(TILE) {
                let width = TILE.min(length(columns) - column);
                for (index, place) in columns_of[..width].iter_mut().enumerate() {
                    *place = position_of_last_first(columns, column + index);
                }
                for row in (0..length(rows)).step_by(TILE) {
                    let height = TILE.min(length(rows) - row);
                    for (index, place) in rows_of[..height].iter_mut().enumerate() {
                        let at = position(rows, row + index);
                        *place = (source + at.0, out + column + at.1);
                    }
                    copy(Tile { rows: &rows_of[..height], columns: &columns_of[..width] });
                }
            }
        }
    }
}

/// Where the elements of a tile lie.
#[derive(Clone, Copy)]
struct Tile<'a> {
    /// The places of the first element of each row, in the source and in the result.
    rows: &'a [(usize, usize)],
    /// The distances of the columns in the source from the first element of a row. In the result, they follow one
    /// another.
    columns: &'a [usize],
}

impl Tile<'_> {
    /// Calls `copy` with the place of each element in the source and in the result.
    fn for_each(self, mut copy: impl FnMut(usize, usize)) {
        for &(source, out) in self.rows {
            for (index, &at) in self.columns.iter().enumerate() {
                copy(source + at, out + index);
            }
        }
    }
}

fn length(axes: &[Axis]) -> usize {
    axes.iter().map(|axis| axis.length).product()
}

/// The place of an element in the source and in the result. The first axis varies fastest.
fn position(axes: &[Axis], mut index: usize) -> (usize, usize) {
    axes.iter().fold((0, 0), |(source, out), axis| {
        let along = index % axis.length;
        index /= axis.length;
        (source + along * axis.source_step, out + along * axis.out_step)
    })
}

/// The place of an element in the source. The last axis varies fastest.
fn position_of_last_first(axes: &[Axis], mut index: usize) -> usize {
    axes.iter().rev().fold(0, |source, axis| {
        let along = index % axis.length;
        index /= axis.length;
        source + along * axis.source_step
    })
}
