//! 16 bits that determine a destination code, and what they stand for.

use super::numbers::NumberTo;

/// What 16 bits of an entry stand for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning {
    /// The destination code, which has no more bits.
    Code,
    /// The upper half of a destination code of 32 bits, whose other bits are zero.
    UpperHalf,
    /// The lower half of an integer of 32 bits, which repeats its sign above it.
    Extended,
    /// The upper half of a number in binary32.
    Number(NumberTo),
}

/// For each index, the 16 bits that determine its destination code, and what they mean. `None` if 16 bits are not
/// enough.
pub(super) fn halves(to_bits: u32, codes: &[u64; 256]) -> Option<([u16; 256], Meaning)> {
    let is_upper = |code: &u64| code & 0xffff == 0;
    let is_extended = |code: &u64| *code as u32 == i32::from(*code as i16) as u32;
    match to_bits {
        ..=16 => Some((codes.map(|code| code as u16), Meaning::Code)),
        32 if codes.iter().all(is_upper) => Some((codes.map(|code| (code >> 16) as u16), Meaning::UpperHalf)),
        32 if codes.iter().all(is_extended) => Some((codes.map(|code| code as u16), Meaning::Extended)),
        _ => None,
    }
}
