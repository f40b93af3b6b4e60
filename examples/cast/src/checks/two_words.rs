//! Codes of 64 bits whose two words must be joined with care. Either both words are equal, or the value is just above a
//! tie and only two adjacent bits show that. A rounding that works on words may keep the upper one of these bits, and
//! must not lose it.

/// Magnitudes of DOUBLE.
pub fn floats() -> Vec<u64> {
    const MAN_BITS: u32 = 52;
    // The exponents whose values become subnormal in some narrower format, and one whose values do not.
    let exponents = (-152..=-1).chain([1]).map(|place: i64| (place + 1023) as u64);
    // The bits below 25 do not fit a significand of 28 bits; those below 31 do not fit the high word.
    let fractions: Vec<u64> = [25, 31].into_iter().flat_map(|lowest| above_ties(MAN_BITS, lowest)).collect();
    let ties = exponents.flat_map(|exponent| fractions.iter().map(move |fraction| exponent << MAN_BITS | fraction));
    ties.chain(equal()).collect()
}

/// Magnitudes of integers that have more bits, from the leading one on, than a word.
pub fn integers() -> Vec<u64> {
    let ties = (32..64).flat_map(|leading| {
        let lowest = leading - 32;
        above_ties(leading, lowest).chain([3 << lowest]).map(move |below| 1 << leading | below)
    });
    ties.chain(equal()).collect()
}

/// Bits below bit `width`: half of the last kept place, and the two bits from `lowest` on.
fn above_ties(width: u32, lowest: u32) -> impl Iterator<Item = u64> {
    (lowest + 2..width).map(move |half| 1 << half | 3 << lowest)
}

/// Codes with two equal words. The high word is that of a subnormal, of 1 or of NaN.
fn equal() -> impl Iterator<Item = u64> {
    [1, 0x3ff0_0000, 0x7fff_ffff].into_iter().map(|word| word << 32 | word)
}
