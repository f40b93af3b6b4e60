//! Tables of 16 entries in the registers of AVX2 or AVX-512, for sources of at most 4 bits. Both halves of each source byte are
//! looked up where they lie, so that codes are not unpacked first.

use super::units;
use crate::cpu::cast_loop::{CastLoop, Step, Steps};
use crate::cpu::lanes::bytes::ByteLanes;
use crate::types::conversion::Conversion;

/// How many vectors of source bytes a step reads.
const VECTORS: usize = 2;

/// The loop of a pair whose destination codes have at most 8 bits, or 16 bits from a source of 4 bits. A *unit* is half a source
/// byte: one code of 4 bits or two of 2 bits.
pub(crate) fn nibble_table<L: ByteLanes + 'static>(l: L, conversion: &Conversion) -> Box<dyn CastLoop> {
    let [from_bits, to_bits] = [conversion.from, conversion.to].map(|t| t.code_bits());
    let codes = 4 / from_bits;
    let units = units(conversion, codes);
    with_const!(UNIT: usize = codes * to_bits, of 2 4 6 8 12 16, Box::new(Steps(l, NibbleTable::<UNIT>::new(&units))))
}

/// The step from units to `UNIT` destination bits each. The two units of a source byte give up to four bytes.
#[derive(Clone, Copy)]
struct NibbleTable<const UNIT: usize> {
    /// What the lower unit contributes to each of these bytes.
    lower: [[u8; 16]; 4],
    /// What the upper unit contributes.
    upper: [[u8; 16]; 4],
}

impl<const UNIT: usize> NibbleTable<UNIT> {
    fn new(units: &[[u64; 4]; 256]) -> Self {
        let tables = |up: usize| {
            std::array::from_fn(|byte| std::array::from_fn(|unit| (units[unit][0] << up >> (8 * byte)) as u8))
        };
        Self { lower: tables(0), upper: tables(UNIT) }
    }
}

impl<L: ByteLanes, const UNIT: usize> Step<L> for NibbleTable<UNIT> {
    const READ: usize = VECTORS * 2 * L::COUNT;
    const WRITTEN: usize = VECTORS * 2 * L::COUNT * UNIT / 4;

    #[inline(always)]
    fn step(self, l: L, source: &[u8], destination: &mut [u8]) {
        let mut firsts = [l.splat_u16(0); VECTORS];
        for i in 0..VECTORS {
            let codes = l.load_u16(&source[2 * L::COUNT * i..]);
            let codes = match UNIT {
                2 | 4 => codes,
                6 | 8 => l.spread_by_8(codes),
                _ => l.spread_by_4(codes),
            };
            let lower = l.and_u16(codes, l.splat_u16(0x0f0f));
            let upper = l.and_u16(l.shr_u16(codes, 4), l.splat_u16(0x0f0f));
            let mut made = [l.splat_u16(0); 4];
            for byte in 0..(2 * UNIT).div_ceil(8) {
                if 8 * byte < UNIT {
                    made[byte] = l.look_up_u8(self.lower[byte], lower);
                }
                if 8 * (byte + 1) > UNIT {
                    made[byte] = l.or_u16(made[byte], l.look_up_u8(self.upper[byte], upper));
                }
            }
            let destination = &mut destination[L::COUNT / 2 * UNIT * i..];
            match UNIT {
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
                        let destination = &mut destination[L::COUNT / 4 * UNIT * half..];
                        if UNIT == 12 {
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
        if UNIT == 2 {
            l.store_nibbles(firsts, destination);
        }
    }
}
