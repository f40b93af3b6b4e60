//! Sinks of NEON, which narrows with rounding.

use zerocopy::transmute;

use super::Sink;
use super::round::{RoundToBytes, Rounding};
use crate::bits::reference::{EncodeFloat, Hub};
use crate::cpu::lanes::Lanes;
use crate::cpu::lanes::neon::Neon;
use crate::cpu::lanes::neon::kernels::{self as k, H};
use crate::cpu::source::Numbers;

/// Rounding to BFLOAT16 by an instruction that rounds ties up, and a correction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundToBf16 {
    nan: u16,
}

impl RoundToBf16 {
    /// `None` for other formats than BFLOAT16.
    pub(crate) fn new(to: &EncodeFloat) -> Option<Self> {
        match Rounding::new(to)? {
            Rounding::ToBytes(RoundToBytes::Shift16(_)) if to.overflow == to.max + 1 => {
                Some(Self { nan: to.nan as u16 })
            }
            _ => None,
        }
    }
}

impl<S: Numbers<Neon>> Sink<Neon, S> for RoundToBf16 {
    const BITS: usize = 16;

    #[inline(always)]
    fn codes(self, l: Neon, source: S, bytes: &[u8]) -> H {
        const { assert!(matches!(S::HUB, Hub::F32), "numbers are in binary32") };
        let [a, b] = source.numbers(l, bytes);
        let nearest = k::upper_halves_to_nearest(l.0, a, b);
        // A tie that went up to an odd code must go down.
        let is_tie = l.equal_u16(l.narrow([a, b]), l.splat_u16(1 << 15));
        let codes = k::and_not_16(l.0, nearest, l.and_u16(is_tie, l.splat_u16(1)));
        if !S::NANS {
            return codes;
        }
        let is_number = l.narrow([k::is_number_f32(l.0, a), k::is_number_f32(l.0, b)]);
        let upper = k::odd_16(l.0, transmute!(a), transmute!(b));
        let nan = l.and_u16(l.or_u16(upper, l.splat_u16(self.nan)), l.splat_u16(1 << 15 | self.nan));
        l.select_u16(is_number, codes, nan)
    }
}

/// Numbers that BFLOAT16 holds, with canonical NaNs.
#[derive(Clone, Copy)]
pub(crate) struct UpperHalves;

impl<S: Numbers<Neon>> Sink<Neon, S> for UpperHalves {
    const BITS: usize = 16;

    #[inline(always)]
    fn codes(self, l: Neon, source: S, bytes: &[u8]) -> H {
        l.narrow_signs(source.numbers(l, bytes))
    }
}
