//! Sinks encode: a sink asks a source for the numbers of a group of elements and makes codes of at most 16 bits.

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub(crate) mod avx512;
mod e8m0;
mod integers;
mod round;
mod round_f16;
mod truncate;

pub(crate) use e8m0::E8m0;
pub(crate) use integers::{LookUpInteger, looks_up_integers};
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub(crate) use round::signed;
pub(crate) use round::{Round, RoundMethod};
pub(crate) use round_f16::{ExponentRule, RoundF16};
pub(crate) use truncate::{Clamp, LowBits};

use super::lanes::Lanes;
use super::source::Source;

/// The codes of a group of elements, a 16-bit lane each.
pub(crate) trait Sink<L: Lanes, S: Source<L>>: Copy + Send + Sync {
    /// Bits of a code.
    const BITS: usize;
    /// The bits above a code are zero. Implementations are always inlined.
    fn codes(self, l: L, source: S, bytes: &[u8]) -> L::U16;
}
