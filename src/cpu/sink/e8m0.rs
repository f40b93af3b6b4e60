//! Rounding to FLOAT8E8M0 by its round modes.

use super::Sink;
use crate::cpu::lanes::Lanes;
use crate::cpu::source::Source;
use crate::reference::{EncodeE8m0, Hub};

const BIAS: u32 = 127;

#[derive(Clone, Copy, Debug)]
pub(crate) struct E8m0 {
    low: u32,
    high: u32,
    nan: u16,
    /// Added to the significand bits before they are cut.
    round: u32,
    /// Exponents of the hub that the format lacks.
    rebias: u32,
    man: u32,
    /// 2^-127.
    min: u32,
    /// The largest number that rounds to 2^-127, where that is subnormal in the hub: a subnormal is not of the form that
    /// is rounded so. The codes of all of them are 0 and 1.
    least: u32,
    /// 2^127.
    max: u32,
    infinity: u32,
}

impl E8m0 {
    pub(crate) fn new(to: &EncodeE8m0, hub: Hub) -> Self {
        let Hub { man, bias, .. } = hub;
        let rebias = bias - BIAS;
        let is_subnormal = rebias == 0;
        // What is all ones stays all ones.
        let round = to.round >> (Hub::F32.man - man);
        let min = if is_subnormal { 1 << (man - 1) } else { rebias << man };
        Self {
            low: to.low,
            high: to.high,
            nan: to.nan as u16,
            round,
            rebias: rebias << man,
            man,
            min,
            least: if is_subnormal { min + ((1 << man) - round).div_ceil(2) - 1 } else { 0 },
            max: (bias + BIAS) << man,
            infinity: (2 * bias + 1) << man,
        }
    }
}

impl<L: Lanes, S: Source<L>> Sink<L, S> for E8m0 {
    const BITS: usize = 8;

    #[inline(always)]
    fn codes(self, l: L, source: S, bytes: &[u8]) -> L::U16 {
        let x = source.numbers(l, bytes);
        let rounded = l.add_u32(x, l.splat_u32(self.round.wrapping_sub(self.rebias)));
        let code = l.shr_by_u32(rounded, self.man);
        // The hub of FLOAT is a constant of the source, and so is this question.
        let code = match S::HUB.bias == BIAS {
            true => l.select_u32(l.greater_i32(x, l.splat_u32(self.least)), code, l.splat_u32(0)),
            false => code,
        };
        let code = l.select_u32(l.greater_i32(x, l.splat_u32(self.max)), l.splat_u32(self.high), code);
        let code = l.select_u32(l.greater_i32(l.splat_u32(self.min), x), l.splat_u32(self.low), code);
        let code = l.narrow(code);
        if !S::NANS {
            return code;
        }
        let magnitude = l.and_u32(x, l.splat_u32(i32::MAX as u32));
        let is_nan = match S::HUB.bias == BIAS {
            true => l.is_nan_f32(x),
            false => l.greater_i32(magnitude, l.splat_u32(self.infinity)),
        };
        l.select_u16(l.narrow_mask(is_nan), l.splat_u16(self.nan), code)
    }
}
