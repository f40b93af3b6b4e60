//! Tables in AVX-512's registers from codes of 6 or 8 bits to codes that take at most 8 bits. Each 16-bit lane holds two
//! codes, so that they are neither unpacked before nor packed into bytes after the look-ups.

use bytemuck::cast;

use super::{BYTE, WordTables, found_small};
use crate::cpu::cast_loop::Step;
use crate::cpu::lanes::Lanes;
use crate::cpu::lanes::avx512::pack::store_pairs;
use crate::cpu::lanes::avx512::{Avx512, read, splat_u16, splat_u32};
use crate::cpu::word::four;
use crate::cpu::x86::{__m512i, X86V4, count};

/// Codes in a vector.
const CODES: usize = 64;

/// The most vectors that a step reads.
const MOST_VECTORS: usize = 4;

/// The step from codes of `FROM` bits, 6, 8 or [`BYTE`], to codes of `TO` bits, at most 8, which take `STORED` bits.
#[derive(Clone, Copy)]
pub(super) struct LookUpPairs<'a, const FROM: usize, const TO: usize, const STORED: usize>(pub &'a WordTables);

impl<const FROM: usize, const TO: usize, const STORED: usize> LookUpPairs<'_, FROM, TO, STORED> {
    /// The vectors of source codes that a step reads. From 8 bits they fill one vector of results, or 96 bytes with
    /// results of 6 bits. From 6 bits there are four, so that only the last read must begin earlier to stay within the
    /// step.
    const VECTORS: usize = match (FROM, STORED) {
        (6, _) => MOST_VECTORS,
        (_, 6) => 2,
        _ => 8 / STORED,
    };
}

impl<const FROM: usize, const TO: usize, const STORED: usize> Step<Avx512> for LookUpPairs<'_, FROM, TO, STORED> {
    const READ: usize = Self::VECTORS * CODES * if FROM == BYTE { 8 } else { FROM } / 8;
    const WRITTEN: usize = Self::VECTORS * CODES * STORED / 8;

    #[inline(always)]
    fn step(self, l: Avx512, source: &[u8], destination: &mut [u8]) {
        let mut pairs = [splat_u16(0); MOST_VECTORS];
        for i in 0..Self::VECTORS {
            let [first, second] = load::<FROM>(l.0, &source[..Self::READ], i);
            let first = found_small::<FROM, TO>(l, self.0[0], first);
            let mut second = found_small::<FROM, TO>(l, self.0[0], second);
            if FROM == 8 {
                second = l.0._mm512_sllv_epi16(second, splat_u16(STORED as u16));
            }
            // Takes the low `STORED` bits from the first code and the others from the second, then clears what is above
            // each of them.
            let both = l.select_bits(splat_u16(0xff >> (8 - STORED)), first, second);
            let code = 0xff >> (8 - TO);
            pairs[i] = l.and_u16(both, splat_u16(code | code << STORED));
        }
        store_pairs::<STORED>(l, pairs, &mut destination[..Self::WRITTEN]);
    }
}

/// The first and the second codes of the 32 pairs of vector `i`, in the low bits of 16-bit lanes. The bits above these
/// codes belong to other codes.
#[inline(always)]
fn load<const FROM: usize>(simd: X86V4, bytes: &[u8], i: usize) -> [__m512i; 2] {
    if FROM != 6 {
        let codes = read(bytes, 64 * i);
        return [codes, simd._mm512_srl_epi16(codes, count(8))];
    }
    // Moves twelve bytes, which hold 16 codes, to each quarter. The last vector reads the last 64 bytes of the step and
    // skips 16 of them.
    let skipped = if i == MOST_VECTORS - 1 { 4 } else { 0 };
    let mut words: [u32; 16] = [0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11, 12];
    for word in 0..16 {
        words[word] += skipped;
    }
    let codes = simd._mm512_permutexvar_epi32(cast(words), read(bytes, 48 * i - 4 * skipped as usize));
    // In each 32 bits, two codes begin at bit 0 of the first word, and two at bit 4 of the second word.
    let bytes: [u8; 16] = [0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11];
    let codes = simd._mm512_shuffle_epi8(codes, cast(four(bytes)));
    let (first, second) = (splat_u32(4 << 16), splat_u32(10 << 16 | 6));
    [simd._mm512_srlv_epi16(codes, first), simd._mm512_srlv_epi16(codes, second)]
}
