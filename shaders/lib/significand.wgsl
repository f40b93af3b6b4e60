// significand.wgsl — a float taken apart for truncation to an integer

// `exponent` is that of the leading bit; for ∞ and NaN it is beyond every integer. `high` and `low` are the significand
// with the leading bit at the top. If the exponent is below 0, the integer part is 0 and the significand does not matter.
struct Significand {
    negative: bool,
    nan: bool,
    exponent: i32,
    high: u32,
    low: u32,
}

// The integer part of a significand, as two words, low first, for an exponent in 0..=63.
fn truncate(exponent: i32, high: u32, low: u32) -> vec2<u32> {
    // The two words are an integer times 2^(exponent - 63).
    let shift = u32(63 - exponent);
    let part = shift & 31u;
    let shifted_low = (low >> part) | ((high << 1u) << (31u - part));
    let shifted_high = high >> part;
    return select(vec2<u32>(shifted_low, shifted_high), vec2<u32>(shifted_high, 0u), shift >= 32u);
}
