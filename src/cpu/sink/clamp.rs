//! Truncation of floats to integers, with everything out of range limited to the ends of the range.

use super::Sink;
use crate::cpu::codes::{F32_BIAS, F32_MAN};
use crate::cpu::lanes::Lanes;
use crate::cpu::source::{Numbers, SignMagnitude};

/// The integer parts, limited to between two bounds; 0 for NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clamp<const BITS: usize> {
    /// The largest magnitudes below and above 0.
    pub below: u16,
    pub above: u16,
}

impl<L: Lanes, S: Numbers<L>, const BITS: usize> Sink<L, S> for Clamp<BITS> {
    const BITS: usize = BITS;

    #[inline(always)]
    fn codes(self, l: L, source: S, bytes: &[u8]) -> L::U16 {
        let SignMagnitude { magnitude, sign, is_nan } = source.sign_magnitude(l, bytes);
        // No bound is larger than 2^15, and larger integers would not fit into 16-bit lanes.
        let bounded = l.min_i32(magnitude, l.splat_u32((F32_BIAS + 15) << F32_MAN));
        let size = l.narrow(l.f32_to_i32(bounded));
        let bound = l.select_u16(l.negative_u16(sign), l.splat_u16(self.below), l.splat_u16(self.above));
        let value = l.negate_u16(l.min_u16(size, bound), sign);
        let value = l.select_u16(is_nan, l.splat_u16(0), value);
        l.and_u16(value, l.splat_u16(u16::MAX >> (16 - BITS)))
    }
}
