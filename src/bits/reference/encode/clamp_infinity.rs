/// Replaces ±∞ by ±max, the code before it; every other code stays.
pub(crate) fn clamp_infinity(code: u32, infinity: u32, bits: u32) -> u32 {
    let magnitude = code & ((1 << (bits - 1)) - 1);
    if magnitude == infinity { code - 1 } else { code }
}
