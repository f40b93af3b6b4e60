//! Rounding of 16-bit floats to floats of at most 8 bits in 16-bit lanes. A vector holds twice as many of these lanes
//! as of 32-bit lanes. The speed is 1.3 times that of `Round` in the mean of its pairs, and up to 2.9 times.

use super::round::signed;
use super::{ShortSink, Sink};
use crate::bits::format::FloatFormat;
use crate::bits::reference::EncodeFloat;
use crate::cpu::codes::F16_MAGNITUDE;
use crate::cpu::lanes::{Lanes, powers};
use crate::cpu::sign_rule::{ANY, CompiledSigns, KEPT, NO_NEGATIVE_ZERO};
use crate::cpu::source::Codes16;

/// How the source's exponent fields relate to the destination's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExponentRule {
    /// They are the same.
    Same,
    /// The destination's are larger by one. Adding 1 to the exponent of a normal number and doubling a subnormal
    /// changes the bias.
    Next,
    /// The destination's are smaller, and all subnormals of the source become zero.
    Smaller,
}

const SAME: u8 = ExponentRule::Same as u8;
const NEXT: u8 = ExponentRule::Next as u8;
const SMALLER: u8 = ExponentRule::Smaller as u8;

/// The rounding to a destination.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RoundingIn16Bits {
    Same8(RoundIn16Bits<8, SAME, KEPT>),
    Next8NoNegativeZero(RoundIn16Bits<8, NEXT, NO_NEGATIVE_ZERO>),
    Smaller8(RoundIn16Bits<8, SMALLER, KEPT>),
    Smaller8NoNegativeZero(RoundIn16Bits<8, SMALLER, NO_NEGATIVE_ZERO>),
    Smaller6(RoundIn16Bits<6, SMALLER, ANY>),
    Smaller4(RoundIn16Bits<4, SMALLER, ANY>),
}

impl RoundingIn16Bits {
    /// `None` where no rounding serves.
    pub(crate) fn new(from: &FloatFormat, to: &EncodeFloat) -> Option<Self> {
        let signs = CompiledSigns::new(to)?;
        // The shift must be less than 16 bits, and `powers` has eight entries.
        if from.bits() != 16
            || to.bits > 8
            || to.man >= from.man_bits
            || to.man + 3 > 8
            || to.overflow != to.max && to.overflow != to.max + 1
        {
            return None;
        }
        match (from.bias as i32 - to.bias as i32, signs) {
            (0, CompiledSigns::Kept8) => Some(Self::Same8(RoundIn16Bits::new(from, to))),
            (-1, CompiledSigns::NoNegativeZero8) => Some(Self::Next8NoNegativeZero(RoundIn16Bits::new(from, to))),
            // With this difference, half of the destination's least subnormal is at least the source's least normal
            // number, so that all subnormals of the source become zero.
            (rebias, _) if rebias > to.man as i32 => match signs {
                CompiledSigns::Kept8 => Some(Self::Smaller8(RoundIn16Bits::new(from, to))),
                CompiledSigns::NoNegativeZero8 => Some(Self::Smaller8NoNegativeZero(RoundIn16Bits::new(from, to))),
                CompiledSigns::Any6 => Some(Self::Smaller6(RoundIn16Bits::new(from, to))),
                CompiledSigns::Any4 => Some(Self::Smaller4(RoundIn16Bits::new(from, to))),
                CompiledSigns::Kept16 => None,
            },
            _ => None,
        }
    }
}

/// Rounding to `BITS` bits by the [`ExponentRule`] `RULE` and the sign rule `SIGNS`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundIn16Bits<const BITS: usize, const RULE: u8, const SIGNS: u8> {
    to: EncodeFloat,
    /// The number of significand bits of the source.
    man: u32,
    /// Significand bits of the source minus those of the destination.
    down: u32,
    infinity: u16,
    /// The magnitude whose code everything out of range gets.
    limit: u16,
    /// The exponent field that the destination's least normal number has in the source's format.
    least: u16,
    powers: [u8; 16],
}

impl<const BITS: usize, const RULE: u8, const SIGNS: u8> RoundIn16Bits<BITS, RULE, SIGNS> {
    fn new(from: &FloatFormat, to: &EncodeFloat) -> Self {
        let man = from.man_bits;
        let down = man - to.man;
        let rebias = from.bias.saturating_sub(to.bias) as u16;
        Self {
            to: *to,
            man,
            down,
            infinity: from.top() as u16,
            limit: (to.overflow << down) as u16 + (rebias << man),
            least: rebias + 1,
            powers: powers(down),
        }
    }
}

impl<const BITS: usize> ShortSink for RoundIn16Bits<BITS, SMALLER, ANY> {
    type InBytes = RoundIn16Bits<8, SMALLER, ANY>;
    fn in_bytes(self) -> Self::InBytes {
        let Self { to, man, down, infinity, limit, least, powers } = self;
        RoundIn16Bits { to, man, down, infinity, limit, least, powers }
    }
}

impl<L: Lanes, const BITS: usize, const RULE: u8, const SIGNS: u8> Sink<L, Codes16>
    for RoundIn16Bits<BITS, RULE, SIGNS>
{
    const BITS: usize = BITS;

    #[inline(always)]
    fn codes(self, l: L, _: Codes16, bytes: &[u8]) -> L::U16 {
        let floats = l.load_u16(bytes);
        let magnitude = l.and_u16(floats, l.splat_u16(F16_MAGNITUDE));
        let limit = l.splat_u16(self.limit);
        let code = if RULE == SMALLER {
            let bounded = l.min_u16(magnitude, limit);
            let exponent = l.shr_u16(bounded, self.man);
            let least = l.splat_u16(self.least);
            // With a shift of two more than the least subnormal needs, every number rounds to zero.
            let below = l.min_u16(l.sub_or_zero_u16(least, exponent), l.splat_u16(self.to.man as u16 + 2));
            let implicit = 1 << self.man;
            let significand = l.or_u16(l.and_u16(bounded, l.splat_u16(implicit - 1)), l.splat_u16(implicit));
            let rounded = l.round_shift_u16(significand, below, self.down, self.powers);
            l.add_u16(rounded, l.shl_u16(l.sub_or_zero_u16(exponent, least), self.to.man))
        } else {
            let doubled = l.add_u16(magnitude, l.min_u16(magnitude, l.splat_u16(1 << self.man)));
            let value = if RULE == NEXT { doubled } else { magnitude };
            let bounded = l.min_u16(value, limit);
            let odd = l.and_u16(l.shr_u16(bounded, self.down), l.splat_u16(1));
            let half = l.add_u16(odd, l.splat_u16((1 << (self.down - 1)) - 1));
            l.shr_u16(l.add_u16(bounded, half), self.down)
        };
        let is_nan = l.greater_u16(magnitude, l.splat_u16(self.infinity));
        signed::<L, BITS, SIGNS>(l, code, floats, is_nan, &self.to)
    }
}
