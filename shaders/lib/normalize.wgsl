// normalize.wgsl — a 64-bit magnitude with its leading bit moved to the top

// Returns the top word, the next word, and the place (0..=63) of the leading bit. Zero gives a top word of 0.
fn normalize_words(low: u32, high: u32) -> vec3<u32> {
    let tall = high != 0u;
    let first = select(low, high, tall);
    let second = select(0u, low, tall);
    let place = firstLeadingBit(first);
    let shift = ~place & 31u;
    let top = (first << shift) | ((second >> 1u) >> (31u - shift));
    return vec3<u32>(top, second << shift, select(place, place + 32u, tall));
}
