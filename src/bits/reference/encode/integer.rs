use crate::bits::reference::Pair;

/// An integer of at most 32 bits, sign- or zero-extended to 64 bits.
pub(crate) fn int_to_int64(value: u32, signed: bool) -> Pair {
    [value, if signed { (value >> 31).wrapping_neg() } else { 0 }]
}

/// The low bits of a 64-bit integer.
pub(crate) fn int64_to_int(value: Pair) -> u32 {
    value[0]
}
