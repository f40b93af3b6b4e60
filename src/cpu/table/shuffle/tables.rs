//! Tables of 16 bytes for shuffles: how they are made of the entries, and how codes are looked up in them.

use super::VECTORS;
use crate::cpu::lanes::avx2::Avx2;
use crate::cpu::pack::{self as vector, Bytes};
use crate::cpu::word::four;
use crate::cpu::x86::count;

/// Tables of 16 bytes. Their entries for a source code are added up.
pub(super) struct Tables {
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
    pub(super) fn new(from_bits: u32, to_bits: u32, entries: &[u16]) -> Self {
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

    pub(super) fn corrections(&self) -> usize {
        self.lower.len() + self.upper.len()
    }

    /// The low and the high bytes of the results. High bytes are looked up only if results have them.
    #[inline(always)]
    pub(super) fn look_up<const CODE: usize, const TO: usize>(
        &self,
        l: Avx2,
        codes: [Bytes; VECTORS],
    ) -> [[Bytes; VECTORS]; 2] {
        let simd = l.0;
        let sides = if TO > 8 { 2 } else { 1 };
        let zeros: [Bytes; VECTORS] = four(vector::splat_u8(0));
        let mut made = [zeros, zeros];
        if CODE <= 4 {
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
        if CODE == 8 {
            let mut magnitudes = codes;
            if let UpperCodes::Mirrored(_) = self.upper_codes {
                for i in 0..VECTORS {
                    magnitudes[i] = simd._mm256_abs_epi8(codes[i]);
                }
                lower = magnitudes;
            } else {
                for i in 0..VECTORS {
                    lower[i] = simd._mm256_and_si256(codes[i], vector::splat_u8(0x7f));
                }
            }
            for i in 0..VECTORS {
                let row = simd._mm256_and_si256(simd._mm256_srl_epi16(magnitudes[i], count(4)), vector::splat_u8(0x0f));
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
            let mut upper = codes;
            for code in &mut upper {
                *code = simd._mm256_xor_si256(*code, vector::splat_u8(0x80));
            }
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
        let simd = l.0;
        let sides = if TO > 8 { 2 } else { 1 };
        for increment in increments {
            let first = vector::twice(increment.first);
            let mut tables = [first, first];
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
