/// Whether a float of `bits` bits is not ±0 (NaN is not).
pub(crate) fn float_is_nonzero(code: u32, bits: u32) -> u32 {
    (code & ((1 << (bits - 1)) - 1) != 0) as u32
}
