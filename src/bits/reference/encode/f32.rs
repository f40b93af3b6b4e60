use crate::bits::reference::{INFINITY, NAN, SIGN};

/// binary32 to binary32. NaN becomes the canonical NaN of the same sign.
pub(crate) fn encode_f32(value: u32) -> u32 {
    if value & !SIGN > INFINITY { NAN | (value & SIGN) } else { value }
}
