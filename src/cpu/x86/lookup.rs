//! Sources of at most 8 bits to any destination, by AVX-512's look-ups of 16-bit words: 64 entries an instruction.

#[cfg(target_arch = "x86")]
use core::arch::x86::__m512i;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::__m512i;

use bytemuck::cast;
use pulp::x86::V4;

use super::strips::{Strip, strips};
use crate::conversion::Conversion;
use crate::cpu::narrow;

/// Codes converted at a time, a 16-bit word each.
const LANES: usize = 32;

/// A table of 256 words in vectors; those for less than 8 bits stand there again and again, so that an index may have
/// other bits above.
type Table = [__m512i; 8];

/// The casts of one pair: a table for each 16 bits of a destination code, lowest first.
pub(crate) struct Lookup {
    simd: V4,
    from_bits: u32,
    to_bits: u32,
    tables: [Table; 4],
}

impl Lookup {
    /// `None` where a source code has more than 8 bits.
    pub(crate) fn new(simd: V4, conversion: &Conversion) -> Option<Self> {
        let [from_bits, to_bits] = [conversion.from, conversion.to].map(|t| t.code_bits());
        if from_bits > 8 {
            return None;
        }
        let units = narrow::units(conversion, 1);
        // Where a code leaves room in a word, those of units 64 apart share one.
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
        Some(Self { simd, from_bits, to_bits, tables })
    }

    /// Casts packed codes that start at a byte; what it writes to pad bits is undefined.
    pub(crate) fn convert(&self, source: &[u8], destination: &mut [u8]) {
        match self.from_bits {
            2 => self.from::<2>(source, destination),
            4 => self.from::<4>(source, destination),
            6 => self.from::<6>(source, destination),
            _ => self.from::<8>(source, destination),
        }
    }

    fn from<const FROM: usize>(&self, source: &[u8], destination: &mut [u8]) {
        match self.to_bits {
            2 => self.strips::<FROM, 2>(source, destination),
            4 => self.strips::<FROM, 4>(source, destination),
            6 => self.strips::<FROM, 6>(source, destination),
            8 => self.strips::<FROM, 8>(source, destination),
            16 => self.strips::<FROM, 16>(source, destination),
            32 => self.strips::<FROM, 32>(source, destination),
            _ => self.strips::<FROM, 64>(source, destination),
        }
    }

    fn strips<const FROM: usize, const TO: usize>(&self, source: &[u8], destination: &mut [u8]) {
        strips(self.simd, &Codes::<'_, FROM, TO>(self), source, destination);
    }

    /// What a table has for 32 codes; above a destination code of at most 8 bits there may be others.
    #[inline(always)]
    fn found<const FROM: usize, const TO: usize>(&self, [a, b, c, d, e, f, g, h]: Table, codes: __m512i) -> __m512i {
        let simd = self.simd.avx512bw;
        let first = simd._mm512_permutex2var_epi16(a, codes, b);
        if FROM < 8 {
            return first;
        }
        // A look-up sees six bits of a code; the other two choose between four of them, or what four made one hold.
        if TO <= 4 {
            let place = simd._mm512_srli_epi16::<4>(codes);
            let place = self.simd.avx512f._mm512_and_si512(place, words(0xc));
            return simd._mm512_srlv_epi16(first, place);
        }
        let seventh = simd._mm512_test_epi16_mask(codes, words(0x40));
        let eighth = simd._mm512_test_epi16_mask(codes, words(0x80));
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

/// The work for codes of so many bits.
struct Codes<'a, const FROM: usize, const TO: usize>(&'a Lookup);

impl<const FROM: usize, const TO: usize> Codes<'_, FROM, TO> {
    /// Groups of 32 codes in a strip.
    const GROUPS: usize = if TO <= 16 { 4 } else { 64 / TO };
}

impl<const FROM: usize, const TO: usize> Strip<V4> for Codes<'_, FROM, TO> {
    const READ: usize = LANES / 8 * FROM * Self::GROUPS;
    const WRITTEN: usize = LANES / 8 * TO * Self::GROUPS;

    #[inline(always)]
    fn convert(&self, simd: V4, source: &[u8], destination: &mut [u8]) {
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

#[inline(always)]
fn words(word: u16) -> __m512i {
    cast([word; 32])
}

/// The words of two vectors in turn.
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

/// The double words of two vectors in turn.
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

/// 32 packed codes of `BITS` bits, a word each: its low bits, with others above.
#[inline(always)]
fn load<const BITS: usize>(simd: V4, bytes: &[u8]) -> __m512i {
    let wide = simd.avx512f;
    match BITS {
        2 => {
            let bytes: [u8; 8] = bytes.try_into().expect("32 codes");
            // The upper codes of each byte go to the words above.
            let fours = wide._mm512_cvtepu8_epi64(cast([bytes, [0; 8]]));
            let pairs = wide._mm512_or_si512(fours, wide._mm512_slli_epi64::<28>(fours));
            wide._mm512_or_si512(pairs, wide._mm512_slli_epi64::<14>(pairs))
        }
        4 => {
            let bytes: [u8; 16] = bytes.try_into().expect("32 codes");
            let pairs = wide._mm512_cvtepu8_epi32(cast(bytes));
            wide._mm512_or_si512(pairs, wide._mm512_slli_epi32::<12>(pairs))
        }
        6 => {
            let bytes: [u8; 24] = bytes.try_into().expect("32 codes");
            let mut all = [0; 64];
            all[..24].copy_from_slice(&bytes);
            // Eight codes lie in six bytes: a quarter gets the two double words that have them, the second and the last
            // from the third byte on.
            let quarters: [u32; 16] = [0, 1, 0, 0, 1, 2, 0, 0, 3, 4, 0, 0, 4, 5, 0, 0];
            let quarters = wide._mm512_permutexvar_epi32(cast(quarters), cast(all));
            let pairs: [u8; 16] = [0, 1, 0, 1, 1, 2, 2, 2, 3, 4, 3, 4, 4, 5, 5, 5];
            let mut later = pairs;
            for i in 0..16 {
                later[i] += 2;
            }
            let words = simd.avx512bw._mm512_shuffle_epi8(quarters, cast([pairs, later, pairs, later]));
            let places: [u16; 4] = [0, 6, 4, 2];
            simd.avx512bw._mm512_srlv_epi16(words, cast([places; 8]))
        }
        _ => {
            let bytes: [u8; 32] = bytes.try_into().expect("32 codes");
            simd.avx512bw._mm512_cvtepu8_epi16(cast(bytes))
        }
    }
}

/// 32 codes of `BITS` bits, a word each, packed; higher bits of a word are dropped.
#[inline(always)]
fn store<const BITS: usize>(simd: V4, codes: __m512i, bytes: &mut [u8]) {
    let wide = simd.avx512f;
    let codes = if BITS < 8 { wide._mm512_and_si512(codes, words(0xff >> (8 - BITS))) } else { codes };
    match BITS {
        2 => {
            let pairs = wide._mm512_or_si512(codes, wide._mm512_srli_epi64::<14>(codes));
            let fours = wide._mm512_or_si512(pairs, wide._mm512_srli_epi64::<28>(pairs));
            bytes.copy_from_slice(&cast::<_, [u8; 16]>(wide._mm512_cvtepi64_epi8(fours))[..8]);
        }
        4 => {
            let pairs = wide._mm512_or_si512(codes, wide._mm512_srli_epi32::<12>(codes));
            bytes.copy_from_slice(&cast::<_, [u8; 16]>(wide._mm512_cvtepi32_epi8(pairs)));
        }
        6 => {
            let pairs = simd.avx512bw._mm512_madd_epi16(codes, cast([[1u16, 1 << 6]; 16]));
            let fours = wide._mm512_or_si512(pairs, wide._mm512_srli_epi64::<20>(pairs));
            // Three bytes of each half of a quarter, then the three words of each quarter.
            let threes: [u8; 16] = [0, 1, 2, 8, 9, 10, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80];
            let quarters = simd.avx512bw._mm512_shuffle_epi8(fours, cast([threes; 4]));
            let mut order = [0u16; 32];
            for i in 0..12 {
                order[i] = (i / 3 * 8 + i % 3) as u16;
            }
            let packed = simd.avx512bw._mm512_permutexvar_epi16(cast(order), quarters);
            bytes.copy_from_slice(&cast::<_, [u8; 64]>(packed)[..24]);
        }
        8 => bytes.copy_from_slice(&cast::<_, [u8; 32]>(simd.avx512bw._mm512_cvtepi16_epi8(codes))),
        _ => bytes.copy_from_slice(&cast::<_, [u8; 64]>(codes)),
    }
}

/// Packs codes of `bits` bits that lie in words of 16, of which higher bits are dropped, into `destination`.
pub(crate) fn pack_words(simd: V4, words: &[u8], bits: u32, destination: &mut [u8]) {
    match bits {
        2 => strips(simd, &Pack::<2>, words, destination),
        4 => strips(simd, &Pack::<4>, words, destination),
        _ => strips(simd, &Pack::<6>, words, destination),
    }
}

/// The work of [`pack_words`].
struct Pack<const BITS: usize>;

impl<const BITS: usize> Strip<V4> for Pack<BITS> {
    const READ: usize = 8 * LANES;
    const WRITTEN: usize = LANES * BITS / 2;

    #[inline(always)]
    fn convert(&self, simd: V4, source: &[u8], destination: &mut [u8]) {
        for (source, destination) in source.chunks_exact(64).zip(destination.chunks_exact_mut(LANES / 8 * BITS)) {
            let words: [u8; 64] = source.try_into().expect("32 words");
            store::<BITS>(simd, cast(words), destination);
        }
    }
}
