//! Tables in AVX-512's registers, for sources of at most 8 bits and any destination. One instruction looks up 32 codes
//! in 64 entries of 16 bits.

mod pairs;

use bytemuck::cast;
use pairs::LookUpPairs;
use pulp::x86::V4;

use super::numbers::numbers;
use super::units;
use crate::cpu::arch::__m512i;
use crate::cpu::cast_loop::{CastLoop, Step, Steps};
use crate::cpu::lanes::Lanes;
use crate::cpu::lanes::avx512::{Avx512, splat_u16, write};
use crate::cpu::method::{SinkKind, SourceKind};
use crate::cpu::pack::load;
use crate::types::conversion::Conversion;
use crate::types::element::ElementType;

/// The number of codes that are converted at a time, each in a 16-bit word.
const LANES: usize = 32;

/// 256 words in vectors. Tables for fewer than 8 bits are repeated, so that the bits above an index do not matter.
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
    /// The destination codes, which have so many bits. More than 8: a table for each 16 bits, lowest first. Otherwise one table,
    /// whose words hold several codes.
    Codes(u32),
    /// The upper halves of the source's numbers in binary32, whose other bits are zero: one table. Instructions make the
    /// destination codes of them.
    Numbers(SinkKind),
}

impl CastLoop for RegisterTable {
    fn convert(&self, source: &[u8], destination: &mut [u8]) {
        self.with_loop(|cast_loop| cast_loop.convert(source, destination));
    }

    fn stream(&self, source: &[u8], destination: &mut [u8]) -> [usize; 2] {
        self.with_loop(|cast_loop| cast_loop.stream(source, destination))
    }
}

impl RegisterTable {
    /// Runs `work` with the loop for the widths of the codes.
    fn with_loop<R>(&self, work: impl FnOnce(&dyn CastLoop) -> R) -> R {
        let l = Avx512(self.simd);
        if let Made::Codes(to_bits @ ..=8) = self.made {
            return with_const!(FROM: usize = self.from_bits, of 6 8, with_const!(TO: usize = to_bits, of 2 4 6 8, {
                work(&Steps(l, LookUpPairs::<'_, FROM, TO>(self)))
            }));
        }
        with_const!(FROM: usize = self.from_bits, of 2 4 6 8, match self.made {
            Made::Codes(to_bits) => with_const!(TO: usize = to_bits, of 16 32 64, {
                work(&Steps(l, LookUp::<'_, FROM, TO>(self)))
            }),
            Made::Numbers(SinkKind::F32) => work(&Steps(l, Numbers::<'_, FROM, F32>(self))),
            Made::Numbers(SinkKind::F64) => work(&Steps(l, Numbers::<'_, FROM, F64>(self))),
            Made::Numbers(SinkKind::Int32) => work(&Steps(l, Numbers::<'_, FROM, INT32>(self))),
            Made::Numbers(_) => work(&Steps(l, Numbers::<'_, FROM, INT64>(self))),
        })
    }

    pub(crate) fn new(simd: V4, conversion: &Conversion, source: SourceKind, sink: SinkKind) -> Self {
        // To UINT64 from fewer than 8 bits, four look-ups are faster.
        let by_codes = matches!(sink, SinkKind::Int64 { signed: false }) && source.bits() < 8;
        match numbers(conversion, source, sink) {
            Some((numbers, made_as)) if !by_codes => {
                let upper_halves = ElementType::BFLOAT16.code_bits();
                Self { made: Made::Numbers(made_as), ..Self::of_units(simd, source.bits(), upper_halves, &numbers) }
            }
            _ => {
                let [from_bits, to_bits] = [conversion.from, conversion.to].map(|t| t.code_bits());
                Self::of_units(simd, from_bits, to_bits, &units(conversion, 1))
            }
        }
    }

    fn of_units(simd: V4, from_bits: u32, to_bits: u32, units: &[[u64; 4]; 256]) -> Self {
        // Codes of at most 8 bits share a word: those of the units i and i + 64, and of i + 128 and i + 192 if all four fit. A
        // source of 6 bits has 64 units only: its words have the code twice, once for each code of a pair.
        let (shared, size) = match (from_bits, to_bits) {
            (8, ..=4) => (4, 4),
            (8, ..=8) => (2, 8),
            (_, ..=8) => (2, to_bits),
            _ => (1, 16),
        };
        let tables = [0, 16, 32, 48].map(|place| {
            let word = |i: usize| {
                let unit = |part: usize| units[(i / 64 * 64 * shared + i % 64 + 64 * part) % 256][0] >> place;
                (0..shared).fold(0, |word, part| word | (unit(part) << (size * part as u32)) as u16)
            };
            std::array::from_fn(|part| cast::<[u16; LANES], _>(std::array::from_fn(|i| word(part * LANES + i))))
        });
        Self { simd, from_bits, made: Made::Codes(to_bits), tables }
    }

    /// Looks up 32 codes in a table of 16-bit words.
    #[inline(always)]
    fn found<const FROM: usize>(&self, [a, b, c, d, e, f, g, h]: Table, codes: __m512i) -> __m512i {
        let simd = self.simd.avx512bw;
        let first = simd._mm512_permutex2var_epi16(a, codes, b);
        if FROM < 8 {
            return first;
        }
        // A look-up uses six bits of a code. The other two bits choose among four look-ups.
        let seventh = simd._mm512_test_epi16_mask(codes, splat_u16(0x40));
        let eighth = simd._mm512_test_epi16_mask(codes, splat_u16(0x80));
        let second = simd._mm512_permutex2var_epi16(c, codes, d);
        let third = simd._mm512_permutex2var_epi16(e, codes, f);
        let fourth = simd._mm512_permutex2var_epi16(g, codes, h);
        let lower = simd._mm512_mask_blend_epi16(seventh, first, second);
        let upper = simd._mm512_mask_blend_epi16(seventh, third, fourth);
        simd._mm512_mask_blend_epi16(eighth, lower, upper)
    }

    /// Looks up 32 codes of `FROM` bits, 6 or 8, whose destination codes have `TO` bits, at most 8. The result of 6 bits is repeated
    /// in the next `TO` bits. Of 8 bits, the bits above the result are undefined.
    #[inline(always)]
    pub(super) fn found_small<const FROM: usize, const TO: usize>(&self, codes: __m512i) -> __m512i {
        let simd = self.simd.avx512bw;
        let [a, b, c, d, ..] = self.tables[0];
        let found = simd._mm512_permutex2var_epi16(a, codes, b);
        if FROM < 8 {
            return found;
        }
        // A look-up uses six bits of a code. The other two bits choose a place in a word of four codes, or one of two look-ups
        // and a place in a word of two.
        if TO <= 4 {
            let place = self.simd.avx512f._mm512_and_si512(simd._mm512_srli_epi16::<4>(codes), splat_u16(0xc));
            return simd._mm512_srlv_epi16(found, place);
        }
        let eighth = simd._mm512_test_epi16_mask(codes, splat_u16(0x80));
        let other = simd._mm512_permutex2var_epi16(c, codes, d);
        let place = self.simd.avx512f._mm512_and_si512(simd._mm512_srli_epi16::<3>(codes), splat_u16(8));
        simd._mm512_srlv_epi16(simd._mm512_mask_blend_epi16(eighth, found, other), place)
    }
}

/// The step from codes of `FROM` bits to codes of `TO` bits, at least 16.
#[derive(Clone, Copy)]
struct LookUp<'a, const FROM: usize, const TO: usize>(&'a RegisterTable);

impl<const FROM: usize, const TO: usize> LookUp<'_, FROM, TO> {
    /// Groups of 32 codes in a step.
    const GROUPS: usize = 64 / TO;
}

impl<const FROM: usize, const TO: usize> Step<Avx512> for LookUp<'_, FROM, TO> {
    const READ: usize = LANES / 8 * FROM * Self::GROUPS;
    const WRITTEN: usize = LANES / 8 * TO * Self::GROUPS;
    const STREAMS: bool = true;

    #[inline(always)]
    fn step(self, l: Avx512, source: &[u8], destination: &mut [u8]) {
        let simd = l.0;
        for group in 0..Self::GROUPS {
            let units = load::<FROM>(*simd, &source[LANES / 8 * FROM * group..]);
            let units = simd.avx512bw._mm512_cvtepu8_epi16(units);
            let out = &mut destination[LANES / 8 * TO * group..];
            let found = |table: usize| self.0.found::<FROM>(self.0.tables[table], units);
            if TO == 16 {
                write(out, 0, found(0));
                continue;
            }
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

/// The values of `TO`.
const F32: u8 = 0;
const F64: u8 = 1;
const INT32: u8 = 2;
const INT64: u8 = 3;

/// The step from codes of `FROM` bits to `TO` by way of binary32.
#[derive(Clone, Copy)]
struct Numbers<'a, const FROM: usize, const TO: u8>(&'a RegisterTable);

impl<const FROM: usize, const TO: u8> Numbers<'_, FROM, TO> {
    const BYTES: usize = if matches!(TO, F32 | INT32) { 4 } else { 8 };

    #[inline(always)]
    fn group(self, l: Avx512, source: &[u8], destination: &mut [u8]) {
        let codes = l.0.avx512bw._mm512_cvtepu8_epi16(load::<FROM>(*l.0, source));
        let upper = self.0.found::<FROM>(self.0.tables[0], codes);
        let numbers = l.unpack(splat_u16(0), upper);
        match TO {
            F32 => l.store_u32(numbers, destination),
            F64 => l.store_f32_as_f64(numbers, destination),
            INT32 => l.store_u32(l.f32_to_i32(numbers), destination),
            _ => l.store_f32_as_i64::<true>(numbers, destination),
        }
    }
}

impl<const FROM: usize, const TO: u8> Step<Avx512> for Numbers<'_, FROM, TO> {
    const READ: usize = 2 * LANES / 8 * FROM;
    const WRITTEN: usize = 2 * LANES * Self::BYTES;
    const STREAMS: bool = true;

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
