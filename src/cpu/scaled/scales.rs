//! Scales of blocks of a tensor.

use std::iter;

use crate::types::error::{Error, ScalesFault};

/// Scales of the blocks of a tensor, as in ONNX's DequantizeLinear: each element stands for
/// `(element − zero point) · scale`, with the scale and the zero point of its block.
///
/// | scales | `block` |
/// |---|---|
/// | one for the tensor | `shape` |
/// | one for each row | `[1, columns]` |
/// | one for every 32 elements of a row | `[1, 32]` |
/// | one for each square of 128 × 128 elements | `[128, 128]` |
///
/// Scales of other types are cast to FLOAT first, which is exact for all floats of at most 16 bits.
#[derive(Clone, Copy, Debug)]
pub struct Scales<'a> {
    pub(super) shape: &'a [usize],
    block: &'a [usize],
    pub(super) values: &'a [f32],
    pub(super) zero_points: &'a [i32],
}

impl<'a> Scales<'a> {
    /// Scales for a tensor of this shape. A scale applies to a block, which has `block[i]` elements along axis `i`; the
    /// last block of an axis may be shorter. `values` has the scale of each block in row-major order.
    ///
    /// Each axis has `shape[i] / block[i]` blocks, rounded up. A block of 0 elements is allowed along an axis of 0
    /// elements, and counts as one block, so that `block` may be the shape of every tensor that has one scale.
    ///
    /// Any FLOAT is a scale, also 0, a negative one, ∞ and NaN.
    ///
    /// # Errors
    /// [`Error::Scales`] if shape and block have different numbers of axes, if a block has no elements along an axis
    /// that has some, or if the number of scales is not that of the blocks.
    pub fn new(shape: &'a [usize], block: &'a [usize], values: &'a [f32]) -> Result<Self, Error> {
        let scales = Self { shape, block, values, zero_points: &[] };
        if shape.len() != block.len() {
            return Err(scales.error(ScalesFault::Rank));
        }
        if let Some(axis) = (0..shape.len()).find(|&axis| block[axis] == 0 && shape[axis] > 0) {
            return Err(scales.error(ScalesFault::EmptyBlock { axis }));
        }
        let expected = scales.blocks().map_or(u64::MAX, |blocks| blocks as u64);
        match values.len() as u64 {
            found if found != expected => Err(scales.error(ScalesFault::Values { expected, found })),
            _ => Ok(scales),
        }
    }

    /// These scales with the zero point of each block, which is subtracted from the elements before they are scaled.
    ///
    /// # Errors
    /// [`Error::Scales`] if the number of zero points is not that of the scales.
    pub fn with_zero_points(self, zero_points: &'a [i32]) -> Result<Self, Error> {
        let [expected, found] = [self.values.len() as u64, zero_points.len() as u64];
        match expected == found {
            true => Ok(Self { zero_points, ..self }),
            false => Err(self.error(ScalesFault::ZeroPoints { expected, found })),
        }
    }

    /// The number of elements of the tensor; `None` if it overflows.
    pub(super) fn elements(&self) -> Option<usize> {
        product(self.shape.iter().copied())
    }

    /// The number of blocks; `None` if it overflows.
    fn blocks(&self) -> Option<usize> {
        product(
            self.shape.iter().zip(self.block).map(|(&len, &block)| if block == 0 { 1 } else { len.div_ceil(block) }),
        )
    }

    fn error(&self, fault: ScalesFault) -> Error {
        Error::Scales { shape: self.shape.to_vec(), block: self.block.to_vec(), fault }
    }

    /// Where the blocks lie. The tensor must have elements.
    pub(super) fn rows(&self) -> Rows {
        // The axes from the last to the first. Axes are taken as one where the scales allow it.
        let mut axes: Vec<[usize; 2]> = Vec::with_capacity(self.shape.len() + 1);
        axes.push([1, 1]);
        for (&len, &block) in self.shape.iter().zip(self.block).rev() {
            let block = block.min(len);
            match axes.last_mut() {
                // The inner axes lie in one block.
                Some([inner, within]) if inner == within => {
                    *within *= block;
                    *inner *= len;
                }
                // The blocks of each inner axis follow those of the one before.
                Some([inner, within]) if block == 1 && (len == 1 || inner.is_multiple_of(*within)) => *inner *= len,
                _ => axes.push([len, block]),
            }
        }
        let [len, block] = axes[0];
        let mut blocks = len.div_ceil(block);
        let outer = axes[1..].iter().map(|&[len, block]| {
            let axis = Axis { len, block, step: blocks };
            blocks *= len.div_ceil(block);
            axis
        });
        Rows { outer: outer.collect(), len, block }
    }
}

/// The product of sizes, which is 0 if one of them is; `None` if it overflows.
fn product(mut sizes: impl Iterator<Item = usize> + Clone) -> Option<usize> {
    match sizes.clone().any(|size| size == 0) {
        true => Some(0),
        false => sizes.try_fold(1, |product: usize, size| product.checked_mul(size)),
    }
}

/// Where the blocks of a tensor lie. The tensor is divided into rows of the same length, and a row into blocks, the
/// last of which may be shorter. The scales of a row follow each other.
#[derive(Debug)]
pub(super) struct Rows {
    /// The axes along which the rows lie, the innermost first.
    outer: Vec<Axis>,
    /// The elements of a row.
    pub len: usize,
    /// The elements of a block in a row.
    pub block: usize,
}

#[derive(Debug)]
struct Axis {
    len: usize,
    block: usize,
    /// The distance of the scales of two blocks that follow each other along this axis.
    step: usize,
}

/// Elements of one row.
pub(super) struct Segment {
    /// The index of the first element's scale.
    pub scale: usize,
    /// The elements of its block before the first one.
    pub before: usize,
    pub elements: usize,
}

impl Rows {
    /// Whether every block begins at a multiple of `elements`.
    #[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
    pub(super) fn begin_at_multiples_of(&self, elements: usize) -> bool {
        let in_row = self.block >= self.len || self.block.is_multiple_of(elements);
        in_row && (self.outer.is_empty() || self.len.is_multiple_of(elements))
    }

    /// What `elements` elements have of each row, from element `at` on.
    #[inline(always)]
    pub(super) fn segments(&self, at: usize, mut elements: usize) -> impl Iterator<Item = Segment> + use<'_> {
        let (mut row, mut within) = (at / self.len, at % self.len);
        iter::from_fn(
            #[inline(always)]
            move || {
                let segment = Segment {
                    scale: self.first_scale(row) + within / self.block,
                    before: within % self.block,
                    elements: elements.min(self.len - within),
                };
                elements -= segment.elements;
                (row, within) = (row + 1, 0);
                (segment.elements > 0).then_some(segment)
            },
        )
    }

    /// The index of the first scale of a row.
    pub(super) fn first_scale(&self, mut row: usize) -> usize {
        let mut index = 0;
        for axis in &self.outer {
            index += row % axis.len / axis.block * axis.step;
            row /= axis.len;
        }
        index
    }
}
