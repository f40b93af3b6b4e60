// float_is_nonzero.wgsl — a float of at most 16 bits to BOOL: all but ±0 is true, NaN included
// reads: SRC_BITS

fn float_is_nonzero(code: u32) -> u32 {
    return select(0u, 1u, (code & ((1u << (SRC_BITS - 1u)) - 1u)) != 0u);
}
