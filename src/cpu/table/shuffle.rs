//! Tables in AVX2's registers, for sources of at most 8 bits that `nibble` does not serve. They hold at most 16 bits
//! for each source code: the destination code, or 16 bits that determine it.
//!
//! A shuffle looks up 32 lanes in a table of 16 bytes. Larger tables consist of several such tables. Each applies only
//! to the lanes in its range: in the others the index is negative, for which a shuffle gives 0.

use bytemuck::cast;

use super::entries;
use super::numbers::{NumberTable, NumberTo};
use crate::cpu::cast_loop::{CastLoop, Step, Steps};
use crate::cpu::f16c::X86V3;
use crate::cpu::lanes::Lanes;
use crate::cpu::lanes::avx2::Avx2;
use crate::cpu::lanes::bytes::ByteLanes;
use crate::cpu::pack::{self as vector, Bytes, LANES};
use crate::cpu::recipe::kinds::{SinkKind, SourceKind};
use crate::types::conversion::Conversion;

/// The number of vectors that are converted at a time, so that a table is loaded once for all of them.
const VECTORS: usize = 4;

/// The table of one pair.
pub(crate) struct ShuffleTable {
    form: Form,
    tables: Tables,
}

/// What the entries become, by the bits of the source. From sources of at most 4 bits to other destinations, there are
/// faster tables.
#[derive(Clone, Copy, Debug)]
enum Form {
    From2(To16OrMore),
    From4(To32OrMore),
    From6(To),
    From8(To),
}

#[derive(Clone, Copy, Debug)]
enum To16OrMore {
    Bits16,
    UpperHalf,
    Extended,
}

#[derive(Clone, Copy, Debug)]
enum To32OrMore {
    UpperHalf,
    Extended,
    F64,
    Int64,
}

#[derive(Clone, Copy, Debug)]
enum To {
    Bits2,
    Bits4,
    Bits6,
    Bits8,
    Bits16,
    UpperHalf,
    Int32,
    F64,
    Int64,
}

/// What 16 bits of an entry stand for.
#[derive(Clone, Copy, Debug)]
enum Meaning {
    /// The destination code, which has no more bits.
    Code,
    /// The upper half of a destination code of 32 bits, whose other bits are zero.
    UpperHalf,
    /// The lower half of an integer of 32 bits, which repeats its sign above it.
    Extended,
    /// The upper half of a number in binary32.
    Number(NumberTo),
}

/// Evaluates `$made` with a constant `$TO`: the number that stands for `$to`.
macro_rules! with_to {
    ($TO:ident = $to:expr, $made:expr) => {
        with_number!($TO = $to, To {
            Bits2 2, Bits4 4, Bits6 6, Bits8 8, Bits16 16,
            UpperHalf UPPER_HALF, Int32 INT32, F64 F64, Int64 INT64
        }, $made)
    };
}

impl ShuffleTable {
    /// `None` where 16 bits do not determine each destination code, and where another table is faster.
    ///
    /// The upper half of binary32 has eight significant bits. These are enough for any source of at most 8 bits. For
    /// floats, instructions convert them to DOUBLE and to integers.
    pub(crate) fn new(source: SourceKind, sink: SinkKind, conversion: &Conversion) -> Option<Self> {
        let [from_bits, to_bits] = [conversion.from, conversion.to].map(|t| t.code_bits());
        if let (SinkKind::Int64 { .. }, SourceKind::ShortFloat(format)) = (sink, source)
            && format.max_exponent() >= 31
        {
            // `store_i64` does not serve larger numbers, and instructions that do are slower than a table in memory.
            return None;
        }
        // From at most 4 bits, one table has all codes, and codes take fewer instructions than numbers. From more bits,
        // codes need more tables than numbers.
        let by_codes = from_bits <= 4 && to_bits <= 32;
        let numbers = if by_codes { None } else { NumberTable::new(source, sink, conversion) };
        let (entries, meaning) = match numbers {
            Some(numbers) => (numbers.upper_halves.map(|entry| entry[0] as u16), Meaning::Number(numbers.to)),
            None => halves(to_bits, &entries(conversion, 1).map(|entry| entry[0]))?,
        };
        let form = Form::new(from_bits, to_bits, meaning)?;
        Some(Self { form, tables: Tables::new(from_bits, to_bits.min(16), &entries[..1 << from_bits]) })
    }

    /// Whether instructions make the destination codes of numbers.
    #[cfg(test)]
    pub(crate) fn has_numbers(&self) -> bool {
        match self.form {
            Form::From2(_) => false,
            Form::From4(to) => matches!(to, To32OrMore::F64 | To32OrMore::Int64),
            Form::From6(to) | Form::From8(to) => matches!(to, To::Int32 | To::F64 | To::Int64),
        }
    }

    #[cfg(test)]
    pub(crate) fn form(&self) -> String {
        format!("{:?}", self.form)
    }

    pub(crate) fn build(self, simd: X86V3) -> Box<dyn CastLoop> {
        let Self { form, tables } = self;
        let l = Avx2::<false>(simd);
        match form {
            Form::From2(to) => {
                with_number!(TO = to, To16OrMore { Bits16 16, UpperHalf UPPER_HALF, Extended EXTENDED }, {
                    Box::new(Shuffles::<2, TO>(l, tables))
                })
            }
            Form::From4(to) => {
                with_number!(TO = to, To32OrMore { UpperHalf UPPER_HALF, Extended EXTENDED, F64 F64, Int64 INT64 }, {
                    Box::new(Shuffles::<4, TO>(l, tables))
                })
            }
            Form::From6(to) => with_to!(TO = to, Box::new(Shuffles::<6, TO>(l, tables))),
            Form::From8(to) => with_to!(TO = to, Box::new(Shuffles::<8, TO>(l, tables))),
        }
    }
}

/// For each index, the 16 bits that determine its destination code, and what they mean. `None` if 16 bits are not
/// enough.
fn halves(to_bits: u32, codes: &[u64; 256]) -> Option<([u16; 256], Meaning)> {
    let is_upper = |code: &u64| code & 0xffff == 0;
    let is_extended = |code: &u64| *code as u32 == i32::from(*code as i16) as u32;
    match to_bits {
        ..=16 => Some((codes.map(|code| code as u16), Meaning::Code)),
        32 if codes.iter().all(is_upper) => Some((codes.map(|code| (code >> 16) as u16), Meaning::UpperHalf)),
        32 if codes.iter().all(is_extended) => Some((codes.map(|code| code as u16), Meaning::Extended)),
        _ => None,
    }
}

impl Form {
    fn new(from_bits: u32, to_bits: u32, meaning: Meaning) -> Option<Self> {
        match from_bits {
            2 => To16OrMore::new(to_bits, meaning).map(Self::From2),
            4 => To32OrMore::new(meaning).map(Self::From4),
            6 => To::new(to_bits, meaning).map(Self::From6),
            8 => To::new(to_bits, meaning).map(Self::From8),
            _ => None,
        }
    }
}

impl To16OrMore {
    fn new(to_bits: u32, meaning: Meaning) -> Option<Self> {
        match (meaning, to_bits) {
            (Meaning::Code, 16) => Some(Self::Bits16),
            (Meaning::UpperHalf, _) => Some(Self::UpperHalf),
            (Meaning::Extended, _) => Some(Self::Extended),
            _ => None,
        }
    }
}

impl To32OrMore {
    fn new(meaning: Meaning) -> Option<Self> {
        match meaning {
            Meaning::UpperHalf => Some(Self::UpperHalf),
            Meaning::Extended => Some(Self::Extended),
            Meaning::Number(NumberTo::F64) => Some(Self::F64),
            Meaning::Number(NumberTo::Int64) => Some(Self::Int64),
            Meaning::Code | Meaning::Number(NumberTo::F32 | NumberTo::Int32) => None,
        }
    }
}

impl To {
    fn new(to_bits: u32, meaning: Meaning) -> Option<Self> {
        match (meaning, to_bits) {
            (Meaning::Code, 2) => Some(Self::Bits2),
            (Meaning::Code, 4) => Some(Self::Bits4),
            (Meaning::Code, 6) => Some(Self::Bits6),
            (Meaning::Code, 8) => Some(Self::Bits8),
            (Meaning::Code, 16) => Some(Self::Bits16),
            (Meaning::UpperHalf | Meaning::Number(NumberTo::F32), _) => Some(Self::UpperHalf),
            (Meaning::Number(NumberTo::Int32), _) => Some(Self::Int32),
            (Meaning::Number(NumberTo::F64), _) => Some(Self::F64),
            (Meaning::Number(NumberTo::Int64), _) => Some(Self::Int64),
            (Meaning::Code | Meaning::Extended, _) => None,
        }
    }
}

/// The cast from codes of `FROM` bits to `TO`.
struct Shuffles<const FROM: usize, const TO: usize>(Avx2, Tables);

impl<const FROM: usize, const TO: usize> CastLoop for Shuffles<FROM, TO> {
    fn convert(&self, source: &[u8], destination: &mut [u8]) {
        Steps(self.0, LookUp::<FROM, TO>(&self.1)).convert(source, destination);
    }

    fn convert_past_caches(&self, source: &[u8], destination: &mut [u8]) -> [usize; 2] {
        Steps(self.0, LookUp::<FROM, TO>(&self.1)).convert_past_caches(source, destination)
    }
}

/// Tables of 16 bytes. Their entries for a source code are added up.
struct Tables {
    /// By the low four bits of a code.
    first: BytePair,
    /// By the high four bits of a code. In most pairs they are the sign and the exponent.
    offsets: BytePair,
    /// Corrections of the sum, the same for a code below 128 and for the code 128 above it.
    lower: Vec<Increment>,
    /// Corrections for the codes from 128 on only.
    upper: Vec<Increment>,
    upper_codes: UpperCodes,
}

/// How the results of the upper 128 codes follow from those of the lower ones.
#[derive(Clone, Copy)]
enum UpperCodes {
    /// They do not follow: `upper` has the differences.
    Apart,
    /// Signed integers to floats: the results of the lower codes in reverse order, plus the low and the high byte of
    /// the sign.
    Mirrored([u8; 2]),
    /// Floats to signed integers: the results of the lower codes, negated and masked.
    Negated(u8),
}

/// A table of low bytes and one of high bytes.
type BytePair = [[u8; 16]; 2];

/// The place at which rows of 16 codes are compared. It is far from the ends of a row, where zeros and NaNs are.
const MIDDLE: usize = 8;

/// What is added for the codes from `first` on: the difference to the codes 16 before them. Rows of 16 codes that
/// differ only by an offset, as in most binades, need no increment.
#[derive(Clone, Copy)]
struct Increment {
    /// The first code, the same in all bytes.
    first: [u8; 16],
    tables: BytePair,
}

impl Tables {
    /// The tables of `entries`: the results of all codes, of `to_bits` bits.
    fn new(from_bits: u32, to_bits: u32, entries: &[u16]) -> Self {
        // The low and the high bytes of the results have separate tables.
        let mut tables = [[[0; 16]; 2]; 16];
        for (i, entry) in entries.iter().enumerate() {
            [tables[i / 16][0][i % 16], tables[i / 16][1][i % 16]] = entry.to_le_bytes();
        }
        let table = |row: usize| -> BytePair { tables[row] };
        // Codes of 6 bits have only four rows, for which `first` and `offsets` cost more than they save.
        let first = if from_bits == 6 { [[0; 16]; 2] } else { table(0) };
        let rows = if from_bits == 6 { 4 } else { 16 };
        let offset = |row: usize, side: usize| match from_bits == 8 {
            true => table(row)[side][MIDDLE].wrapping_sub(first[side][MIDDLE]),
            false => 0,
        };
        let offsets = [0, 1].map(|side| std::array::from_fn(|row| offset(row, side)));
        let rest = |row: usize| -> BytePair {
            let known = [0, 1].map(|side| first[side].map(|byte| byte.wrapping_add(offset(row, side))));
            subtract(table(row), known)
        };
        let lower: Vec<_> = (0..rows.min(8)).map(rest).collect();
        let upper: Vec<_> = (8..rows).map(|row| subtract(rest(row), lower[row - 8])).collect();
        let lower = increments(&lower);
        let plain = Self { first, offsets, lower, upper: increments(&upper), upper_codes: UpperCodes::Apart };
        if from_bits < 8 {
            return plain;
        }
        let result = |code: usize| entries[code].to_le_bytes();
        let [flip, others @ ..] = &*(1..128)
            .map(|code| std::array::from_fn(|side| result(256 - code)[side].wrapping_sub(result(code)[side])))
            .collect::<Vec<[u8; 2]>>()
        else {
            return plain;
        };
        if others.iter().all(|other| other == flip) {
            let mut offsets = plain.offsets;
            // Code 128, whose absolute value is 128 too, is in neither the increments nor the first table.
            for side in 0..2 {
                offsets[side][8] = result(128)[side].wrapping_sub(flip[side]);
            }
            return Self { offsets, upper: Vec::new(), upper_codes: UpperCodes::Mirrored(*flip), ..plain };
        }
        let mask = (0xff >> 8u32.saturating_sub(to_bits)) as u8;
        let negated = |row: BytePair| row.map(|side| side.map(|byte| byte.wrapping_neg() & mask));
        let upper: Vec<_> = (8..rows).map(|row| subtract(table(row), negated(table(row - 8)))).collect();
        let upper = increments(&upper);
        if to_bits <= 8 && upper.len() < plain.upper.len() {
            let mut offsets = plain.offsets;
            offsets.iter_mut().for_each(|side| side.copy_within(..8, 8));
            return Self { offsets, upper, upper_codes: UpperCodes::Negated(mask), ..plain };
        }
        plain
    }

    /// The low and the high bytes of the results. High bytes are looked up only if results have them.
    #[inline(always)]
    fn look_up<const FROM: usize, const TO: usize>(&self, l: Avx2, codes: [Bytes; VECTORS]) -> [[Bytes; VECTORS]; 2] {
        let simd = l.0.v3.avx2;
        let sides = if TO > 8 { 2 } else { 1 };
        let mut made = [[vector::splat_u8(0); VECTORS]; 2];
        if FROM <= 4 {
            // One table has all codes.
            for side in 0..sides {
                let table = vector::twice(self.first[side]);
                for i in 0..VECTORS {
                    made[side][i] = simd._mm256_shuffle_epi8(table, codes[i]);
                }
            }
            return made;
        }
        let mut lower = codes;
        if FROM == 8 {
            let mut magnitudes = codes;
            if let UpperCodes::Mirrored(_) = self.upper_codes {
                magnitudes = codes.map(
                    #[inline(always)]
                    |code| simd._mm256_abs_epi8(code),
                );
                lower = magnitudes;
            } else {
                lower = codes.map(
                    #[inline(always)]
                    |code| simd._mm256_and_si256(code, vector::splat_u8(0x7f)),
                );
            }
            for i in 0..VECTORS {
                let row = simd._mm256_and_si256(simd._mm256_srli_epi16::<4>(magnitudes[i]), vector::splat_u8(0x0f));
                for side in 0..sides {
                    let first = simd._mm256_shuffle_epi8(vector::twice(self.first[side]), lower[i]);
                    let offset = simd._mm256_shuffle_epi8(vector::twice(self.offsets[side]), row);
                    made[side][i] = simd._mm256_add_epi8(first, offset);
                }
            }
        }
        self.add::<TO>(l, &self.lower, &lower, &mut made);
        match self.upper_codes {
            UpperCodes::Apart => {}
            UpperCodes::Mirrored(flip) => {
                for i in 0..VECTORS {
                    let negative = simd._mm256_cmpgt_epi8(vector::splat_u8(0), codes[i]);
                    for side in 0..sides {
                        let flip = simd._mm256_and_si256(negative, vector::splat_u8(flip[side]));
                        made[side][i] = simd._mm256_add_epi8(made[side][i], flip);
                    }
                }
            }
            UpperCodes::Negated(mask) => {
                for i in 0..VECTORS {
                    // The instruction gives 0 where its second operand is 0, so that a bit other than the sign is set.
                    let sign = simd._mm256_or_si256(codes[i], vector::splat_u8(1));
                    let negated = simd._mm256_sign_epi8(made[0][i], sign);
                    made[0][i] = simd._mm256_and_si256(negated, vector::splat_u8(mask));
                }
            }
        }
        if !self.upper.is_empty() {
            let upper = codes.map(
                #[inline(always)]
                |code| simd._mm256_xor_si256(code, vector::splat_u8(0x80)),
            );
            self.add::<TO>(l, &self.upper, &upper, &mut made);
        }
        made
    }

    /// Adds what the increments have for the codes.
    #[inline(always)]
    fn add<const TO: usize>(
        &self,
        l: Avx2,
        increments: &[Increment],
        codes: &[Bytes; VECTORS],
        made: &mut [[Bytes; VECTORS]; 2],
    ) {
        let simd = l.0.v3.avx2;
        let sides = if TO > 8 { 2 } else { 1 };
        for increment in increments {
            let first = vector::twice(increment.first);
            let mut tables = [first; 2];
            for side in 0..sides {
                tables[side] = vector::twice(increment.tables[side]);
            }
            for i in 0..VECTORS {
                // For codes below `first` the index is negative: the subtraction saturates, so it cannot wrap around.
                let index = simd._mm256_subs_epi8(codes[i], first);
                for side in 0..sides {
                    let found = simd._mm256_shuffle_epi8(tables[side], index);
                    made[side][i] = simd._mm256_add_epi8(made[side][i], found);
                }
            }
        }
    }
}

/// The values of `TO` for destinations of more than 16 bits. With `EXTENDED`, tables have integers of 16 bits, which
/// are extended by their sign. With the others, tables have the upper halves of words of 32 bits. `UPPER_HALF` stores
/// these words; the rest convert them from binary32.
const UPPER_HALF: usize = 32;
const EXTENDED: usize = 33;
const INT32: usize = 34;
const F64: usize = 64;
const INT64: usize = 65;

/// The step from codes of `FROM` bits to `TO`, which is the number of bits or one of the values above.
#[derive(Clone, Copy)]
struct LookUp<'a, const FROM: usize, const TO: usize>(&'a Tables);

impl<const FROM: usize, const TO: usize> Step<Avx2> for LookUp<'_, FROM, TO> {
    const READ: usize = VECTORS * LANES * FROM / 8;
    const WRITTEN: usize = match TO {
        ..UPPER_HALF => VECTORS * LANES * TO / 8,
        UPPER_HALF..F64 => VECTORS * LANES * 4,
        _ => VECTORS * LANES * 8,
    };
    const NON_TEMPORAL: bool = TO >= 16;

    #[inline(always)]
    fn step(self, l: Avx2, source: &[u8], destination: &mut [u8]) {
        let mut codes = [vector::splat_u8(0); VECTORS];
        for i in 0..VECTORS {
            let in_order = vector::load::<FROM>(l.0.v3, &source[4 * FROM * i..4 * FROM * (i + 1)]);
            codes[i] = match TO {
                ..=16 | EXTENDED => in_order,
                INT64 => spread_by_2(l, in_order),
                _ => l.spread_by_4(in_order),
            };
        }
        let [low, high] = self.0.look_up::<FROM, TO>(l, codes);
        if TO < 16 {
            return vector::store::<TO>(l.0.v3, low, destination);
        }
        for (i, destination) in destination.chunks_exact_mut(Self::WRITTEN / VECTORS).enumerate() {
            let words = l.interleaved_u8(low[i], high[i]);
            let words = if matches!(TO, 16 | EXTENDED) { in_order(l, words) } else { words };
            for (words, destination) in words.into_iter().zip(destination.chunks_exact_mut(Self::WRITTEN / VECTORS / 2))
            {
                let numbers = l.interleaved_u16(vector::splat_u16(0), words);
                match TO {
                    16 => vector::write(destination, 0, words),
                    UPPER_HALF => l.store_u32(numbers, destination),
                    EXTENDED => l.store_u32(extended(l, words), destination),
                    INT32 => l.store_u32(l.f32_to_i32(numbers), destination),
                    F64 => l.store_f32_as_f64(numbers, destination),
                    _ => store_i64(l, numbers, destination),
                }
            }
        }
    }
}

/// Puts interleaved words into the order of the elements.
#[inline(always)]
fn in_order(l: Avx2, [a, b]: [Bytes; 2]) -> [Bytes; 2] {
    [l.0.v3.avx2._mm256_permute2x128_si256::<0x20>(a, b), l.0.v3.avx2._mm256_permute2x128_si256::<0x31>(a, b)]
}

/// Extends integers of 16 bits to 32 bits.
#[inline(always)]
fn extended(l: Avx2, words: Bytes) -> [Bytes; 2] {
    let [low, high]: [[u8; 16]; 2] = cast(words);
    [l.0.v3.avx2._mm256_cvtepi16_epi32(cast(low)), l.0.v3.avx2._mm256_cvtepi16_epi32(cast(high))]
}

/// Moves pairs of bytes so that three interleavings, of bytes, of words and of 32 bits, leave results in the order of
/// the source.
#[inline(always)]
fn spread_by_2(l: Avx2, codes: Bytes) -> Bytes {
    let even_first = vector::twice([0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15]);
    l.spread_by_8(l.0.v3.avx2._mm256_shuffle_epi8(codes, even_first))
}

/// Stores the integer parts of numbers of less than 2³¹, and the least integer for ∞ and NaN.
#[inline(always)]
fn store_i64(l: Avx2, numbers: [Bytes; 2], bytes: &mut [u8]) {
    let simd = l.0.v3.avx2;
    for (value, bytes) in l.f32_to_i32(numbers).into_iter().zip(bytes.chunks_exact_mut(2 * LANES)) {
        // For ∞ and NaN, `value` is the least 32-bit integer. It becomes the upper half here, and the lower half
        // becomes zero.
        let is_special = simd._mm256_cmpeq_epi32(value, vector::splat_u32(1 << 31));
        let lower = simd._mm256_andnot_si256(is_special, value);
        let sign = simd._mm256_srai_epi32::<31>(value);
        let upper = simd._mm256_xor_si256(sign, simd._mm256_srli_epi32::<1>(is_special));
        vector::write(bytes, 0, simd._mm256_unpacklo_epi32(lower, upper));
        vector::write(bytes, LANES, simd._mm256_unpackhi_epi32(lower, upper));
    }
}

/// The increments whose sums give these rows.
fn increments(rows: &[BytePair]) -> Vec<Increment> {
    let mut before = [[0; 16]; 2];
    let mut increments = Vec::new();
    for (i, &row) in rows.iter().enumerate() {
        let tables = subtract(row, before);
        if tables != [[0; 16]; 2] {
            increments.push(Increment { first: [16 * i as u8; 16], tables });
        }
        before = row;
    }
    increments
}

/// Subtracts each byte separately.
fn subtract(a: BytePair, b: BytePair) -> BytePair {
    std::array::from_fn(|side| std::array::from_fn(|i| a[side][i].wrapping_sub(b[side][i])))
}
