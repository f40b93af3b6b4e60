//! Tables in AVX-512's registers from codes of at most 4 bits to codes of 32 and 64 bits. One instruction looks up 16 or 8
//! whole codes.

use bytemuck::cast;

use super::bytes;
use crate::cpu::cast_loop::Step;
use crate::cpu::lanes::avx512::{Avx512, write};
use crate::cpu::pack::load;
use crate::cpu::table::Entries;
use crate::cpu::x86::__m512i;

/// The 16 entries of a table, of 32 bits in the first vector, or of 64 bits. A source of 2 bits has four times the same
/// four entries.
pub(crate) type Whole = [[u8; 64]; 2];

/// Entries of `to_bits` bits, 32 or 64.
pub(super) fn whole(entries: &Entries, to_bits: u32) -> Whole {
    match to_bits {
        32 => [cast::<[u32; 16], _>(std::array::from_fn(|i| entries[i][0] as u32)), [0; 64]],
        _ => cast::<[u64; 16], _>(std::array::from_fn(|i| entries[i][0])),
    }
}

/// The step from codes of `FROM` bits, 2, 4 or [`BYTE`](super::BYTE), to codes of `TO` bits.
#[derive(Clone, Copy)]
pub(super) struct LookUpWhole<'a, const FROM: usize, const TO: usize>(pub &'a Whole);

impl<const FROM: usize, const TO: usize> Step<Avx512> for LookUpWhole<'_, FROM, TO> {
    const READ: usize = bytes(FROM);
    const WRITTEN: usize = 32 * TO / 8;
    const NON_TEMPORAL: bool = true;

    #[inline(always)]
    fn step(self, l: Avx512, source: &[u8], destination: &mut [u8]) {
        // The bits above an index do not matter.
        let quarters: [[u8; 8]; 4] = cast(load::<FROM>(l.0.v3, source));
        let table: [__m512i; 2] = cast(*self.0);
        match TO {
            32 => {
                let halves: [[u8; 16]; 2] = cast(quarters);
                for i in 0..2 {
                    let index = l.0._mm512_cvtepu8_epi32(cast(halves[i]));
                    write(destination, 64 * i, l.0._mm512_permutexvar_epi32(index, table[0]));
                }
            }
            _ => {
                for i in 0..4 {
                    let index = l.0._mm512_cvtepu8_epi64(cast([quarters[i], [0; 8]]));
                    write(destination, 64 * i, l.0._mm512_permutex2var_epi64(table[0], index, table[1]));
                }
            }
        }
    }
}
