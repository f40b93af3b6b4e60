//! The low bits of integers, and of floats that are truncated to integers.

use super::Sink;
use crate::cpu::lanes::Lanes;
use crate::cpu::source::Truncates;

/// The low bits of the integer parts; 0 for a float that does not fit 32 bits and for NaN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LowBits<const BITS: usize>;

impl<L: Lanes, S: Truncates<L>, const BITS: usize> Sink<L, S> for LowBits<BITS> {
    const BITS: usize = BITS;

    #[inline(always)]
    fn codes(self, l: L, source: S, bytes: &[u8]) -> L::U16 {
        // If the lanes do not pack, packing drops the other bits later.
        source.truncated(l, bytes, if L::PACKS { u16::MAX >> (16 - BITS) } else { u16::MAX })
    }
}
