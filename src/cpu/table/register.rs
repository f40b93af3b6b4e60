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
use crate::cpu::method::{SinkKind, SourceKind};
use crate::cpu::pack::load;
use crate::element::ElementType;
use crate::options::CastOptions;

/// The number of codes that are converted at a time, each in a 16-bit word.
const LANES: usize = 32;

/// A table of 256 words in vectors. Tables for fewer than 8 bits are repeated, so that the bits above an index do not
/// matter.
type Table = [__m512i; 8];

/// The cast of one pair by tables.
pub(crate) struct RegisterTable {
    simd: V4,
    from_bits: u32,
    made: Made,
    tables: [Table; 4],
}

/// What the tables hold.
#[derive(Clone, Copy)]
enum Made {
    /// The destination codes, which have so many bits: a table for each 16 bits, lowest first.
    Codes(u32),
    /// The upper halves of the source's numbers in binary32, whose other bits are zero: one table. Instructions make the
    /// destination codes of them.
    Numbers(SinkKind),
}

impl CastLoop for RegisterTable {
    fn convert(&self, source: &[u8], destination: &mut [u8]) {
        let l = Avx512(self.simd);
        with_const!(FROM: usize = self.from_bits, of 2 4 6 8, match self.made {
            Made::Codes(bits) => with_const!(TO: usize = bits, of 2 4 6 8 16 32 64, {
                Steps(l, LookUp::<'_, FROM, TO>(self)).convert(source, destination);
            }),
            Made::Numbers(SinkKind::F32) => Steps(l, Numbers::<'_, FROM, F32>(self)).convert(source, destination),
            Made::Numbers(SinkKind::F64) => Steps(l, Numbers::<'_, FROM, F64>(self)).convert(source, destination),
            Made::Numbers(SinkKind::Int32) => Steps(l, Numbers::<'_, FROM, INT32>(self)).convert(source, destination),
            Made::Numbers(SinkKind::Int64 { signed: true }) => {
                Steps(l, Numbers::<'_, FROM, INT64>(self)).convert(source, destination);
            }
            Made::Numbers(_) => Steps(l, Numbers::<'_, FROM, UINT64>(self)).convert(source, destination),
        });
    }
}

impl RegisterTable {
    pub(crate) fn new(simd: V4, conversion: &Conversion, source: SourceKind, sink: SinkKind) -> Self {
        let by_numbers = match sink {
            SinkKind::F32 | SinkKind::F64 | SinkKind::Int32 | SinkKind::Int64 { signed: true } => true,
            // For fewer bits, four look-ups are faster.
            SinkKind::Int64 { signed: false } => source.bits() == 8,
            _ => false,
        };
        if !by_numbers || !matches!(source, SourceKind::SmallFloat(_)) {
            return Self::of_codes(simd, conversion);
        }
        let upper_halves = Conversion::new(conversion.from, ElementType::BFLOAT16, &CastOptions::default());
        let upper_halves = upper_halves.expect("both are numeric");
        Self { made: Made::Numbers(sink), ..Self::of_codes(simd, &upper_halves) }
    }

    fn of_codes(simd: V4, conversion: &Conversion) -> Self {
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
        Self { simd, from_bits, made: Made::Codes(to_bits), tables }
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

/// The values of `TO`.
const F32: u8 = 0;
const F64: u8 = 1;
const INT32: u8 = 2;
const INT64: u8 = 3;
const UINT64: u8 = 4;

/// The step from codes of `FROM` bits to `TO` by way of binary32.
#[derive(Clone, Copy)]
struct Numbers<'a, const FROM: usize, const TO: u8>(&'a RegisterTable);

impl<const FROM: usize, const TO: u8> Numbers<'_, FROM, TO> {
    const BYTES: usize = if matches!(TO, F32 | INT32) { 4 } else { 8 };

    #[inline(always)]
    fn group(self, l: Avx512, source: &[u8], destination: &mut [u8]) {
        let codes = l.0.avx512bw._mm512_cvtepu8_epi16(load::<FROM>(*l.0, source));
        let upper = self.0.found::<FROM, 16>(self.0.tables[0], codes);
        let numbers = l.unpack(splat_u16(0), upper);
        match TO {
            F32 => l.store_u32(numbers, destination),
            F64 => l.store_f32_as_f64(numbers, destination),
            INT32 => l.store_u32(l.f32_to_i32(numbers), destination),
            INT64 => l.store_f32_as_i64::<true>(numbers, destination),
            _ => l.store_f32_as_i64::<false>(numbers, destination),
        }
    }
}

impl<const FROM: usize, const TO: u8> Step<Avx512> for Numbers<'_, FROM, TO> {
    const READ: usize = 2 * LANES / 8 * FROM;
    const WRITTEN: usize = 2 * LANES * Self::BYTES;

    #[inline(always)]
    fn step(self, l: Avx512, source: &[u8], destination: &mut [u8]) {
        let (first, second) = destination.split_at_mut(LANES * Self::BYTES);
        self.group(l, source, first);
        self.group(l, &source[LANES / 8 * FROM..], second);
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
