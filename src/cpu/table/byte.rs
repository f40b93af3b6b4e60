//! Tables of 16 entries in the registers of AVX2, AVX-512 or NEON, for sources with one code of at most 4 bits in each
//! byte and destinations of at most 8 bits.

use super::entries;
use crate::cpu::cast_loop::{CastLoop, Step};
use crate::cpu::code_cast::CodeCast;
use crate::cpu::lanes::bytes::ByteLanes;

/// The number of vectors of source bytes that a step reads.
const VECTORS: usize = 4;

/// The table of a cast, by the bits that a destination code takes.
pub(crate) enum ByteTable {
    Bits2(Bytes<2>),
    Bits4(Bytes<4>),
    Bits6(Bytes<6>),
    Bits8(Bytes<8>),
}

impl ByteTable {
    /// `None` for other sources and destinations.
    pub(crate) fn new(cast: &CodeCast) -> Option<Self> {
        let [8, to_bits] = cast.bits() else { return None };
        if cast.conversion.from.code_bits() > 4 {
            return None;
        }
        // A source of 2 bits has four times the same four entries.
        let codes = || {
            let entries = entries(cast, 1);
            std::array::from_fn(|code| entries[code][0] as u8)
        };
        match to_bits {
            2 => Some(Self::Bits2(Bytes(codes()))),
            4 => Some(Self::Bits4(Bytes(codes()))),
            6 => Some(Self::Bits6(Bytes(codes()))),
            8 => Some(Self::Bits8(Bytes(codes()))),
            _ => None,
        }
    }

    pub(crate) fn build<L: ByteLanes + 'static>(self, l: L) -> Box<dyn CastLoop> {
        match self {
            Self::Bits2(table) => Box::new((l, table)),
            Self::Bits4(table) => Box::new((l, table)),
            Self::Bits6(table) => Box::new((l, table)),
            Self::Bits8(table) => Box::new((l, table)),
        }
    }
}

/// The step to codes that take `BITS` bits each.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<const BITS: usize>([u8; 16]);

impl<L: ByteLanes, const BITS: usize> Step<L> for Bytes<BITS> {
    const READ: usize = VECTORS * 2 * L::COUNT;
    const WRITTEN: usize = VECTORS * 2 * L::COUNT * BITS / 8;

    #[inline(always)]
    fn step(self, l: L, source: &[u8], destination: &mut [u8]) {
        let mut made = [l.splat_u16(0); VECTORS];
        for i in 0..VECTORS {
            let codes = l.and_u16(l.load_u16(&source[2 * L::COUNT * i..]), l.splat_u16(0x0f0f));
            made[i] = l.look_up_u8(self.0, codes);
        }
        l.store_from_bytes::<BITS>(made, destination);
    }
}
