use crate::bits::reference::NAN;

/// An E8M0 code as binary32 bits: 2^(code - 127). Code 0 is a subnormal of binary32.
pub(crate) fn decode_e8m0(code: u32, nan: u32) -> u32 {
    let value = if code == 0 { 0x0040_0000 } else { code << 23 };
    if code == nan { NAN } else { value }
}
