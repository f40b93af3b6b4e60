//! Conversions of codes in memory by the reference, in blocks of words.

use super::Conversion;
use crate::bits::packing::{clear_pad, pack_words, unpack_words};
use crate::types::error::{CastFault, Error};

/// The elements of a block: a multiple of 16, so that blocks of every type start at a byte.
const BLOCK: usize = 2048;

impl Conversion {
    /// Converts codes that take these numbers of bits in memory on each side. Bits of the destination after the last code are undefined.
    pub(crate) fn convert_codes(&self, [from, to]: [u32; 2], source: &[u8], destination: &mut [u8]) {
        // The bits of the codes, in a byte that has only one code.
        let masks = [self.from, self.to].map(|t| u32::MAX >> 32u32.saturating_sub(t.code_bits()));
        let (mut low, mut high) = ([0; BLOCK], [0; BLOCK]);
        let sources = source.chunks(BLOCK * from as usize / 8);
        for (source, destination) in sources.zip(destination.chunks_mut(BLOCK * to as usize / 8)) {
            let elements = (source.len() * 8 / from as usize).min(destination.len() * 8 / to as usize);
            let (low, high) = (&mut low[..elements], &mut high[..elements]);
            unpack_words(source, from, low, high);
            low.iter_mut().for_each(|code| *code &= masks[0]);
            self.convert(low, high);
            low.iter_mut().for_each(|code| *code &= masks[1]);
            pack_words(low, high, to, destination);
        }
    }

    /// Casts packed codes to packed codes. Bits after the last code are zero. A program that casts only by this function contains no loop
    /// of the CPU path.
    #[cfg_attr(not(feature = "wgpu"), allow(dead_code, reason = "the self-test of devices uses it"))]
    pub(crate) fn cast_packed(&self, source: &[u8], elements: usize) -> Result<Vec<u8>, Error> {
        let Self { from, to, .. } = *self;
        let bytes = to.packed_bytes(elements as u64).and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or_else(|| Error::shape_overflow(to, &[elements]))?;
        let mut result = Vec::new();
        let fault = CastFault::OutOfMemory { bytes: bytes as u64 };
        result.try_reserve_exact(bytes).map_err(|_| Error::cast(from, to, fault))?;
        result.resize(bytes, 0);
        self.convert_codes([from.code_bits(), to.code_bits()], source, &mut result);
        clear_pad(&mut result, to.code_bits(), elements as u64);
        Ok(result)
    }
}
