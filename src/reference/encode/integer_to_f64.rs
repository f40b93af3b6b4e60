use crate::reference::{Pair, normalize_words};

/// An integer of up to 64 bits to binary64: one rounding to nearest, ties to even.
pub(crate) fn integer_to_f64(sign: u32, low: u32, high: u32) -> Pair {
    let (top, rest, place) = normalize_words(low, high);
    let cut = (top << 21) | (rest >> 11);
    let value = cut.wrapping_add(((rest & 0x7ff) + 0x3ff + (cut & 1)) >> 11);
    let carry = (value < cut) as u32;
    let head = (top >> 11).wrapping_add(carry).wrapping_add(place.wrapping_add(1022) << 20);
    if top == 0 { [0, sign] } else { [value, head | sign] }
}
