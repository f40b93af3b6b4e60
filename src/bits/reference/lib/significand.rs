use crate::bits::reference::Pair;

/// A float taken apart for truncation: the exponent of its leading bit (∞ and NaN: beyond every integer), then its
/// significand in two words with the leading bit at the top. Where the exponent is below 0, the integer part is 0
/// whatever the significand.
#[derive(Clone, Copy)]
pub(crate) struct Significand {
    pub negative: bool,
    pub nan: bool,
    pub exponent: i32,
    pub high: u32,
    pub low: u32,
}

/// The integer part of a significand whose exponent is 0..=63, as two words.
pub(crate) fn truncate(exponent: i32, high: u32, low: u32) -> Pair {
    // The two words are an integer times 2^(exponent - 63).
    let shift = (63 - exponent) as u32;
    let part = shift & 31;
    let shifted_low = (low >> part) | ((high << 1) << (31 - part));
    let shifted_high = high >> part;
    if shift >= 32 { [shifted_high, 0] } else { [shifted_low, shifted_high] }
}
