// clamp_infinity.wgsl — replaces ±∞ by ±max, the code before it; every other code stays
// reads: DST_BITS DST_INFINITY

fn clamp_infinity(code: u32) -> u32 {
    let magnitude = code & ((1u << (DST_BITS - 1u)) - 1u);
    return select(code, code - 1u, magnitude == DST_INFINITY);
}
