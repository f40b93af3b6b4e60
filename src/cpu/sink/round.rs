//! Rounding to floats of at most 16 bits, to nearest with ties to even.
//!
//! The source gives binary32 numbers, rounded to odd if binary32 cannot hold them, so that this is the only rounding. A
//! source may replace an integer that is out of range for every destination by another such number. Signs and NaNs are
//! handled last, in 16-bit lanes: a vector holds twice as many of them as 32-bit lanes.

use super::{ShortSink, Sink};
use crate::bits::reference::EncodeFloat;
use crate::cpu::codes::{F32_BIAS, F32_INFINITY, F32_MAN};
use crate::cpu::lanes::{BOUND, Lanes};
use crate::cpu::sign_rule::{ANY, CompiledSigns, KEPT, NO_NEGATIVE_ZERO};
use crate::cpu::source::{Numbers, SignMagnitude};

/// The bits of a code. In bytes, they are a variable: one loop serves codes of 4 and of 6 bits.
#[inline(always)]
fn code_bits<const BITS: usize, const SIGNS: u8>(to: &EncodeFloat) -> u32 {
    if BITS == 8 && SIGNS == ANY { to.bits } else { BITS as u32 }
}

/// Adds signs to the codes of magnitudes and inserts NaN, by the [`SignRule`](crate::cpu::sign_rule::SignRule) `SIGNS`.
#[inline(always)]
pub(crate) fn signed<L: Lanes, const BITS: usize, const SIGNS: u8>(
    l: L,
    magnitude: L::U16,
    sign: L::U16,
    is_nan: L::M16,
    to: &EncodeFloat,
) -> L::U16 {
    let bits = code_bits::<BITS, SIGNS>(to);
    let shifted = l.shr_u16(sign, 16 - bits);
    let sign = l.and_u16(shifted, l.splat_u16(1 << (bits - 1)));
    if SIGNS == ANY {
        let kept = l.and_u16(shifted, l.splat_u16(to.nan_keep as u16));
        let nan = l.xor_u16(kept, l.splat_u16((to.nan ^ to.nan_flip) as u16));
        return l.select_u16(is_nan, nan, l.or_u16(magnitude, sign));
    }
    let codes = l.select_u16(is_nan, l.splat_u16(to.nan as u16), magnitude);
    let zero = l.splat_u16(0);
    l.or_u16(codes, if SIGNS == KEPT { sign } else { l.select_u16(l.equal_u16(codes, zero), zero, sign) })
}

/// The values of `HOW`: by shifting, or by adding a power of two, so that the processor rounds.
const SHIFT: bool = false;
const ADD: bool = true;

/// Rounding to `BITS` bits by the [`SignRule`](crate::cpu::sign_rule::SignRule) `SIGNS`. With [`ADD`], floats are
/// rounded by adding a power of two. Integers are rounded by shifting, because they never become subnormal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round<const BITS: usize, const HOW: bool, const SIGNS: u8> {
    to: EncodeFloat,
    /// The magnitude whose code everything out of range gets. Larger magnitudes are replaced by it.
    limit: u32,
    /// The binary32 exponent field of the destination's least normal number.
    least: u32,
    /// Added to a number's exponent field. The last place of the resulting power of two is the destination's last
    /// place.
    /// Significand bits of binary32 minus those of the destination.
    raise: u32,
    down: u32,
}

/// The rounding to a destination.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rounding {
    ToBytes(RoundToBytes),
    ToPacked(RoundToPacked),
}

/// To BFLOAT16.
pub(crate) type RoundToBf16 = Round<16, SHIFT, KEPT>;

/// To codes of a whole number of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RoundToBytes {
    /// By shifting: the bias is binary32's, so that exponents stay the same.
    Shift16(RoundToBf16),
    Add16(Round<16, ADD, KEPT>),
    Add8(Round<8, ADD, KEPT>),
    Add8NoNegativeZero(Round<8, ADD, NO_NEGATIVE_ZERO>),
}

/// To codes of less than a byte.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RoundToPacked {
    Add6(Round<6, ADD, ANY>),
    Add4(Round<4, ADD, ANY>),
}

impl Rounding {
    /// `None` where no rounding serves.
    pub(crate) fn new(to: &EncodeFloat) -> Option<Self> {
        let signs = CompiledSigns::new(to)?;
        let rebias = F32_BIAS.checked_sub(to.bias)?;
        // Rounding gives the code for out of range to everything beyond `max` only if that code is `max` or the next
        // one.
        if to.overflow != to.max && to.overflow != to.max + 1 {
            return None;
        }
        let down = F32_MAN - to.man;
        let limit = (to.overflow << down) + (rebias << F32_MAN);
        if rebias == 0 {
            let is_upper_half = [to.bits, to.man] == [16, F32_MAN - 16];
            return is_upper_half.then(|| Self::ToBytes(RoundToBytes::Shift16(Round::new(to))));
        }
        // With such a destination, the addition could overflow to infinity, or integers from `BOUND` on could be in
        // range.
        if (limit & F32_INFINITY) + (down << F32_MAN) >= F32_INFINITY || limit > (BOUND as f32).to_bits() {
            return None;
        }
        match signs {
            CompiledSigns::Kept16 => Some(Self::ToBytes(RoundToBytes::Add16(Round::new(to)))),
            CompiledSigns::Kept8 => Some(Self::ToBytes(RoundToBytes::Add8(Round::new(to)))),
            CompiledSigns::NoNegativeZero8 => Some(Self::ToBytes(RoundToBytes::Add8NoNegativeZero(Round::new(to)))),
            CompiledSigns::Any6 => Some(Self::ToPacked(RoundToPacked::Add6(Round::new(to)))),
            CompiledSigns::Any4 => Some(Self::ToPacked(RoundToPacked::Add4(Round::new(to)))),
        }
    }
}

impl<const BITS: usize, const HOW: bool, const SIGNS: u8> Round<BITS, HOW, SIGNS> {
    fn new(to: &EncodeFloat) -> Self {
        let (rebias, down) = (F32_BIAS - to.bias, F32_MAN - to.man);
        Self {
            to: *to,
            limit: (to.overflow << down) + (rebias << F32_MAN),
            least: (rebias + 1) << F32_MAN,
            raise: down << F32_MAN,
            down,
        }
    }

    #[inline(always)]
    fn add<L: Lanes>(&self, l: L, magnitude: L::U32) -> L::U32 {
        let bounded = l.min_i32(magnitude, l.splat_u32(self.limit));
        let exponent = l.max_i32(l.and_u32(bounded, l.splat_u32(F32_INFINITY)), l.splat_u32(self.least));
        // Adding a power of two whose last place is the destination's makes the processor round there. The last bits of
        // the sum are then the significand with its implicit bit.
        let power = l.add_u32(exponent, l.splat_u32(self.raise));
        let significand = l.sub_u32(l.add_f32(bounded, power), power);
        l.add_u32(significand, l.shr_by_u32(l.sub_u32(exponent, l.splat_u32(self.least)), self.down))
    }

    /// The codes of integers, which never become subnormal: rounds the last bits of the significand away, and changes
    /// the bias. The integer 0 has an exponent below the destination's and gets the code 0.
    #[inline(always)]
    fn normal<L: Lanes>(&self, l: L, magnitude: L::U32) -> L::U32 {
        let bounded = l.min_i32(magnitude, l.splat_u32(self.limit));
        let base = (self.least >> self.down) - (1 << self.to.man);
        let code = l.sub_u32(round_shift(l, bounded, self.down), l.splat_u32(base));
        l.max_i32(code, l.splat_u32(0))
    }
}

impl<const BITS: usize> ShortSink for Round<BITS, ADD, ANY> {
    type InBytes = Round<8, ADD, ANY>;
    fn in_bytes(self) -> Self::InBytes {
        Round::new(&self.to)
    }
}

/// Cuts the last `down` bits with rounding to nearest, ties to even: adds half of the last place, less one if the last
/// bit that stays is even.
#[inline(always)]
fn round_shift<L: Lanes>(l: L, magnitude: L::U32, down: u32) -> L::U32 {
    let odd = l.and_u32(l.shr_by_u32(magnitude, down), l.splat_u32(1));
    let half = l.add_u32(odd, l.splat_u32((1 << (down - 1)) - 1));
    l.shr_by_u32(l.add_u32(magnitude, half), down)
}

impl<L: Lanes, S: Numbers<L>, const BITS: usize, const HOW: bool, const SIGNS: u8> Sink<L, S>
    for Round<BITS, HOW, SIGNS>
{
    const BITS: usize = BITS;

    #[inline(always)]
    fn codes(self, l: L, source: S, bytes: &[u8]) -> L::U16 {
        let SignMagnitude { magnitude, sign, is_nan } = source.sign_magnitude(l, bytes);
        let codes = match (HOW, S::NANS) {
            (ADD, true) => self.add(l, magnitude),
            (ADD, false) => self.normal(l, magnitude),
            (SHIFT, _) => round_shift(l, magnitude, 16),
        };
        let codes = l.narrow(codes);
        match (S::SIGNED, S::NANS) {
            (false, _) => codes,
            // No integer is or rounds to −0.
            (true, false) => {
                let bits = code_bits::<BITS, SIGNS>(&self.to);
                let sign = l.shr_u16(sign, 16 - bits);
                l.or_u16(codes, l.and_u16(sign, l.splat_u16(1 << (bits - 1))))
            }
            (true, true) => signed::<L, BITS, SIGNS>(l, codes, sign, is_nan, &self.to),
        }
    }
}
