//! What becomes of a sign when a float is rounded.

use crate::bits::reference::EncodeFloat;

/// How the sign of a code is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignRule {
    /// It is the source's sign, for NaN too.
    Kept,
    /// There is no −0; the NaN is negative.
    NoNegativeZero,
    /// NaN's sign follows `nan_keep` and `nan_flip` of [`EncodeFloat`].
    Any,
}

impl SignRule {
    /// The rule that loops for the destination's width are compiled for, which may be the more general one. `None` if
    /// there are no such loops.
    pub(crate) fn compiled(to: &EncodeFloat) -> Option<Self> {
        match (to.bits, Self::new(to)) {
            (16, Self::Kept) => Some(Self::Kept),
            (8, rule @ (Self::Kept | Self::NoNegativeZero)) => Some(rule),
            (4 | 6, Self::Kept | Self::Any) => Some(Self::Any),
            _ => None,
        }
    }

    pub(crate) fn new(to: &EncodeFloat) -> Self {
        match to.nan_keep {
            _ if to.fnuz => Self::NoNegativeZero,
            keep if keep == 1 << (to.bits - 1) && to.nan_flip == 0 => Self::Kept,
            _ => Self::Any,
        }
    }
}

pub(crate) const KEPT: u8 = SignRule::Kept as u8;
pub(crate) const NO_NEGATIVE_ZERO: u8 = SignRule::NoNegativeZero as u8;
pub(crate) const ANY: u8 = SignRule::Any as u8;
