use crate::reference::normalize_words;

/// An integer of up to 64 bits to binary32: one rounding to nearest, ties to even.
pub(crate) fn integer_to_f32(sign: u32, low: u32, high: u32) -> u32 {
    let (top, rest, place) = normalize_words(low, high);
    let cut = top >> 8;
    let lost = (top & 0xff) | ((rest != 0) as u32);
    let value = cut.wrapping_add((lost + 0x7f + (cut & 1)) >> 8).wrapping_add(place.wrapping_add(126) << 23);
    (if top == 0 { 0 } else { value }) | sign
}
