//! Rounding to FLOAT8E8M0 in any of its round modes.

use super::Sink;
use crate::bits::reference::{EncodeE8m0, Hub};
use crate::cpu::lanes::Lanes;
use crate::cpu::source::Numbers;

const BIAS: u32 = 127;

/// With `SATURATE`, a number out of range becomes the least or the greatest number; without it, NaN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct E8m0<const SATURATE: bool> {
    nan: u32,
    /// Added to the significand bits before they are cut.
    round: u32,
    /// The hub's bias minus FLOAT8E8M0's, as an exponent field.
    rebias: u32,
    man: u32,
    /// 2^-127 and 2^127.
    min: u32,
    max: u32,
    /// The largest number that rounds to 2^-127. If 2^-127 is subnormal in the hub, adding `round` does not round such
    /// numbers correctly, so they are compared with this one.
    least: u32,
    infinity: u32,
}

/// The rounding for a set of options and the format that the source returns numbers in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RoundingToE8m0 {
    Saturating(E8m0<true>),
    ToNan(E8m0<false>),
}

impl RoundingToE8m0 {
    pub(crate) fn new(to: &EncodeE8m0, hub: Hub) -> Self {
        match to.high != to.nan {
            true => Self::Saturating(E8m0::new(to, hub)),
            false => Self::ToNan(E8m0::new(to, hub)),
        }
    }
}

impl<const SATURATE: bool> E8m0<SATURATE> {
    fn new(to: &EncodeE8m0, hub: Hub) -> Self {
        let Hub { man, bias, .. } = hub;
        let rebias = (bias - BIAS) << man;
        let round = to.round >> (Hub::F32.man - man);
        let min = if rebias == 0 { 1 << (man - 1) } else { rebias };
        let least = if rebias == 0 { min + ((1 << man) - round).div_ceil(2) - 1 } else { min };
        Self { nan: to.nan, round, rebias, man, min, max: (bias + BIAS) << man, least, infinity: hub.top }
    }
}

impl<L: Lanes, S: Numbers<L>, const SATURATE: bool> Sink<L, S> for E8m0<SATURATE> {
    const BITS: usize = 8;

    #[inline(always)]
    fn codes(self, l: L, source: S, bytes: &[u8]) -> L::U16 {
        let x = source.numbers(l, bytes);
        let nan = l.splat_u32(self.nan);
        // Between the bounds the code is the exponent after rounding. Numbers up to `least` have the code 0.
        let is_above = l.greater_i32(x, l.splat_u32(self.least));
        let bounded = l.min_i32(x, l.splat_u32(self.max));
        let bounded = if S::HUB.bias == BIAS { bounded } else { l.sub_u32(bounded, l.splat_u32(self.rebias)) };
        let bounded = l.select_u32(is_above, bounded, l.splat_u32(0));
        let code = l.shr_by_u32(l.add_u32(bounded, l.splat_u32(self.round)), self.man);
        let code = match SATURATE {
            true => code,
            false => {
                let code = l.select_u32(l.greater_i32(x, l.splat_u32(self.max)), nan, code);
                l.select_u32(l.greater_i32(l.splat_u32(self.min), x), nan, code)
            }
        };
        if !S::NANS {
            return l.narrow(code);
        }
        let is_nan = match S::HUB.bias == BIAS {
            true => l.is_nan_f32(x),
            false => l.greater_i32(l.and_u32(x, l.splat_u32(i32::MAX as u32)), l.splat_u32(self.infinity)),
        };
        l.narrow(l.select_u32(is_nan, nan, code))
    }
}
