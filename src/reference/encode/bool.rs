use crate::reference::{Pair, SIGN};

/// Whether binary32 bits are a number other than ±0 (NaN included).
pub(crate) fn f32_is_nonzero(value: u32) -> u32 {
    (value & !SIGN != 0) as u32
}

/// Whether float16 bits are a number other than ±0 (NaN included).
pub(crate) fn f16_is_nonzero(code: u32) -> u32 {
    (code & 0x7fff != 0) as u32
}

/// Whether binary64 bits are a number other than ±0 (NaN included).
pub(crate) fn f64_is_nonzero(code: Pair) -> u32 {
    ((code[1] & !SIGN) | code[0] != 0) as u32
}
