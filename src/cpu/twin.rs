//! The twins' path: blocks of codes unpacked into words, converted by `bits.rs`, packed again. Any pair goes through it;
//! the others are faster.

use super::BLOCK;
use crate::conversion::Conversion;
use crate::lanes::{pack_words, unpack_words};

pub(crate) struct Blocks {
    low: [u32; BLOCK],
    high: [u32; BLOCK],
}

impl Default for Blocks {
    fn default() -> Self {
        Self { low: [0; BLOCK], high: [0; BLOCK] }
    }
}

impl Blocks {
    /// Casts at most [`BLOCK`] elements; what it writes to pad bits is undefined.
    pub(crate) fn convert(&mut self, conversion: &Conversion, source: &[u8], destination: &mut [u8]) {
        let (from, to) = (conversion.from.code_bits(), conversion.to.code_bits());
        let elements = (source.len() * 8 / from as usize).min(destination.len() * 8 / to as usize);
        let (low, high) = (&mut self.low[..elements], &mut self.high[..elements]);
        unpack_words(source, from, low, high);
        conversion.convert(low, high);
        pack_words(low, high, to, destination);
    }
}
