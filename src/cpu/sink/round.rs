//! Rounding to floats of at most 16 bits, to nearest with ties to even.
//!
//! The source gives binary32 numbers, rounded to odd where binary32 holds less, so that this rounding is the only one. What
//! is left to do when there are 16-bit lanes, signs and NaNs, is done in those.

use super::Sink;
use crate::cpu::lanes::Lanes;
use crate::cpu::source::{BOUND, Parts, Source};
use crate::reference::EncodeFloat;

const MAN: u32 = 23;
const BIAS: u32 = 127;
const INFINITY: u32 = 0x7f80_0000;

/// How a magnitude is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoundMethod {
    /// By adding a power of two: the processor rounds.
    Add,
    /// The bias is binary32's, so that no exponent changes: by shifting.
    Shift,
}

/// What becomes of the sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignRule {
    /// It is the source's, NaN's too.
    Kept,
    /// There is no −0; the NaN is negative.
    NoNegativeZero,
    /// NaN has its own rule.
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

pub(crate) const KEPT: u8 = SignRule::Kept as u8;
pub(crate) const NO_NEGATIVE_ZERO: u8 = SignRule::NoNegativeZero as u8;
pub(crate) const ANY: u8 = SignRule::Any as u8;

/// Codes of magnitudes with their signs, and NaN's, by the [`SignRule`] `SIGNS`.
#[inline(always)]
pub(crate) fn signed<L: Lanes, const BITS: usize, const SIGNS: u8>(
    l: L,
    magnitude: L::U16,
    sign: L::U16,
    is_nan: L::M16,
    to: &EncodeFloat,
) -> L::U16 {
    let sign = l.and_u16(l.shr_u16(sign, 16 - BITS as u32), l.splat_u16(1 << (BITS - 1)));
    let codes = l.select_u16(is_nan, l.splat_u16(to.nan as u16), magnitude);
    let zero = l.splat_u16(0);
    let sign = match SIGNS {
        KEPT => sign,
        NO_NEGATIVE_ZERO => l.select_u16(l.equal_u16(codes, zero), zero, sign),
        _ => {
            let kept = l.and_u16(sign, l.splat_u16(to.nan_keep as u16));
            l.select_u16(is_nan, l.xor_u16(kept, l.splat_u16(to.nan_flip as u16)), sign)
        }
    };
    l.or_u16(codes, sign)
}

/// Rounding to `BITS` bits by the [`SignRule`] `SIGNS`; `ADD` is [`RoundMethod::Add`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round<const BITS: usize, const ADD: bool, const SIGNS: u8> {
    to: EncodeFloat,
    /// The number whose code is that of everything out of range: larger ones count as it.
    limit: u32,
    /// Exponent field of the destination's least normal number.
    least: u32,
    /// Added to an exponent field: the number whose last place is that of the destination's significand.
    raise: u32,
    down: u32,
}

impl RoundMethod {
    /// `None` where neither method serves.
    pub(crate) fn new(to: &EncodeFloat) -> Option<Self> {
        let rebias = BIAS.checked_sub(to.bias)?;
        // Rounding makes the code of out of range of all that is larger than `max`, if it is the next one.
        if to.overflow != to.max && to.overflow != to.max + 1 {
            return None;
        }
        let down = MAN - to.man;
        let limit = (to.overflow << down) + (rebias << MAN);
        match rebias {
            0 => Some(Self::Shift),
            // Else the addition would meet infinities, or a source that is bounded numbers in range.
            _ if (limit & INFINITY) + (down << MAN) < INFINITY && limit <= (BOUND as f32).to_bits() => Some(Self::Add),
            _ => None,
        }
    }
}

impl<const BITS: usize, const ADD: bool, const SIGNS: u8> Round<BITS, ADD, SIGNS> {
    pub(crate) fn new(to: EncodeFloat) -> Self {
        let (rebias, down) = (BIAS - to.bias, MAN - to.man);
        Self {
            to,
            limit: (to.overflow << down) + (rebias << MAN),
            least: (rebias + 1) << MAN,
            raise: down << MAN,
            down,
        }
    }

    #[inline(always)]
    fn add<L: Lanes>(&self, l: L, magnitude: L::U32) -> L::U32 {
        let bounded = l.min_i32(magnitude, l.splat_u32(self.limit));
        let exponent = l.max_i32(l.and_u32(bounded, l.splat_u32(INFINITY)), l.splat_u32(self.least));
        // A power of two is added whose last place is the destination's, so that the processor rounds there; the
        // sum's last bits are then the significand, the implicit bit included.
        let unit = l.add_u32(exponent, l.splat_u32(self.raise));
        let significand = l.sub_u32(l.add_f32(bounded, unit), unit);
        l.add_u32(significand, l.shr_by_u32(l.sub_u32(exponent, l.splat_u32(self.least)), self.down))
    }

    /// Integers are never subnormal: the significand's last bits are cut, and the exponent is rebiased. What is less than the
    /// destination's exponents is 0.
    #[inline(always)]
    fn normal<L: Lanes>(&self, l: L, magnitude: L::U32) -> L::U32 {
        let bounded = l.min_i32(magnitude, l.splat_u32(self.limit));
        let base = (self.least >> self.down) - (1 << self.to.man);
        let code = l.sub_u32(half_up(l, bounded, self.down), l.splat_u32(base));
        l.max_i32(code, l.splat_u32(0))
    }
}

/// A magnitude without its last bits, to nearest: up by half the last place, or by one less where the last bit is even.
#[inline(always)]
fn half_up<L: Lanes>(l: L, magnitude: L::U32, down: u32) -> L::U32 {
    let odd = l.and_u32(l.shr_by_u32(magnitude, down), l.splat_u32(1));
    let half = l.add_u32(odd, l.splat_u32((1 << (down - 1)) - 1));
    l.shr_by_u32(l.add_u32(magnitude, half), down)
}

impl<L: Lanes, S: Source<L>, const BITS: usize, const ADD: bool, const SIGNS: u8> Sink<L, S>
    for Round<BITS, ADD, SIGNS>
{
    const BITS: usize = BITS;

    #[inline(always)]
    fn codes(self, l: L, source: S, bytes: &[u8]) -> L::U16 {
        let Parts { magnitude, sign, is_nan } = source.parts(l, bytes);
        let codes = match (ADD, S::NANS) {
            (true, true) => self.add(l, magnitude),
            (true, false) => self.normal(l, magnitude),
            (false, _) => half_up(l, magnitude, 16),
        };
        let codes = l.narrow(codes);
        match (S::SIGNED, S::NANS) {
            (false, _) => codes,
            // Integers have no −0, and none of them rounds to it.
            (true, false) => {
                let sign = l.shr_u16(sign, 16 - BITS as u32);
                l.or_u16(codes, l.and_u16(sign, l.splat_u16(1 << (BITS - 1))))
            }
            (true, true) => signed::<L, BITS, SIGNS>(l, codes, sign, is_nan, &self.to),
        }
    }
}
