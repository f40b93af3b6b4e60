use crate::bits::reference::{EncodeFloat, pack_float, round_shift};

/// A magnitude with its bias higher by one.
pub(crate) fn raise_bias(magnitude: u32, to: &EncodeFloat) -> u32 {
    magnitude + magnitude.min(1 << to.hub.man)
}

/// A hub to a signed float of at most 16 bits with a bias higher by one or two: one rounding to nearest, ties to even.
/// The WGSL has the derivation.
pub(crate) fn encode_higher_bias(hub: u32, to: &EncodeFloat) -> u32 {
    let mut magnitude = raise_bias(hub & ((1 << (to.hub.bits - 1)) - 1), to);
    if to.bias > to.hub.bias + 1 {
        magnitude = raise_bias(magnitude, to);
    }
    let code = round_shift(magnitude, to.hub.man - to.man);
    pack_float(hub, code.min(to.overflow), to)
}
