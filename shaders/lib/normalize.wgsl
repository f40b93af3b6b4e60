// normalize.wgsl — a 64-bit magnitude with its leading bit moved to the top

// Two words, and the exponent (0..=63) of the leading bit before it was moved.
struct Normalized {
    high: u32,
    low: u32,
    exponent: u32,
}

// Zero gives a high word of 0.
fn normalize_words(low: u32, high: u32) -> Normalized {
    let tall = high != 0u;
    let first = select(low, high, tall);
    let second = select(0u, low, tall);
    let leading = firstLeadingBit(first);
    let shift = ~leading & 31u;
    let top = (first << shift) | ((second >> 1u) >> (31u - shift));
    return Normalized(top, second << shift, select(leading, leading + 32u, tall));
}
