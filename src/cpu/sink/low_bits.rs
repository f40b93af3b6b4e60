//! The low bits of integers, and of floats that are truncated to integers.

use super::Sink;
use crate::cpu::lanes::Lanes;
use crate::cpu::source::Truncates;

/// The low bits of the integer parts; 0 for a float that does not fit 32 bits and for NaN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LowBits<const BITS: usize>;

/// As `LowBits` of fewer than 8 bits, one code in each byte. The mask is a variable, so that one loop serves all widths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LowBitsInBytes {
    mask: u16,
}

impl LowBitsInBytes {
    pub(crate) fn new(bits: usize) -> Self {
        Self { mask: (1 << bits) - 1 }
    }
}

impl<L: Lanes, S: Truncates<L>> Sink<L, S> for LowBitsInBytes {
    const BITS: usize = 8;

    #[inline(always)]
    fn codes(self, l: L, source: S, bytes: &[u8]) -> L::U16 {
        source.truncated(l, bytes, self.mask)
    }
}

impl<L: Lanes, S: Truncates<L>, const BITS: usize> Sink<L, S> for LowBits<BITS> {
    const BITS: usize = BITS;
    // Little is computed, so that loads across two lines take longer than anything else.
    const READS_LINES: bool = L::VECTORS_ARE_LINES && S::BITS > 16;
    // Bytes of longer floats have less of the speed in such a loop.
    const NON_TEMPORAL: bool = BITS == 16 || BITS == 8 && S::BITS == 16;

    #[inline(always)]
    fn codes(self, l: L, source: S, bytes: &[u8]) -> L::U16 {
        source.truncated(l, bytes, if L::DROPS_UPPER_BITS { u16::MAX } else { u16::MAX >> (16 - BITS) })
    }
}
