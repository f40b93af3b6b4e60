use crate::bits::reference::Pair;

/// A float taken apart for truncation. `exponent` is that of the leading bit; for ∞ and NaN it is beyond every integer.
/// `high` and `low` are the significand with the leading bit at the top. If the exponent is below 0, the integer part
/// is 0 and the significand does not matter.
#[derive(Clone, Copy)]
pub(crate) struct Significand {
    pub negative: bool,
    pub nan: bool,
    pub exponent: i32,
    pub high: u32,
    pub low: u32,
}

/// The integer part of a significand, as two words, for an exponent in 0..=63.
pub(crate) fn truncate(exponent: i32, high: u32, low: u32) -> Pair {
    // The two words are an integer times 2^(exponent - 63).
    let shift = (63 - exponent) as u32;
    let part = shift & 31;
    let shifted_low = (low >> part) | ((high << 1) << (31 - part));
    let shifted_high = high >> part;
    if shift >= 32 { [shifted_high, 0] } else { [shifted_low, shifted_high] }
}
