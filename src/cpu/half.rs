//! 16-bit floats to narrower ones and those of smaller exponents, in words of 16 bits: twice as many at a time as there
//! are binary32 hubs.

use super::encode::Signs;
use crate::conversion::{Conversion, Encode};
use crate::element::Kind;
use crate::reference::EncodeFloat;

/// The numbers of one pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HalfRounding {
    pub way: Way,
    pub signs: Signs,
    pub to: EncodeFloat,
    /// The source's significand bits, zeros put below them, and those that the destination lacks then.
    pub man: u32,
    pub up: u32,
    pub down: u32,
    pub infinity: u16,
    /// The number whose code is that of everything out of range.
    pub limit: u16,
    /// Exponent field of the destination's least normal number.
    pub least: u16,
}

/// How exponents become the destination's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// They are the same ones.
    Same,
    /// They are larger by one, so that subnormals double.
    Next,
    /// They are smaller, and the source's subnormals all become zero.
    Smaller,
}

impl HalfRounding {
    /// `None` for other pairs, and where none of the ways serves.
    pub(crate) fn new(conversion: &Conversion) -> Option<Self> {
        let (Kind::Float(from), Encode::Float(to)) = (conversion.from.kind(), conversion.encode) else { return None };
        if from.bits() != 16
            || to.bits == 16 && to.man <= from.man_bits
            || to.overflow != to.max && to.overflow != to.max + 1
        {
            return None;
        }
        let man = from.man_bits;
        let up = (to.man + 1).saturating_sub(man);
        let down = man + up - to.man;
        if down + to.man + 2 > 15 {
            return None;
        }
        let rebias = from.bias as i32 - to.bias as i32;
        let way = match rebias {
            0 | -1 if to.bits != 8 => return None,
            0 => Way::Same,
            -1 if to.fnuz => Way::Next,
            // Half the least subnormal is then no less than the source's least normal number.
            _ if rebias > to.man as i32 => Way::Smaller,
            _ => return None,
        };
        let rebias = rebias.max(0) as u16;
        Some(Self {
            way,
            signs: Signs::new(&to),
            to,
            man,
            up,
            down,
            infinity: from.infinity()? as u16,
            limit: (to.overflow << down >> up) as u16 + (rebias << man),
            least: rebias + 1,
        })
    }

    /// The code of a float, where there are shifts of 16-bit words by each one's own amount.
    #[inline(always)]
    pub(crate) fn code<const WAY: u8, const SIGNS: u8>(&self, float: u16) -> u16 {
        let magnitude = float & 0x7fff;
        let code = if WAY == SMALLER {
            let bounded = magnitude.min(self.limit);
            let exponent = bounded >> self.man;
            // Two below the least subnormal, all is cut and less than half.
            let below = self.least.saturating_sub(exponent).min(self.to.man as u16 + 2);
            let implicit = 1 << self.man;
            let significand = (bounded & (implicit - 1) | implicit) << self.up;
            // As the twin's `round_shift`.
            let shift = (self.down as u16 + below) & 15;
            let half = ((1 << shift) - 1) >> 1;
            let rounded = (significand + half + (significand >> shift & 1)) >> shift;
            rounded + (exponent.saturating_sub(self.least) << self.to.man)
        } else {
            let value = if WAY == NEXT { magnitude + magnitude.min(1 << self.man) } else { magnitude };
            let bounded = value.min(self.limit);
            let half = (1 << (self.down - 1)) - 1;
            (bounded + half + (bounded >> self.down & 1)) >> self.down
        };
        let is_nan = magnitude > self.infinity;
        let code = if is_nan { self.to.nan as u16 } else { code };
        let sign = float >> (16 - self.to.bits) & 1 << (self.to.bits - 1);
        let sign = if SIGNS == Signs::Any as u8 && is_nan {
            sign & self.to.nan_keep as u16 ^ self.to.nan_flip as u16
        } else if SIGNS == Signs::NoNegativeZero as u8 && code == 0 {
            0
        } else {
            sign
        };
        code | sign
    }
}

pub(crate) const SAME: u8 = Way::Same as u8;
pub(crate) const NEXT: u8 = Way::Next as u8;
pub(crate) const SMALLER: u8 = Way::Smaller as u8;
