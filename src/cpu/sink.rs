//! Sinks encode: a sink asks a source for the numbers of a group of elements and makes codes of at most 16 bits.

#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
pub(crate) mod avx512;
mod clamp;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) mod convert_to_f16;
mod e8m0;
mod in_bytes;
mod look_up_integer;
mod low_bits;
#[cfg(all(feature = "cpu-simd", target_arch = "aarch64"))]
pub(crate) mod neon;
mod round;
mod round_in_16_bits;

pub(crate) use clamp::Clamp;
pub(crate) use e8m0::RoundingToE8m0;
pub(crate) use look_up_integer::IntegerLookUp;
pub(crate) use low_bits::{LowBits, LowBitsInBytes};
pub(crate) use round::{RoundToBf16, RoundToBytes, RoundToPacked, Rounding};
pub(crate) use round_in_16_bits::RoundingIn16Bits;

use super::lanes::Lanes;
use super::source::Source;

/// A sink of codes of less than a byte.
pub(crate) trait ShortSink {
    /// The sink of the same codes, one in each byte.
    type InBytes;
    fn in_bytes(self) -> Self::InBytes;
}

/// The codes of a group of elements, a 16-bit lane each.
pub(crate) trait Sink<L: Lanes, S: Source>: Copy + Send + Sync {
    /// Bits of a code.
    const BITS: usize;
    /// See [`Step::READS_LINES`](super::cast_loop::Step::READS_LINES).
    const READS_LINES: bool = false;
    /// Whether lanes that pack codes have a second loop, with non-temporal stores. See
    /// [`Step::NON_TEMPORAL`](super::cast_loop::Step::NON_TEMPORAL).
    const NON_TEMPORAL: bool = Self::BITS == 16;
    /// The bits above a code are zero. Implementations are always inlined.
    fn codes(self, l: L, source: S, bytes: &[u8]) -> L::U16;
}
