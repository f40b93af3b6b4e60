use crate::bits::reference::{Pair, SIGN};

/// Whether an integer of at most 32 bits is not 0.
pub(crate) fn int_is_nonzero(value: u32) -> u32 {
    (value != 0) as u32
}

/// Whether a 64-bit integer is not 0.
pub(crate) fn int64_is_nonzero(value: Pair) -> u32 {
    ((value[0] | value[1]) != 0) as u32
}

/// Whether a binary32 differs from ±0, which is true of NaN.
pub(crate) fn f32_is_nonzero(value: u32) -> u32 {
    (value & !SIGN != 0) as u32
}

/// Whether a binary64 differs from ±0, which is true of NaN.
pub(crate) fn f64_is_nonzero(code: Pair) -> u32 {
    ((code[1] & !SIGN) | code[0] != 0) as u32
}
