//! 16 bits that determine a destination code, and what they stand for.

use super::entries;
use super::numbers::{NumberTable, NumberTo};
use crate::cpu::code_cast::CodeCast;

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

/// What tables of 16 bits stand for, as a constant of a loop whose destination has more bits. With `EXTENDED`, tables have
/// integers of 16 bits, which are extended by their sign. With the others, tables have the upper halves of words of 32
/// bits. `UPPER_HALF` stores these words; the rest convert them from binary32.
pub(super) const UPPER_HALF: usize = 32;
pub(super) const EXTENDED: usize = 33;
pub(super) const INT32: usize = 34;
pub(super) const F64: usize = 64;

/// For each index, 16 bits and what they mean: of `numbers`, or of the destination codes without them. `None` if 16 bits
/// do not determine each destination code.
pub(super) fn halves(numbers: Option<NumberTable>, cast: &CodeCast) -> Option<([u16; 256], Meaning)> {
    match numbers {
        Some(numbers) => Some((numbers.upper_halves.map(|entry| entry[0] as u16), Meaning::Number(numbers.to))),
        None => halves_of_codes(cast.bits()[1], &entries(cast, 1).map(|entry| entry[0])),
    }
}

fn halves_of_codes(to_bits: u32, codes: &[u64; 256]) -> Option<([u16; 256], Meaning)> {
    let is_upper = |code: &u64| code & 0xffff == 0;
    let is_extended = |code: &u64| *code as u32 == i32::from(*code as i16) as u32;
    match to_bits {
        ..=16 => Some((codes.map(|code| code as u16), Meaning::Code)),
        32 if codes.iter().all(is_upper) => Some((codes.map(|code| (code >> 16) as u16), Meaning::UpperHalf)),
        32 if codes.iter().all(is_extended) => Some((codes.map(|code| code as u16), Meaning::Extended)),
        _ => None,
    }
}
