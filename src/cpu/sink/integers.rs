//! Rounding of 16-bit integers to floats of at most 6 bits, by a look-up.

use super::Sink;
use crate::cpu::lanes::Lanes;
use crate::cpu::source::Source;
use crate::reference::{self, EncodeFloat, Integer};

/// From this magnitude on, all have the largest number's code.
const MOST: u32 = 31;

/// Rounding to `BITS` bits. In the caches it takes 0.55 to 0.65 of the time of [`Round`](super::Round).
#[derive(Clone, Copy)]
pub(crate) struct LookUpInteger<const BITS: usize>([u8; MOST as usize + 1]);

impl<const BITS: usize> LookUpInteger<BITS> {
    /// `None` where larger integers have codes of their own.
    pub(crate) fn new(to: &EncodeFloat) -> Option<Self> {
        let code = |low| reference::integer_to_float(Integer { sign: 0, low, high: 0 }, to);
        let table = std::array::from_fn(|index| code(index as u32) as u8);
        (code(MOST) == to.max && to.overflow == to.max).then_some(Self(table))
    }
}

impl<L: Lanes, S: Source<L>, const BITS: usize> Sink<L, S> for LookUpInteger<BITS> {
    const BITS: usize = BITS;

    #[inline(always)]
    fn codes(self, l: L, _: S, bytes: &[u8]) -> L::U16 {
        let integers = l.load_u16(bytes);
        let magnitude = if S::SIGNED { l.negate_u16(integers, integers) } else { integers };
        let code = l.look_up_u16(self.0, l.min_u16(magnitude, l.splat_u16(MOST as u16)));
        if !S::SIGNED {
            return code;
        }
        // No integer is or rounds to −0.
        let sign = l.and_u16(l.shr_u16(integers, 16 - BITS as u32), l.splat_u16(1 << (BITS - 1)));
        l.or_u16(code, sign)
    }
}
