//! Tables of 16 entries in the registers of AVX2, AVX-512 or NEON, for packed sources of at most 4 bits. Both halves of
//! each source byte are looked up where they lie, so that codes are not unpacked first.

use super::{Entries, entries};
use crate::cpu::cast_loop::{CastLoop, Step};
use crate::cpu::code_cast::CodeCast;
use crate::cpu::lanes::bytes::ByteLanes;
use crate::cpu::word::four;

/// The number of vectors of source bytes that a step reads.
const VECTORS: usize = 2;

/// The table of a pair, by the destination bits of a nibble: half a source byte, which is one code of 4 bits or two of
/// 2 bits.
pub(crate) enum NibbleTable {
    Bits2(Nibbles<2>),
    Bits4(Nibbles<4>),
    Bits6(Nibbles<6>),
    Bits8(Nibbles<8>),
    Bits12(Nibbles<12>),
    Bits16(Nibbles<16>),
}

impl NibbleTable {
    /// `None` unless destination codes take at most 8 bits, or 16 bits from a source of 4 bits.
    pub(crate) fn new(cast: &CodeCast) -> Option<Self> {
        let [from_bits, to_bits] = cast.bits();
        let codes = match (from_bits, to_bits) {
            (2, ..=8) => 2,
            (4, ..=8 | 16) => 1,
            _ => return None,
        };
        let entries = || entries(cast, codes);
        match codes * to_bits {
            2 => Some(Self::Bits2(Nibbles::new(&entries()))),
            4 => Some(Self::Bits4(Nibbles::new(&entries()))),
            6 => Some(Self::Bits6(Nibbles::new(&entries()))),
            8 => Some(Self::Bits8(Nibbles::new(&entries()))),
            12 => Some(Self::Bits12(Nibbles::new(&entries()))),
            16 => Some(Self::Bits16(Nibbles::new(&entries()))),
            _ => None,
        }
    }

    pub(crate) fn build<L: ByteLanes + 'static>(self, l: L) -> Box<dyn CastLoop> {
        match self {
            Self::Bits2(table) => Box::new((l, table)),
            Self::Bits4(table) => Box::new((l, table)),
            Self::Bits6(table) => Box::new((l, table)),
            Self::Bits8(table) => Box::new((l, table)),
            Self::Bits12(table) => Box::new((l, table)),
            Self::Bits16(table) => Box::new((l, table)),
        }
    }
}

/// The step from nibbles to `BITS` destination bits each. The two nibbles of a source byte give up to four bytes.
#[derive(Clone, Copy)]
pub(crate) struct Nibbles<const BITS: usize> {
    /// What the lower nibble contributes to each of these bytes.
    lower: [[u8; 16]; 4],
    /// What the upper nibble contributes to each of these bytes.
    upper: [[u8; 16]; 4],
}

impl<const BITS: usize> Nibbles<BITS> {
    fn new(entries: &Entries) -> Self {
        Self { lower: tables(entries, 0), upper: tables(entries, BITS) }
    }
}

/// What a nibble contributes to each of up to four bytes if its result is shifted up by `up` bits.
fn tables(entries: &Entries, up: usize) -> [[u8; 16]; 4] {
    std::array::from_fn(|byte| std::array::from_fn(|nibble| (entries[nibble][0] << up >> (8 * byte)) as u8))
}

impl<L: ByteLanes, const BITS: usize> Step<L> for Nibbles<BITS> {
    const READ: usize = VECTORS * 2 * L::COUNT;
    const WRITTEN: usize = VECTORS * 2 * L::COUNT * BITS / 4;

    #[inline(always)]
    fn step(self, l: L, source: &[u8], destination: &mut [u8]) {
        let mut firsts = [l.splat_u16(0); VECTORS];
        for i in 0..VECTORS {
            let codes = l.load_u16(&source[2 * L::COUNT * i..]);
            // Two or four bytes for each source byte are interleaved below. That changes the order, unless the source
            // bytes are moved first.
            let codes = match BITS {
                2 | 4 => codes,
                6 | 8 => l.spread_by_8(codes),
                _ => l.spread_by_4(codes),
            };
            let lower = l.and_u16(codes, l.splat_u16(0x0f0f));
            let upper = l.and_u16(l.shr_u16(codes, 4), l.splat_u16(0x0f0f));
            let mut made = four(l.splat_u16(0));
            for byte in 0..(2 * BITS).div_ceil(8) {
                if 8 * byte < BITS {
                    made[byte] = l.look_up_u8(self.lower[byte], lower);
                }
                if 8 * (byte + 1) > BITS {
                    made[byte] = l.or_u16(made[byte], l.look_up_u8(self.upper[byte], upper));
                }
            }
            let destination = &mut destination[L::COUNT / 2 * BITS * i..];
            match BITS {
                2 => {}
                4 => l.store_u16(false, made[0], destination),
                6 => l.store_pairs_of_6(l.interleaved_u8(made[0], made[1]), destination),
                8 => {
                    let [first, second] = l.interleaved_u8(made[0], made[1]);
                    l.store_u16(false, first, destination);
                    l.store_u16(false, second, &mut destination[2 * L::COUNT..]);
                }
                _ => {
                    let (low, high) = (l.interleaved_u8(made[0], made[1]), l.interleaved_u8(made[2], made[3]));
                    for half in 0..2 {
                        let fours = l.interleaved_u16(low[half], high[half]);
                        let destination = &mut destination[L::COUNT / 4 * BITS * half..];
                        if BITS == 12 {
                            l.store_threes(fours, destination);
                        } else {
                            l.store_u16(false, fours[0], destination);
                            l.store_u16(false, fours[1], &mut destination[2 * L::COUNT..]);
                        }
                    }
                }
            }
            firsts[i] = made[0];
        }
        if BITS == 2 {
            l.store_nibbles(firsts, destination);
        }
    }
}
