//! String rules: numbers to decimals and back.
//!
//! `zmij` and `itoa` write digits, and the standard library reads them. This module adds what none of them has:
//! positional notation without an exponent, the shortest digits of a 16-bit float, and one rounding from an exact
//! decimal to a float narrower than 32 bits.

mod float16;
mod literal;
mod natural;
mod number;
mod parse;
mod positional;
mod print;

pub(crate) use parse::parse;
pub(crate) use print::print;

/// The number of strings that are cast at a time. Their codes, unpacked into words, then stay in the first-level cache.
/// It is a multiple of 16, so that a block of every type starts at a whole byte.
const BLOCK_LEN: usize = 2048;
