use crate::bits::reference::{EncodeFloat, SIGN, pack_float};

/// A hub to a signed float of at most 16 bits with a lower bias. Exponent and significand are rounded as one word: one
/// rounding to nearest, ties to even. The WGSL has the derivation.
pub(crate) fn encode_lower_bias(hub: u32, to: &EncodeFloat) -> u32 {
    let mut magnitude = hub & ((1 << (to.hub.bits - 1)) - 1);
    if to.hub.bits == 32 {
        magnitude = magnitude.min(to.limit());
    }
    let exponent = magnitude >> to.hub.man;
    let least = to.least_exponent();
    let place = to.hub.man + to.man + 1;
    let normal = (31 - place) as i32;
    let shift = (normal + least as i32 - exponent as i32).clamp(normal, normal + to.man as i32 + 2);
    let significand = ((magnitude << (31 - to.hub.man)) | SIGN) >> shift;
    let sum = (exponent.max(least) << place).wrapping_add(significand);
    let odd = (sum >> (to.hub.man + 1)) & 1;
    let mut code = sum.wrapping_add(to.round()).wrapping_add(odd) >> (to.hub.man + 1);
    if to.hub.bits < 32 {
        code = code.min(to.overflow);
    }
    pack_float(hub, code, to)
}
