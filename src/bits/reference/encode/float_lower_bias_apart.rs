use crate::bits::reference::{EncodeFloat, SIGN, pack_float, round_shift};

/// A hub to a signed float of at most 16 bits with a lower bias. The significand is rounded apart from the exponent:
/// one rounding to nearest, ties to even. The WGSL has the derivation.
pub(crate) fn encode_lower_bias_apart(hub: u32, to: &EncodeFloat) -> u32 {
    let magnitude = hub & ((1 << (to.hub.bits - 1)) - 1);
    let exponent = magnitude >> to.hub.man;
    let least = to.least_exponent();
    let normal = (31 - (to.hub.man + to.man + 1)) as i32;
    let shift = (normal + least as i32 - exponent as i32).clamp(normal, normal + to.man as i32 + 2);
    let significand = ((magnitude << (31 - to.hub.man)) | SIGN) >> shift;
    let code = ((exponent.max(least) - least) << to.man) + round_shift(significand, to.hub.man + 1);
    pack_float(hub, code.min(to.overflow), to)
}
