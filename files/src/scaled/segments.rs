//! A range of the elements of a matrix, divided into parts that `cpu::cast_scaled` takes: whole rows, or a range of one
//! row.

use std::ops::Range;

use super::ScaledCast;

/// A part of the elements that is a matrix of whole blocks, or begins with the rest of blocks whose scales it has.
pub(super) struct Segment {
    /// The elements, in the order of the output.
    pub elements: Range<u64>,
    /// The rows and the columns.
    pub shape: [usize; 2],
    /// The rows and the columns of a block.
    pub block: [usize; 2],
    /// The scales, in row-major order. They follow one another.
    pub scales: Range<u64>,
}

impl ScaledCast {
    /// Divides a range of elements.
    pub(super) fn segments(&self, range: Range<u64>) -> impl Iterator<Item = Segment> {
        let (columns, [rows_of_block, columns_of_block], of_row) = (self.columns, self.block, self.scales_of_row());
        let mut at = range.start;
        std::iter::from_fn(move || {
            if at >= range.end {
                return None;
            }
            let (start, row, column) = (at, at / columns, at % columns);
            let scale_row = row / rows_of_block * of_row;
            let (shape, scales) = if column > 0 || range.end - start < columns {
                // A range of one row. It ends with a block if it begins inside it.
                let rest = columns_of_block - column % columns_of_block;
                let length = (columns - column).min(range.end - start);
                let length = if column.is_multiple_of(columns_of_block) { length } else { length.min(rest) };
                let first = scale_row + column / columns_of_block;
                ([1, length], first..first + length.div_ceil(columns_of_block))
            } else {
                // Whole rows. They end with a row of blocks if they begin inside it.
                let rest = rows_of_block - row % rows_of_block;
                let rows = range.end / columns - row;
                let rows = if row.is_multiple_of(rows_of_block) { rows } else { rows.min(rest) };
                ([rows, columns], scale_row..scale_row + rows.div_ceil(rows_of_block) * of_row)
            };
            at = start + shape[0] * shape[1];
            let block = [0, 1].map(|axis| self.block[axis].min(shape[axis]) as usize);
            Some(Segment { elements: start..at, shape: shape.map(|length| length as usize), block, scales })
        })
    }
}
