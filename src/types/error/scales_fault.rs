//! What can be wrong with the scales of a tensor.

use std::fmt;

use super::text::counted;

/// What is wrong with scales: the fault in an [`Error::Scales`](crate::Error::Scales). The text of that error has the
/// shape and the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScalesFault {
    /// The shape and the block have different numbers of axes.
    Rank,
    /// The block has no elements along an axis that has some.
    #[non_exhaustive]
    EmptyBlock {
        /// The axis.
        axis: usize,
    },
    /// There is not one scale for each block.
    #[non_exhaustive]
    Values {
        /// The number of blocks; `u64::MAX` if it does not fit in 64 bits.
        expected: u64,
        /// The number of scales.
        found: u64,
    },
    /// There is not one zero point for each block.
    #[non_exhaustive]
    ZeroPoints {
        /// The number of blocks.
        expected: u64,
        /// The number of zero points.
        found: u64,
    },
}

impl fmt::Display for ScalesFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Rank => f.write_str("the numbers of axes differ"),
            Self::EmptyBlock { axis } => write!(f, "the block has no elements along axis {axis}"),
            Self::Values { expected, found } => write!(f, "{} needed, got {found}", counted(expected, "scale")),
            Self::ZeroPoints { expected, found } => {
                write!(f, "{} needed, got {found}", counted(expected, "zero point"))
            }
        }
    }
}
