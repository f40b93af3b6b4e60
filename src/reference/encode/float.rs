use crate::format::FloatFormat;
use crate::reference::{INFINITY, SIGN, round_shift};

/// What `encode_float` needs of a signed format of at most 16 bits and of the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EncodeFloat {
    pub hub: Hub,
    pub bits: u32,
    pub man: u32,
    pub bias: u32,
    /// Code of the largest finite number.
    pub max: u32,
    /// Magnitude code for everything that rounds beyond `max`, ±∞ included.
    pub overflow: u32,
    /// Magnitude code for NaN; its sign bit is `(source sign & nan_keep) ^ nan_flip`.
    pub nan: u32,
    pub nan_keep: u32,
    pub nan_flip: u32,
    /// There is no −0.
    pub fnuz: bool,
}

/// The format that `encode_float` rounds from: IEEE's, or all numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Hub {
    pub bits: u32,
    pub man: u32,
    pub bias: u32,
    /// Largest magnitude code that is not NaN.
    pub top: u32,
}

impl Hub {
    pub(crate) fn new(format: &FloatFormat) -> Self {
        Self { bits: format.bits(), man: format.man_bits, bias: format.bias, top: format.top() as u32 }
    }

    pub(crate) const F32: Self = Self { bits: 32, man: 23, bias: 127, top: INFINITY };
    /// A double's high word, rounded to odd.
    pub(crate) const F64_HIGH_WORD: Self = Self { bits: 32, man: 20, bias: 1023, top: 0x7ff0_0000 };
}

/// The hub to a signed float of at most 16 bits: one rounding to nearest, ties to even. The hub is binary32, a double's
/// head (rounded to odd), or a source's own format where the destination lies within it.
pub(crate) fn encode_float(hub: u32, to: &EncodeFloat) -> u32 {
    let sign_code = 1 << (to.hub.bits - 1);
    let magnitude = hub & (sign_code - 1);
    let down = to.hub.man - to.man;
    let mut code = if to.bias > to.hub.bias {
        // Every exponent field grows by one, and subnormals double; by two: twice.
        let mut value = magnitude + magnitude.min(1 << to.hub.man);
        if to.bias > to.hub.bias + 1 {
            value += value.min(1 << to.hub.man);
        }
        round_shift(value, down)
    } else if to.bias == to.hub.bias {
        round_shift(magnitude, down)
    } else if to.hub.man + to.man <= 28 {
        // The significand's leading bit at the top leaves room below for all that a subnormal's further shift moves down.
        let least = to.hub.bias - to.bias + 1;
        let exponent = magnitude >> to.hub.man;
        let significand = (hub << (31 - to.hub.man)) | SIGN;
        let shift = ((least + 1) as i32 - exponent as i32).clamp(1, to.man as i32 + 3) as u32;
        ((exponent.max(least) - least) << to.man) + round_shift(significand >> shift, 30 - to.man)
    } else {
        // Below the least normal number each exponent less shifts the significand, implicit bit included, once more.
        let exponent = magnitude >> to.hub.man;
        let least = to.hub.bias - to.bias + 1;
        let shift = ((down + least) as i32 - exponent as i32).clamp(down as i32, 31) as u32;
        let significand = (magnitude & ((1 << to.hub.man) - 1)) | (1 << to.hub.man);
        let kept = significand >> shift;
        // What was cut, at the top of a word; a tie counts as above half where the kept part is odd.
        let cut = (significand << (32 - shift)) | (kept & 1);
        ((exponent.max(least) - least) << to.man) + kept + ((cut > 0x8000_0000) as u32)
    };
    code = if code > to.max { to.overflow } else { code };
    let mut sign = (hub >> (to.hub.bits - to.bits)) & (1 << (to.bits - 1));
    if magnitude > to.hub.top {
        code = to.nan;
        sign = (sign & to.nan_keep) ^ to.nan_flip;
    }
    if to.fnuz && code == 0 {
        sign = 0;
    }
    code | sign
}
