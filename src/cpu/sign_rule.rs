//! What becomes of a sign when a float is rounded.

use crate::bits::reference::EncodeFloat;

/// How the sign of a code is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignRule {
    /// A code has the source's sign, also if it is NaN.
    Kept,
    /// There is no −0; the NaN is negative.
    NoNegativeZero,
    /// NaN's sign follows `nan_keep` and `nan_flip` of [`EncodeFloat`].
    Any,
}

impl SignRule {
    pub(crate) fn new(to: &EncodeFloat) -> Self {
        match to.nan_keep {
            _ if to.fnuz => Self::NoNegativeZero,
            keep if keep == 1 << (to.bits - 1) && to.nan_flip == 0 => Self::Kept,
            _ => Self::Any,
        }
    }
}

/// The widths and rules that loops in lanes are compiled for. A compiled rule may be more general than the
/// destination's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompiledSigns {
    Kept16,
    Kept8,
    NoNegativeZero8,
    Any6,
    Any4,
}

impl CompiledSigns {
    /// `None` if no loop is compiled for the destination's width and rule.
    pub(crate) fn new(to: &EncodeFloat) -> Option<Self> {
        match (to.bits, SignRule::new(to)) {
            (16, SignRule::Kept) => Some(Self::Kept16),
            (8, SignRule::Kept) => Some(Self::Kept8),
            (8, SignRule::NoNegativeZero) => Some(Self::NoNegativeZero8),
            (6, SignRule::Kept | SignRule::Any) => Some(Self::Any6),
            (4, SignRule::Kept | SignRule::Any) => Some(Self::Any4),
            _ => None,
        }
    }
}

pub(crate) const KEPT: u8 = SignRule::Kept as u8;
pub(crate) const NO_NEGATIVE_ZERO: u8 = SignRule::NoNegativeZero as u8;
pub(crate) const ANY: u8 = SignRule::Any as u8;
