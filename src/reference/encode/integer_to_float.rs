use crate::reference::{EncodeFloat, normalize_words};

/// An integer of up to 64 bits to a signed float of at most 16 bits: one rounding to nearest, ties to even. 1 is a
/// normal number of every format, so that no result is subnormal.
pub(crate) fn integer_to_float(sign: u32, low: u32, high: u32, to: &EncodeFloat) -> u32 {
    let (normal, rest, place) = normalize_words(low, high);
    let top = normal | ((rest != 0) as u32);
    // As in round_shift, without the leading bit, which makes room for the carry.
    let down = 31 - to.man;
    let fraction = top.wrapping_add(0x7fff_ffff + (1 << (down - 1))).wrapping_add((top >> down) & 1) >> down;
    let mut code = fraction.wrapping_add(place.wrapping_add(to.bias) << to.man);
    code = if code > to.max { to.overflow } else { code };
    code = if normal == 0 { 0 } else { code };
    code | (sign >> (32 - to.bits))
}
