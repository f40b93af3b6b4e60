//! The reference as a loop: it unpacks blocks of codes into words, converts them and packs them again. It casts every
//! pair; the other loops are faster.

use super::cast_loop::CastLoop;
use super::code_cast::CodeCast;
use crate::bits::packing::{clear_pad, pack_words, unpack_words};
use crate::types::conversion::Conversion;
use crate::types::error::{CastFault, Error};

/// The elements of a block: a multiple of 16, so that blocks of every type start at a byte.
const BLOCK: usize = 2048;

pub(crate) struct Reference(pub CodeCast);

impl CastLoop for Reference {
    fn convert(&self, source: &[u8], destination: &mut [u8]) {
        let [from, to] = self.0.bits().map(|bits| bits as usize);
        let conversion = &self.0.conversion;
        // The bits of the codes, in a byte that has only one code.
        let masks = [conversion.from, conversion.to].map(|t| u32::MAX >> 32u32.saturating_sub(t.code_bits()));
        let (mut low, mut high) = ([0; BLOCK], [0; BLOCK]);
        for (source, destination) in source.chunks(BLOCK * from / 8).zip(destination.chunks_mut(BLOCK * to / 8)) {
            let elements = (source.len() * 8 / from).min(destination.len() * 8 / to);
            let (low, high) = (&mut low[..elements], &mut high[..elements]);
            unpack_words(source, from as u32, low, high);
            low.iter_mut().for_each(|code| *code &= masks[0]);
            conversion.convert(low, high);
            low.iter_mut().for_each(|code| *code &= masks[1]);
            pack_words(low, high, to as u32, destination);
        }
    }
}

/// Casts packed codes to packed codes. Bits after the last code are zero. A program that casts only by this function
/// contains none of the other loops.
#[cfg_attr(not(feature = "wgpu"), allow(dead_code, reason = "the self-test of devices uses it"))]
pub(crate) fn cast(conversion: &Conversion, source: &[u8], elements: usize) -> Result<Vec<u8>, Error> {
    let Conversion { from, to, .. } = *conversion;
    let bytes = to.packed_bytes(elements as u64).and_then(|bytes| usize::try_from(bytes).ok());
    let bytes = bytes.ok_or_else(|| Error::shape_overflow(to, &[elements]))?;
    let mut result = Vec::new();
    let fault = CastFault::OutOfMemory { bytes: bytes as u64 };
    result.try_reserve_exact(bytes).map_err(|_| Error::cast(from, to, fault))?;
    result.resize(bytes, 0);
    Reference(CodeCast::packed(*conversion)).convert(source, &mut result);
    clear_pad(&mut result, to.code_bits(), elements as u64);
    Ok(result)
}
