use crate::bits::reference::{EncodeFloat, SIGN, pack_float};

/// A hub to a signed float of at most 16 bits with a lower bias. The bits that are cut are kept in a word of their own:
/// one rounding to nearest, ties to even. The WGSL has the derivation.
pub(crate) fn encode_lower_bias_sticky(hub: u32, to: &EncodeFloat) -> u32 {
    let magnitude = hub & ((1 << (to.hub.bits - 1)) - 1);
    let exponent = magnitude >> to.hub.man;
    let least = to.least_exponent();
    let normal = (to.hub.man - to.man) as i32;
    let shift = (normal + least as i32 - exponent as i32).clamp(normal, 31) as u32;
    let significand = (magnitude & ((1 << to.hub.man) - 1)) | (1 << to.hub.man);
    let kept = significand >> shift;
    let cut = (significand << (32 - shift)) | (kept & 1);
    let rounded = kept + (cut > SIGN) as u32;
    let code = ((exponent.max(least) - least) << to.man) + rounded;
    pack_float(hub, code.min(to.overflow), to)
}
