//! Rounding of integers to floats of at most 6 bits, by a look-up.

use super::{ShortSink, Sink};
use crate::bits::reference::{self, EncodeFloat, Integer};
use crate::cpu::lanes::Lanes;
use crate::cpu::source::Int;

/// From this magnitude on, all integers have the largest number's code.
const MOST: u32 = 31;

/// Rounding to `BITS` bits. From 16-bit integers in the caches, it takes 0.55 to 0.65 of the time of
/// [`Round`](super::round::Round).
#[derive(Clone, Copy, Debug)]
pub(crate) struct LookUpInteger<const BITS: usize> {
    codes: [u8; MOST as usize + 1],
    code_bits: u32,
}

/// The look-up for a destination.
#[derive(Clone, Copy, Debug)]
pub(crate) enum IntegerLookUp {
    To6(LookUpInteger<6>),
    To4(LookUpInteger<4>),
}

impl IntegerLookUp {
    /// `None` if an integer above [`MOST`] has a code of its own, and for other widths.
    pub(crate) fn new(to: &EncodeFloat) -> Option<Self> {
        let has_all = code(MOST, to) == to.max && to.overflow == to.max;
        match to.bits {
            6 if has_all => Some(Self::To6(LookUpInteger::new(to))),
            4 if has_all => Some(Self::To4(LookUpInteger::new(to))),
            _ => None,
        }
    }
}

impl<const BITS: usize> LookUpInteger<BITS> {
    fn new(to: &EncodeFloat) -> Self {
        Self { codes: std::array::from_fn(|index| code(index as u32, to) as u8), code_bits: to.bits }
    }
}

impl<const BITS: usize> ShortSink for LookUpInteger<BITS> {
    type InBytes = LookUpInteger<8>;
    fn in_bytes(self) -> LookUpInteger<8> {
        let Self { codes, code_bits } = self;
        LookUpInteger { codes, code_bits }
    }
}

fn code(low: u32, to: &EncodeFloat) -> u32 {
    reference::integer_to_float(Integer { sign: 0, low, high: 0 }, to)
}

impl<L: Lanes, const FROM: usize, const SIGNED: bool, const ODD: bool, const BITS: usize>
    Sink<L, Int<FROM, SIGNED, ODD>> for LookUpInteger<BITS>
{
    const BITS: usize = BITS;

    #[inline(always)]
    fn codes(self, l: L, source: Int<FROM, SIGNED, ODD>, bytes: &[u8]) -> L::U16 {
        let integers = source.in_16_bits(l, bytes);
        let magnitude = if SIGNED { l.abs_i16(integers) } else { integers };
        let code = l.look_up_u16(self.codes, l.min_u16(magnitude, l.splat_u16(MOST as u16)));
        if !SIGNED {
            return code;
        }
        // In bytes, the bits of a code are a variable: one loop serves codes of 4 and of 6 bits.
        let bits = if BITS == 8 { self.code_bits } else { BITS as u32 };
        // No integer is or rounds to −0.
        let sign = l.and_u16(l.shr_u16(integers, 16 - bits), l.splat_u16(1 << (bits - 1)));
        l.or_u16(code, sign)
    }
}
