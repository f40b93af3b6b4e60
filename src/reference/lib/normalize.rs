/// A 64-bit magnitude with its leading bit moved to the top: top word, next word, and the leading bit's place. Zero
/// gives a top word of 0.
pub(crate) fn normalize_words(low: u32, high: u32) -> (u32, u32, u32) {
    let tall = high != 0;
    let first = if tall { high } else { low };
    let second = if tall { low } else { 0 };
    let place = first.checked_ilog2().unwrap_or(!0);
    let shift = !place & 31;
    let top = (first << shift) | ((second >> 1) >> (31 - shift));
    (top, second << shift, if tall { place + 32 } else { place })
}
