//! Loops that pack or unpack codes of less than a byte.

use super::any_length::AnyLength;
use super::cast_loop::CastLoop;
use super::code_cast::CodeBits;
use crate::bits::packing::{pack_bytes, unpack_bytes};

/// The cast to codes of less than a byte. The loop `bytes` writes up to [`CODES`] codes, one in each byte, which are
/// then packed.
pub(crate) struct Packed {
    bytes: AnyLength,
    from_bits: usize,
    to_bits: usize,
}

impl Packed {
    pub(crate) fn new(bytes: Box<dyn CastLoop>, from_bits: usize, to_bits: usize) -> Self {
        let bytes = AnyLength::new(bytes, CodeBits([from_bits as u32, 8]));
        Self { bytes, from_bits, to_bits }
    }
}

/// The number of codes that are packed at a time: few enough for the first-level cache, and a multiple of all groups.
const CODES: usize = 2048;
/// The same for short casts, for which clearing all that memory takes as long as converting some codes.
const SHORT: usize = 128;

impl CastLoop for Packed {
    fn convert_steps(&self, source: &[u8], destination: &mut [u8]) {
        let codes: &mut [u8] =
            if destination.len() * 8 <= SHORT * self.to_bits { &mut [0; SHORT] } else { &mut [0; CODES] };
        let (read, written) = (CODES * self.from_bits / 8, CODES * self.to_bits / 8);
        for (source, destination) in source.chunks(read).zip(destination.chunks_mut(written)) {
            let elements = source.len() * 8 / self.from_bits;
            self.bytes.convert(source, &mut codes[..elements]);
            pack_bytes(codes, self.to_bits as u32, destination);
        }
    }
}

/// The cast of codes of less than a byte that lie one in each byte. The loop `packed` takes them packed.
pub(crate) struct PackedFirst {
    packed: AnyLength,
    from_bits: usize,
    to_bits: usize,
}

impl PackedFirst {
    pub(crate) fn new(packed: Box<dyn CastLoop>, from_bits: usize, to_bits: usize) -> Self {
        let packed = AnyLength::new(packed, CodeBits([from_bits, to_bits].map(|bits| bits as u32)));
        Self { packed, from_bits, to_bits }
    }
}

impl CastLoop for PackedFirst {
    fn convert_steps(&self, source: &[u8], destination: &mut [u8]) {
        let mut packed = [0; CODES / 2];
        for (source, destination) in source.chunks(CODES).zip(destination.chunks_mut(CODES * self.to_bits / 8)) {
            let packed = &mut packed[..(source.len() * self.from_bits).div_ceil(8)];
            pack_bytes(source, self.from_bits as u32, packed);
            self.packed.convert(packed, destination);
        }
    }
}

/// The packing of codes of this number of bits, less than 8, that lie one in each byte.
pub(crate) struct PackCodes(pub u32);

impl CastLoop for PackCodes {
    fn convert_steps(&self, source: &[u8], destination: &mut [u8]) {
        pack_bytes(source, self.0, destination);
    }
}

/// The opposite of [`PackCodes`].
pub(crate) struct UnpackCodes(pub u32);

impl CastLoop for UnpackCodes {
    fn convert_steps(&self, source: &[u8], destination: &mut [u8]) {
        unpack_bytes(source, self.0, destination);
    }
}
