use crate::bits::reference::Pair;

/// Two's complement negation of two words.
pub(crate) fn negate_words(value: Pair) -> Pair {
    let [low, high] = value;
    [(!low).wrapping_add(1), (!high).wrapping_add((low == 0) as u32)]
}
