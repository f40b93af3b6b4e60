//! Tables in AVX-512's registers, for sources of at most 8 bits and any destination. One instruction looks up 32 codes
//! in 64 entries of 16 bits.

#![allow(clippy::needless_range_loop, reason = "the closures of adapters are compiled without the vector instructions")]

#[cfg(target_arch = "x86")]
use core::arch::x86::__m512i;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::__m512i;

use bytemuck::cast;
use pulp::x86::V4;

use super::units;
use crate::conversion::Conversion;
use crate::cpu::kernel::{Kernel, Step, Steps};
use crate::cpu::lanes::avx512::Avx512;
use crate::cpu::pack::avx512::{interleaved16, interleaved32, load, splat_u16, store};

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

impl Kernel for RegisterTable {
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
    fn step(self, Avx512(simd): Avx512, source: &[u8], destination: &mut [u8]) {
        for group in 0..Self::GROUPS {
            let read = LANES / 8 * FROM;
            let codes = load::<FROM>(simd, &source[read * group..read * (group + 1)]);
            let tables = &self.0.tables;
            let written = LANES / 8 * TO;
            let out = &mut destination[written * group..written * (group + 1)];
            let first = self.0.found::<FROM, TO>(tables[0], codes);
            if TO <= 16 {
                store::<TO>(simd, first, out);
                continue;
            }
            let second = self.0.found::<FROM, TO>(tables[1], codes);
            let [low, high] = interleaved16(simd, first, second);
            if TO == 32 {
                out[..64].copy_from_slice(&cast::<_, [u8; 64]>(low));
                out[64..].copy_from_slice(&cast::<_, [u8; 64]>(high));
                continue;
            }
            let third = self.0.found::<FROM, TO>(tables[2], codes);
            let fourth = self.0.found::<FROM, TO>(tables[3], codes);
            let [low_upper, high_upper] = interleaved16(simd, third, fourth);
            for (i, (lower, upper)) in [(low, low_upper), (high, high_upper)].into_iter().enumerate() {
                for (j, vector) in interleaved32(simd, lower, upper).into_iter().enumerate() {
                    let at = 64 * (2 * i + j);
                    out[at..at + 64].copy_from_slice(&cast::<_, [u8; 64]>(vector));
                }
            }
        }
    }
}
