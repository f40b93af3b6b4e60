use crate::bits::reference::Pair;

/// The high word of a binary64, rounded to odd: its last bit is set where the low word is not 0.
pub(crate) fn f64_high_word(code: Pair) -> u32 {
    let [low, high] = code;
    high | ((low != 0) as u32)
}
