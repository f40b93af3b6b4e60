//! Tables in AVX-512's registers, for sources of at most 8 bits and any destination. One instruction looks up 32 codes
//! in 64 entries of 16 bits.

mod pairs;
mod whole;

use bytemuck::cast;
use pairs::LookUpPairs;
use whole::{LookUpWhole, Whole};

use super::numbers::{NumberTable, NumberTo};
use super::{Entries, entries};
use crate::cpu::cast_loop::{CastLoop, LoopInfo, Step};
use crate::cpu::code_cast::CodeCast;
use crate::cpu::lanes::avx512::{Avx512, splat_u16, write};
use crate::cpu::lanes::{Lanes, both};
use crate::cpu::pack::load;
use crate::cpu::recipe::kinds::{SinkKind, SourceKind};
use crate::cpu::x86::{__m512i, X86V4, count};

/// The number of codes that are converted at a time, each in a 16-bit word.
const LANES: usize = 32;

/// 256 words in vectors. Tables for fewer than 8 bits are repeated, so that the bits above an index do not matter.
type Words = [__m512i; 8];

/// The words of a table: bits 0 to 15 of the entries, then bits 16 to 31, 32 to 47 and 48 to 63.
type WordTables = [Words; 4];

/// The table of one pair.
pub(crate) struct RegisterTable(Table);

enum Table {
    Words(Form, Box<WordTables>),
    /// Whole destination codes.
    Whole(FewFrom, WholeTo, Whole),
}

/// The bits of a source of at most 4 bits.
#[derive(Clone, Copy, Debug)]
enum FewFrom {
    Bits2,
    Bits4,
    /// One code in each byte.
    Byte,
}

/// The bits of whole destination codes.
#[derive(Clone, Copy, Debug)]
enum WholeTo {
    Bits32,
    Bits64,
}

/// What the words hold.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Several destination codes of at most 8 bits.
    Pairs(PairFrom, PairTo),
    /// The same from 8 bits to at most 4 bits, one code in each byte.
    ShortInBytes,
    /// The destination codes of 16 bits.
    Codes16(From),
    /// The destination codes of 64 bits: a table for each 16 bits, lowest first.
    Codes64(LongFrom),
    /// The upper halves of the source's numbers in binary32, whose other bits are zero: one table. Instructions convert
    /// the numbers to destination codes.
    Numbers(LongFrom, NumberTo),
}

/// The bits of a source.
#[derive(Clone, Copy, Debug)]
enum From {
    Bits2,
    Bits4,
    Bits6,
    Bits8,
    /// One code of fewer than 8 bits in each byte.
    Byte,
}

/// The value of `FROM` for [`From::Byte`].
const BYTE: usize = 7;

/// The bits of a source of more than 4 bits.
#[derive(Clone, Copy, Debug)]
enum LongFrom {
    Bits6,
    Bits8,
    /// One code of 6 bits in each byte.
    Byte,
}

/// The bits of a source whose destination codes share words.
#[derive(Clone, Copy, Debug)]
enum PairFrom {
    Bits6,
    Bits8,
    /// One code of 6 bits in each byte.
    Byte,
}

#[derive(Clone, Copy, Debug)]
enum PairTo {
    Bits2,
    Bits4,
    Bits6,
    Bits8,
}

/// The cast of one pair by its table.
pub(crate) struct RegisterLoop(pub Avx512, pub RegisterTable);

impl CastLoop for RegisterLoop {
    fn info(&self) -> LoopInfo {
        self.with_loop(|cast_loop| cast_loop.info())
    }

    fn convert_steps(&self, source: &[u8], destination: &mut [u8]) {
        self.with_loop(|cast_loop| cast_loop.convert_steps(source, destination));
    }

    fn convert_past_caches(&self, source: &[u8], destination: &mut [u8]) -> [usize; 2] {
        self.with_loop(|cast_loop| cast_loop.convert_past_caches(source, destination))
    }
}

impl RegisterLoop {
    /// Runs `work` with the loop for the widths of the codes.
    fn with_loop<R>(&self, work: impl FnOnce(&dyn CastLoop) -> R) -> R {
        let Self(l, table) = self;
        let (form, words) = match &table.0 {
            Table::Words(form, words) => (*form, words),
            Table::Whole(from, to, whole) => {
                return with_number!(FROM = from, FewFrom { Bits2 2, Bits4 4, Byte BYTE },
                with_number!(TO = to, WholeTo { Bits32 32, Bits64 64 }, {
                    work(&(*l, LookUpWhole::<'_, FROM, TO>(whole)))
                }));
            }
        };
        match form {
            Form::Pairs(from, to) => with_number!(FROM = from, PairFrom { Bits6 6, Bits8 8, Byte BYTE },
            with_number!(TO = to, PairTo { Bits2 2, Bits4 4, Bits6 6, Bits8 8 }, {
                work(&(*l, LookUpPairs::<'_, FROM, TO, TO>(words)))
            })),
            Form::ShortInBytes => work(&(*l, LookUpPairs::<'_, 8, 4, 8>(words))),
            Form::Codes16(from) => with_number!(FROM = from, From { Bits2 2, Bits4 4, Bits6 6, Bits8 8, Byte BYTE }, {
                work(&(*l, LookUp::<'_, FROM, 16>(words)))
            }),
            Form::Codes64(from) => with_number!(FROM = from, LongFrom { Bits6 6, Bits8 8, Byte BYTE }, {
                work(&(*l, LookUp::<'_, FROM, 64>(words)))
            }),
            Form::Numbers(from, to) => {
                with_number!(FROM = from, LongFrom { Bits6 6, Bits8 8, Byte BYTE }, match to {
                    NumberTo::F32 => work(&(*l, Numbers::<'_, FROM, F32>(words))),
                    NumberTo::F64 => work(&(*l, Numbers::<'_, FROM, F64>(words))),
                    NumberTo::Int32 => work(&(*l, Numbers::<'_, FROM, INT32>(words))),
                    NumberTo::Int64 => work(&(*l, Numbers::<'_, FROM, INT64>(words))),
                })
            }
        }
    }
}

impl RegisterTable {
    /// `None` from fewer than 6 bits to at most 8 bits, and for widths of codes that no element type has.
    pub(crate) fn new(source: SourceKind, sink: SinkKind, cast: &CodeCast) -> Option<Self> {
        let code_bits = cast.conversion.from.code_bits();
        let [from_bits, to_bits] = cast.bits();
        if to_bits <= 8 {
            return Self::of_pairs(code_bits, cast);
        }
        if to_bits == 16 {
            let from = match from_bits {
                2 => From::Bits2,
                4 => From::Bits4,
                6 => From::Bits6,
                8 if code_bits < 8 => From::Byte,
                8 => From::Bits8,
                _ => return None,
            };
            return Some(Self(Table::Words(Form::Codes16(from), whole_words(&entries(cast, 1)))));
        }
        let to = match to_bits {
            32 => WholeTo::Bits32,
            64 => WholeTo::Bits64,
            _ => return None,
        };
        let few = match (code_bits, from_bits) {
            (2, 2) => Some(FewFrom::Bits2),
            (4, 4) => Some(FewFrom::Bits4),
            (2 | 4, 8) => Some(FewFrom::Byte),
            _ => None,
        };
        if let Some(from) = few {
            return Some(Self(Table::Whole(from, to, whole::whole(&entries(cast, 1), to_bits))));
        }
        let from = match (code_bits, from_bits) {
            (6, 6) => LongFrom::Bits6,
            (6, 8) => LongFrom::Byte,
            (8, _) => LongFrom::Bits8,
            _ => return None,
        };
        // To UINT64 from 6 bits, four look-ups are faster.
        let by_codes = matches!(sink, SinkKind::Int64 { signed: false }) && code_bits < 8;
        if !by_codes && let Some(numbers) = NumberTable::new(source, sink, &cast.conversion) {
            return Some(Self(Table::Words(Form::Numbers(from, numbers.to), whole_words(&numbers.upper_halves))));
        }
        match to {
            WholeTo::Bits32 => None,
            WholeTo::Bits64 => Some(Self(Table::Words(Form::Codes64(from), whole_words(&entries(cast, 1))))),
        }
    }

    #[cfg(test)]
    pub(crate) fn has_pairs(&self) -> bool {
        matches!(self.0, Table::Words(Form::Pairs(..) | Form::ShortInBytes, _))
    }

    #[cfg(test)]
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.0, Table::Whole(..))
    }

    /// Whether instructions make the destination codes of numbers.
    #[cfg(test)]
    pub(crate) fn has_numbers(&self) -> bool {
        matches!(self.0, Table::Words(Form::Numbers(..), _))
    }

    #[cfg(test)]
    pub(crate) fn form(&self) -> String {
        match &self.0 {
            Table::Words(form, _) => format!("{form:?}"),
            Table::Whole(from, to, _) => format!("{from:?}, {to:?}"),
        }
    }

    /// The table of codes that share words.
    fn of_pairs(code_bits: u32, cast: &CodeCast) -> Option<Self> {
        let [from_bits, to_bits] = cast.bits();
        let from = match (code_bits, from_bits) {
            (6, 6) => PairFrom::Bits6,
            (6, 8) => PairFrom::Byte,
            (8, _) => PairFrom::Bits8,
            _ => return None,
        };
        let to = match to_bits {
            2 => PairTo::Bits2,
            4 => PairTo::Bits4,
            6 => PairTo::Bits6,
            8 => PairTo::Bits8,
            _ => return None,
        };
        // If four codes fit into a word, it has the codes of the indexes i, i + 64, i + 128 and i + 192. Otherwise it
        // has those of i and i + 64. A source of 6 bits has only 64 indexes: its words have the same code twice, once
        // for each code of a pair.
        let (form, shared, size) = match (from, to) {
            (PairFrom::Bits8, PairTo::Bits2 | PairTo::Bits4) => (Form::Pairs(from, to), 4, 4),
            (PairFrom::Bits8, PairTo::Bits8) if cast.conversion.to.code_bits() <= 4 => (Form::ShortInBytes, 4, 4),
            (PairFrom::Bits8, PairTo::Bits6 | PairTo::Bits8) => (Form::Pairs(from, to), 2, 8),
            (PairFrom::Bits6 | PairFrom::Byte, _) => (Form::Pairs(from, to), 2, to_bits),
        };
        let entries = entries(cast, 1);
        let word = |i: usize, place: usize| {
            let entry = |nth: usize| entries[(i / 64 * 64 * shared + i % 64 + 64 * nth) % 256][0] >> place;
            (0..shared).fold(0, |word, nth| word | (entry(nth) << (size * nth as u32)) as u16)
        };
        Some(Self(Table::Words(form, words(&word))))
    }
}

/// Looks up 32 codes in a table of 16-bit words.
#[inline(always)]
fn found<const FROM: usize>(l: Avx512, [a, b, c, d, e, f, g, h]: Words, codes: __m512i) -> __m512i {
    let simd = l.0;
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

/// Looks up 32 codes of `FROM` bits, 6, 8 or [`BYTE`], whose destination codes have `TO` bits, at most 8. From codes of 6 bits, the result
/// is repeated in the next `TO` bits. From 8 bits, the bits above the result are undefined.
#[inline(always)]
fn found_small<const FROM: usize, const TO: usize>(l: Avx512, [a, b, c, d, ..]: Words, codes: __m512i) -> __m512i {
    let simd = l.0;
    let found = simd._mm512_permutex2var_epi16(a, codes, b);
    if FROM < 8 {
        return found;
    }
    // A look-up uses six bits of a code. If a word has four codes, the other two bits choose one of them. If it has
    // two, one bit chooses between two look-ups, and the other bit a code.
    if TO <= 4 {
        let place = l.0._mm512_and_si512(simd._mm512_srl_epi16(codes, count(4)), splat_u16(0xc));
        return simd._mm512_srlv_epi16(found, place);
    }
    let eighth = simd._mm512_test_epi16_mask(codes, splat_u16(0x80));
    let other = simd._mm512_permutex2var_epi16(c, codes, d);
    let place = l.0._mm512_and_si512(simd._mm512_srl_epi16(codes, count(3)), splat_u16(8));
    simd._mm512_srlv_epi16(simd._mm512_mask_blend_epi16(eighth, found, other), place)
}

/// The words of four tables. `word` gets an index, and the place of the word's first bit in the entry.
fn words(word: &dyn Fn(usize, usize) -> u16) -> Box<WordTables> {
    let mut tables = [[0; 256]; 4];
    for (table, words) in tables.iter_mut().enumerate() {
        for (i, made) in words.iter_mut().enumerate() {
            *made = word(i, 16 * table);
        }
    }
    Box::new(cast::<[[u16; 256]; 4], _>(tables))
}

/// The words of entries of at least 16 bits.
fn whole_words(entries: &Entries) -> Box<WordTables> {
    words(&|i, place| (entries[i][0] >> place) as u16)
}

/// The step from codes of `FROM` bits to codes of `TO` bits, 16 or 64.
#[derive(Clone, Copy)]
struct LookUp<'a, const FROM: usize, const TO: usize>(&'a WordTables);

/// The bytes of 32 codes of a source.
const fn bytes(from: usize) -> usize {
    LANES / 8 * if from == BYTE { 8 } else { from }
}

impl<const FROM: usize, const TO: usize> LookUp<'_, FROM, TO> {
    /// Groups of 32 codes in a step.
    const GROUPS: usize = 64 / TO;
}

impl<const FROM: usize, const TO: usize> Step<Avx512> for LookUp<'_, FROM, TO> {
    const READ: usize = bytes(FROM) * Self::GROUPS;
    const WRITTEN: usize = LANES / 8 * TO * Self::GROUPS;
    const NON_TEMPORAL: bool = true;

    #[inline(always)]
    fn step(self, l: Avx512, source: &[u8], destination: &mut [u8]) {
        let simd = l.0;
        for group in 0..Self::GROUPS {
            let codes = load::<FROM>(simd.v3, &source[bytes(FROM) * group..]);
            let codes = simd._mm512_cvtepu8_epi16(codes);
            let out = &mut destination[LANES / 8 * TO * group..];
            let found = |table: usize| found::<FROM>(l, self.0[table], codes);
            if TO == 16 {
                write(out, 0, found(0));
                continue;
            }
            let lower = interleaved16(simd, found(0), found(1));
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
struct Numbers<'a, const FROM: usize, const TO: u8>(&'a WordTables);

impl<const FROM: usize, const TO: u8> Numbers<'_, FROM, TO> {
    const BYTES: usize = if matches!(TO, F32 | INT32) { 4 } else { 8 };

    #[inline(always)]
    fn group(self, l: Avx512, source: &[u8], destination: &mut [u8]) {
        let codes = l.0._mm512_cvtepu8_epi16(load::<FROM>(l.0.v3, source));
        let upper = found::<FROM>(l, self.0[0], codes);
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
    const READ: usize = 2 * bytes(FROM);
    const WRITTEN: usize = 2 * LANES * Self::BYTES;
    const NON_TEMPORAL: bool = true;

    #[inline(always)]
    fn step(self, l: Avx512, source: &[u8], destination: &mut [u8]) {
        let (first, second) = destination.split_at_mut(LANES * Self::BYTES);
        self.group(l, source, first);
        self.group(l, &source[bytes(FROM)..], second);
    }
}

/// The 16-bit words of two vectors, interleaved.
#[inline(always)]
fn interleaved16(simd: X86V4, a: __m512i, b: __m512i) -> [__m512i; 2] {
    let turns = const { turns() };
    both!(|turns| simd._mm512_permutex2var_epi16(a, cast(turns), b))
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
pub(crate) fn interleaved32(simd: X86V4, a: __m512i, b: __m512i) -> [__m512i; 2] {
    let first: [u32; 16] = [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23];
    let mut second = first;
    for i in 0..16 {
        second[i] += 8;
    }
    [simd._mm512_permutex2var_epi32(a, cast(first), b), simd._mm512_permutex2var_epi32(a, cast(second), b)]
}
