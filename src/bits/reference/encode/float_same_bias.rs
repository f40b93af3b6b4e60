use crate::bits::reference::{EncodeFloat, pack_float, round_shift};

/// A hub to a signed float of at most 16 bits with the hub's exponents: one rounding to nearest, ties to even. The WGSL
/// has the derivation.
pub(crate) fn encode_same_bias(hub: u32, to: &EncodeFloat) -> u32 {
    let magnitude = hub & ((1 << (to.hub.bits - 1)) - 1);
    let code = round_shift(magnitude, to.hub.man - to.man);
    pack_float(hub, code.min(to.overflow), to)
}
