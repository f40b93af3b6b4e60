use crate::reference::Pair;

/// binary64 to its head: the high word, rounded to odd.
pub(crate) fn f64_high_word(code: Pair) -> u32 {
    let [low, high] = code;
    high | ((low != 0) as u32)
}
