use crate::format::FloatFormat;
use crate::reference::{INFINITY, NAN};

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
    /// Subnormals are decoded. Without, a subnormal gives some number below the least normal one, which serves where
    /// all of them become zero.
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
            // With binary32's bias the subnormals are binary32's own.
            subnormals: needs_subnormals && format.bias != 127,
        }
    }
}

/// A signed float of at most 16 bits as binary32 bits, exactly; of NaN, sign and payload are kept.
pub(crate) fn decode_float(code: u32, from: &DecodeFloat) -> u32 {
    let sign_code = 1 << (from.bits - 1);
    let sign = (code & sign_code) << (32 - from.bits);
    let magnitude = code & (sign_code - 1);
    let mut value = (magnitude << (23 - from.man)).wrapping_add((127 - from.bias) << 23);
    if from.subnormals && magnitude < 1 << from.man {
        // A subnormal: its leading bit becomes the implicit one, which the addition carries into the exponent.
        let shift = magnitude.leading_zeros() & 31;
        let normal = ((magnitude << shift) >> 8).wrapping_add((158 - shift - from.bias - from.man) << 23);
        value = if magnitude == 0 { 0 } else { normal };
    }
    if from.ieee {
        // The top exponent stays the top exponent: ∞ and NaN alike.
        value = if magnitude >= from.top { value | INFINITY } else { value };
    } else if from.fnuz {
        value = if magnitude == 0 && sign != 0 { NAN } else { value };
    } else {
        value = if magnitude > from.top { NAN } else { value };
    }
    value | sign
}
