//! The parameters of the reference's functions: what the shaders read as constants.

use std::cmp::Ordering;

use super::{INFINITY, encode_higher_bias, encode_lower_bias, encode_lower_bias_apart};
use super::{encode_lower_bias_sticky, encode_same_bias};
use crate::bits::format::FloatFormat;

/// What `decode_float` needs of a signed format of at most 16 bits and of the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DecodeFloat {
    pub bits: u32,
    pub man: u32,
    pub bias: u32,
    /// Largest magnitude code that is not NaN.
    pub top: u32,
    /// `top` is infinity.
    pub ieee: bool,
    /// The code of −0 is NaN.
    pub fnuz: bool,
    /// Subnormals are decoded. If this is false, a subnormal gives some number below the least normal one, which is
    /// enough where all of them become zero.
    pub subnormals: bool,
}

impl DecodeFloat {
    pub(crate) fn new(format: &FloatFormat, needs_subnormals: bool) -> Self {
        Self {
            bits: format.bits(),
            man: format.man_bits,
            bias: format.bias,
            top: format.top() as u32,
            ieee: format.has_infinity(),
            fnuz: format.nan() == Some(format.sign_code()),
            // With binary32's bias, the source's subnormals are subnormals of binary32 too.
            subnormals: needs_subnormals && format.bias != Hub::F32.bias,
        }
    }
}

/// The format that the functions of `EncodeFloat` round from. It is an IEEE format, or one without special codes.
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
    /// The high word of a binary64, rounded to odd.
    pub(crate) const F64_HIGH_WORD: Self = Self { bits: 32, man: 20, bias: 1023, top: 0x7ff0_0000 };
}

/// The parameters of the functions from a hub to a signed format of at most 16 bits. They depend on the options too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EncodeFloat {
    pub hub: Hub,
    pub bits: u32,
    pub man: u32,
    pub bias: u32,
    /// Code of the largest finite number.
    pub max: u32,
    /// Magnitude code of everything that rounds beyond `max`, ±∞ included.
    pub overflow: u32,
    /// Code for NaN; its sign bit is XORed with `(source sign & nan_keep) ^ nan_flip`.
    pub nan: u32,
    pub nan_keep: u32,
    pub nan_flip: u32,
    /// There is no −0.
    pub fnuz: bool,
    /// The codes of the integers 0 to 7, four bits each, if every larger integer has the code of 7; otherwise 0. It is
    /// also 0 for float sources, which do not read it.
    pub integers: u32,
}

/// The function that rounds a hub to a float of at most 16 bits. It depends on how the destination's bias compares with
/// the hub's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FloatMethod {
    SameBias,
    HigherBias,
    /// Exponent and significand are rounded as one word.
    LowerBias,
    /// The significand is rounded apart from the exponent.
    LowerBiasApart,
    /// The bits that are cut off the significand are kept in a word of their own.
    LowerBiasSticky,
}

impl EncodeFloat {
    pub(crate) fn method(&self) -> FloatMethod {
        assert!(self.bias <= self.hub.bias + 2, "`HigherBias` raises exponents by one or two");
        match self.bias.cmp(&self.hub.bias) {
            Ordering::Equal => FloatMethod::SameBias,
            Ordering::Greater => FloatMethod::HigherBias,
            // `LowerBias` and `LowerBiasApart` keep the significand's leading bit, and the place of a carry above it,
            // in the word. Here they do not fit.
            Ordering::Less if self.hub.man + self.man + 2 >= 32 => FloatMethod::LowerBiasSticky,
            // `LowerBias` keeps a code without its sign, and the place of a carry, above the bits that are rounded
            // away. Here they do not fit.
            Ordering::Less if self.bits + self.hub.man >= 33 => FloatMethod::LowerBiasApart,
            Ordering::Less => FloatMethod::LowerBias,
        }
    }

    /// Encodes `hub` by the function of `method`. Bits above the destination's width are 0.
    pub(crate) fn encode(&self, hub: u32) -> u32 {
        match self.method() {
            FloatMethod::SameBias => encode_same_bias(hub, self),
            FloatMethod::HigherBias => encode_higher_bias(hub, self),
            FloatMethod::LowerBias => encode_lower_bias(hub, self),
            FloatMethod::LowerBiasApart => encode_lower_bias_apart(hub, self),
            FloatMethod::LowerBiasSticky => encode_lower_bias_sticky(hub, self),
        }
    }

    /// The hub's exponent field of the destination's least normal number. Used where the destination's bias is lower.
    pub(crate) fn least_exponent(&self) -> u32 {
        self.hub.bias.saturating_sub(self.bias) + 1
    }

    /// The number, in the hub's format, whose destination code is `overflow`. Used where the destination's bias is
    /// lower. It may be the number after the largest.
    pub(crate) fn limit(&self) -> u32 {
        (((self.least_exponent() - 1) << self.man) + self.overflow) << (self.hub.man - self.man)
    }

    /// Half a unit of the code less one, with `least_exponent` subtracted. Used by `encode_lower_bias`.
    pub(crate) fn round(&self) -> u32 {
        let away = self.least_exponent().checked_shl(self.hub.man + self.man + 1).unwrap_or_default();
        ((1 << self.hub.man) - 1u32).wrapping_sub(away)
    }
}

/// The parameters of the functions to E8M0; they depend on the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EncodeE8m0 {
    /// Code for everything below 2^-127.
    pub low: u32,
    /// Code for everything above 2^127.
    pub high: u32,
    /// The only NaN.
    pub nan: u32,
    /// Added to the 23 fraction bits before they are cut.
    pub round: u32,
}

/// What `encode_int` needs of the destination and of the options; the source is a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EncodeInt {
    /// Result where the value does not fit.
    pub fail: u32,
    /// True for uint32: a value fits if its magnitude after truncation is below 2^63, and the low word is kept.
    /// Otherwise the limit is 2^31.
    pub wide: bool,
    /// Clamp instead of wrapping: the largest magnitudes allowed below and above zero.
    pub clamp: Option<(u32, u32)>,
}

/// The parameters of `convert_eight`, for one source of 16 bits, destination and set of options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Thresholds {
    /// At index `i`, the least source magnitude whose code is above `i`.
    pub least: [u32; 7],
    /// The least source magnitude that is NaN; 0 if there is none.
    pub least_nan: u32,
    /// NaN becomes zero with the other sign. Otherwise it becomes the largest number.
    pub nan_flip: bool,
}
