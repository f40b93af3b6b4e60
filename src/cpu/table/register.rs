//! Tables in AVX-512's registers, for sources of at most 8 bits and any destination. One instruction looks up 32 codes
//! in 64 entries of 16 bits.

use bytemuck::cast;
use pulp::x86::V4;

use super::units;
use crate::conversion::Conversion;
use crate::cpu::arch::__m512i;
use crate::cpu::cast_loop::{CastLoop, Step, Steps};
use crate::cpu::lanes::Lanes;
use crate::cpu::lanes::avx512::{Avx512, splat_u16, write};
use crate::cpu::pack::load;

/// The number of codes that are converted at a time, each in a 16-bit word.
const LANES: usize = 32;

/// A table of 256 words in vectors. Tables for fewer than 8 bits are repeated, so that the bits above an index do not
/// matter.
type Table = [__m512i; 8];

/// The cast of one pair by a table for each 16 bits of a destination code, lowest first.
pub(crate) struct RegisterTable {
    simd: V4,
    from_bits: u32,
    to_bits: u32,
    tables: [Table; 4],
}

impl CastLoop for RegisterTable {
    fn convert(&self, source: &[u8], destination: &mut [u8]) {
        with_const!(FROM: usize = self.from_bits, of 2 4 6 8, with_const!(TO: usize = self.to_bits, of 2 4 6 8 16 32 64, {
            Steps(Avx512(self.simd), LookUp::<'_, FROM, TO>(self)).convert(source, destination);
        }));
    }
}

impl RegisterTable {
    pub(crate) fn new(simd: V4, conversion: &Conversion) -> Self {
        let [from_bits, to_bits] = [conversion.from, conversion.to].map(|t| t.code_bits());
        let units = units(conversion, 1);
        // If destination codes have at most 8 bits, units that are 64 apart share a word.
        let shared = match (from_bits, to_bits) {
            (8, ..=4) => 4,
            (8, ..=8) => 2,
            _ => 1,
        };
        let tables = [0, 16, 32, 48].map(|place| {
            let word = |i: usize| {
                let unit = |part: usize| units[(i / 64 * 64 * shared + i % 64 + 64 * part) % 256][0] >> place;
                (0..shared).fold(0, |word, part| word | (unit(part) << (16 / shared * part)) as u16)
            };
            std::array::from_fn(|part| cast::<[u16; LANES], _>(std::array::from_fn(|i| word(part * LANES + i))))
        });
        Self { simd, from_bits, to_bits, tables }
    }

    /// Looks up 32 codes in a table. The bits above a destination code of at most 8 bits are undefined.
    #[inline(always)]
    fn found<const FROM: usize, const TO: usize>(&self, [a, b, c, d, e, f, g, h]: Table, codes: __m512i) -> __m512i {
        let simd = self.simd.avx512bw;
        let first = simd._mm512_permutex2var_epi16(a, codes, b);
        if FROM < 8 {
            return first;
        }
        // A look-up uses six bits of a code. The other two bits choose among four look-ups, or within a word that is
        // shared.
        if TO <= 4 {
            let place = simd._mm512_srli_epi16::<4>(codes);
            let place = self.simd.avx512f._mm512_and_si512(place, splat_u16(0xc));
            return simd._mm512_srlv_epi16(first, place);
        }
        let seventh = simd._mm512_test_epi16_mask(codes, splat_u16(0x40));
        let eighth = simd._mm512_test_epi16_mask(codes, splat_u16(0x80));
        let second = simd._mm512_permutex2var_epi16(c, codes, d);
        if TO <= 8 {
            let both = simd._mm512_mask_blend_epi16(eighth, first, second);
            return simd._mm512_mask_srli_epi16::<8>(both, seventh, both);
        }
        let third = simd._mm512_permutex2var_epi16(e, codes, f);
        let fourth = simd._mm512_permutex2var_epi16(g, codes, h);
        let lower = simd._mm512_mask_blend_epi16(seventh, first, second);
        let upper = simd._mm512_mask_blend_epi16(seventh, third, fourth);
        simd._mm512_mask_blend_epi16(eighth, lower, upper)
    }
}

/// The step from codes of `FROM` bits to codes of `TO` bits.
#[derive(Clone, Copy)]
struct LookUp<'a, const FROM: usize, const TO: usize>(&'a RegisterTable);

impl<const FROM: usize, const TO: usize> LookUp<'_, FROM, TO> {
    /// Groups of 32 codes in a step.
    const GROUPS: usize = if TO <= 16 { 4 } else { 64 / TO };
}

impl<const FROM: usize, const TO: usize> Step<Avx512> for LookUp<'_, FROM, TO> {
    const READ: usize = LANES / 8 * FROM * Self::GROUPS;
    const WRITTEN: usize = LANES / 8 * TO * Self::GROUPS;

    #[inline(always)]
    fn step(self, l: Avx512, source: &[u8], destination: &mut [u8]) {
        let simd = l.0;
        let mut codes = [splat_u16(0); 4];
        for group in 0..Self::GROUPS {
            let units = load::<FROM>(*simd, &source[LANES / 8 * FROM * group..]);
            let units = simd.avx512bw._mm512_cvtepu8_epi16(units);
            let out = &mut destination[LANES / 8 * TO * group..];
            let found = |table: usize| self.0.found::<FROM, TO>(self.0.tables[table], units);
            match TO {
                ..8 => codes[group] = l.and_u16(found(0), splat_u16(0xff >> (8 - TO))),
                8 => codes[group] = found(0),
                16 => write(out, 0, found(0)),
                _ => {
                    let lower = interleaved16(simd, found(0), found(1));
                    if TO == 32 {
                        write(out, 0, lower[0]);
                        write(out, 64, lower[1]);
                        continue;
                    }
                    let upper = interleaved16(simd, found(2), found(3));
                    for i in 0..2 {
                        let [first, second] = interleaved32(simd, lower[i], upper[i]);
                        write(out, 128 * i, first);
                        write(out, 128 * i + 64, second);
                    }
                }
            }
        }
        if TO <= 8 {
            l.store_bytes(TO, false, &codes, destination);
        }
    }
}

/// The 16-bit words of two vectors, interleaved.
#[inline(always)]
fn interleaved16(simd: V4, a: __m512i, b: __m512i) -> [__m512i; 2] {
    const TURNS: [[u16; 32]; 2] = turns();
    TURNS.map(
        #[inline(always)]
        |turns| simd.avx512bw._mm512_permutex2var_epi16(a, cast(turns), b),
    )
}

const fn turns() -> [[u16; 32]; 2] {
    let mut turns = [[0; 32]; 2];
    let mut i = 0;
    while i < 64 {
        turns[i / 32][i % 32] = (i / 2 + 32 * (i % 2)) as u16;
        i += 1;
    }
    turns
}

/// The 32-bit words of two vectors, interleaved.
#[inline(always)]
fn interleaved32(simd: V4, a: __m512i, b: __m512i) -> [__m512i; 2] {
    let first: [u32; 16] = [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23];
    let mut second = first;
    for i in 0..16 {
        second[i] += 8;
    }
    let simd = simd.avx512f;
    [simd._mm512_permutex2var_epi32(a, cast(first), b), simd._mm512_permutex2var_epi32(a, cast(second), b)]
}
