use crate::bits::reference::first_leading_bit;

/// A magnitude whose leading bit was moved to the top, and the exponent (0..=63) of that bit before.
#[derive(Clone, Copy)]
pub(crate) struct Normalized {
    pub high: u32,
    pub low: u32,
    pub exponent: u32,
}

/// A 64-bit magnitude with its leading bit moved to the top. Zero gives a high word of 0.
pub(crate) fn normalize_words(low: u32, high: u32) -> Normalized {
    let tall = high != 0;
    let first = if tall { high } else { low };
    let second = if tall { low } else { 0 };
    let leading = first_leading_bit(first);
    let shift = !leading & 31;
    let top = (first << shift) | ((second >> 1) >> (31 - shift));
    Normalized { high: top, low: second << shift, exponent: if tall { leading + 32 } else { leading } }
}
