//! Tables in AVX2's registers, for sources of at most 8 bits that `nibble` does not serve. Destination codes have at most 16
//! bits, or 32 bits that 16 bits determine (see `fits_16_bits`).
//!
//! A shuffle looks up 32 lanes in a table of 16 bytes. Larger tables consist of several such tables. Each applies only
//! to the lanes in its range: in the others the index is negative, for which a shuffle gives 0.

use pulp::x86::V3;

use super::units;
use crate::conversion::Conversion;
use crate::cpu::cast_loop::{CastLoop, Step, Steps};
use crate::cpu::lanes::avx2::Avx2;
use crate::cpu::pack::{self as vector, Bytes, LANES};

/// The number of vectors that are converted at a time, so that a table is loaded once for all of them.
const VECTORS: usize = 4;

/// The cast of one pair by shuffles. A *unit* is a source code.
pub(crate) struct ShuffleTable {
    simd: V3,
    from_bits: u32,
    /// The destination bits of a unit in the tables.
    to_bits: u32,
    widened: Widened,
    /// By the low four bits of a unit.
    first: Rows,
    /// By its high four bits; added to `first`. In most pairs this is the exponent and the sign.
    offsets: Rows,
    /// Corrections of the sum for units below 128 and, equally, for the units 128 above them.
    lower: Vec<Increment>,
    /// Corrections for the units from 128 on only.
    upper: Vec<Increment>,
    upper_units: UpperUnits,
}

/// How the 16 bits of a table become a destination code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Widened {
    No,
    /// By zeros below them: floats.
    Below,
    /// By their sign above them: integers.
    Above,
}

impl Widened {
    fn new(codes: &[u64], to_bits: u32) -> Self {
        match to_bits {
            ..=16 => Self::No,
            _ if codes.iter().all(|code| code & 0xffff == 0) => Self::Below,
            _ if codes.iter().all(|&code| code as u32 == i32::from(code as i16) as u32) => Self::Above,
            _ => unreachable!("`fits_16_bits` says that 16 bits say all of each code"),
        }
    }
}

/// How the results of the upper 128 units follow from those of the lower ones.
#[derive(Clone, Copy)]
enum UpperUnits {
    /// Not at all: they are in the increments.
    Apart,
    /// Signed integers to floats: those of the lower units in reverse order, plus the low and the high byte of the
    /// sign.
    Mirrored([u8; 2]),
    /// Floats to signed integers: those of the lower units, negated and masked.
    Negated(u8),
}

/// A table of low bytes and one of high bytes.
type Rows = [[u8; 16]; 2];

/// The place in rows of 16 units at which they are compared: far from their ends, where zeros and NaNs are.
const MIDDLE: usize = 8;

/// What is added for the units from `first` on, beyond what was added for the units 16 before them. Rows of 16 units
/// that differ only by an offset, as in most binades, need no increment.
#[derive(Clone, Copy)]
struct Increment {
    first: u8,
    tables: Rows,
}

impl CastLoop for ShuffleTable {
    fn convert(&self, source: &[u8], destination: &mut [u8]) {
        let kind = match self.widened {
            Widened::No => self.to_bits as usize,
            Widened::Below => BELOW,
            Widened::Above => ABOVE,
        };
        match self.from_bits {
            ..=4 => with_const!(FROM: usize = self.from_bits, of 2 4, with_const!(TO: usize = kind, of 16 32 33, {
                Steps(Avx2(self.simd), LookUp::<'_, FROM, TO>(self)).convert(source, destination);
            })),
            _ => with_const!(FROM: usize = self.from_bits, of 6 8, with_const!(TO: usize = kind, of 2 4 6 8 16 32 33, {
                Steps(Avx2(self.simd), LookUp::<'_, FROM, TO>(self)).convert(source, destination);
            })),
        }
    }
}

impl ShuffleTable {
    pub(crate) fn new(simd: V3, conversion: &Conversion) -> Self {
        let [from_bits, to_bits] = [conversion.from, conversion.to].map(|t| t.code_bits());
        let units = units(conversion, 1);
        let units: Vec<u64> = units.iter().take(1 << from_bits).map(|unit| unit[0]).collect();
        let widened = Widened::new(&units, to_bits);
        let up = if widened == Widened::Below { 16 } else { 0 };
        let units: Vec<u16> = units.iter().map(|unit| (unit >> up) as u16).collect();
        let to_bits = to_bits.min(16);
        // The low and the high bytes of the codes have separate tables.
        let mut tables = [[[0; 16]; 2]; 16];
        for (i, unit) in units.iter().enumerate() {
            [tables[i / 16][0][i % 16], tables[i / 16][1][i % 16]] = unit.to_le_bytes();
        }
        let table = |row: usize| -> Rows { tables[row] };
        // Units of 6 bits have only four rows, for which `first` and `offsets` cost more than they save.
        let first = if from_bits == 6 { [[0; 16]; 2] } else { table(0) };
        let rows = if from_bits == 6 { 4 } else { 16 };
        let offset = |row: usize, side: usize| match from_bits == 8 {
            true => table(row)[side][MIDDLE].wrapping_sub(first[side][MIDDLE]),
            false => 0,
        };
        let offsets = [0, 1].map(|side| std::array::from_fn(|row| offset(row, side)));
        let rest = |row: usize| -> Rows {
            let known = [0, 1].map(|side| first[side].map(|byte| byte.wrapping_add(offset(row, side))));
            subtract(table(row), known)
        };
        let lower: Vec<_> = (0..rows.min(8)).map(rest).collect();
        let upper: Vec<_> = (8..rows).map(|row| subtract(rest(row), lower[row - 8])).collect();
        let lower = increments(&lower);
        let plain = Self {
            simd,
            from_bits,
            to_bits,
            widened,
            first,
            offsets,
            lower,
            upper: increments(&upper),
            upper_units: UpperUnits::Apart,
        };
        if from_bits < 8 {
            return plain;
        }
        let code = |unit: usize| units[unit].to_le_bytes();
        let [flip, others @ ..] = &*(1..128)
            .map(|unit| std::array::from_fn(|side| code(256 - unit)[side].wrapping_sub(code(unit)[side])))
            .collect::<Vec<[u8; 2]>>()
        else {
            return plain;
        };
        if others.iter().all(|other| other == flip) {
            let mut offsets = plain.offsets;
            // Unit 128, whose absolute value is 128 too, is in neither the increments nor the first table.
            for side in 0..2 {
                offsets[side][8] = code(128)[side].wrapping_sub(flip[side]);
            }
            return Self { offsets, upper: Vec::new(), upper_units: UpperUnits::Mirrored(*flip), ..plain };
        }
        let mask = (0xff >> 8u32.saturating_sub(to_bits)) as u8;
        let negated = |row: Rows| row.map(|side| side.map(|byte| byte.wrapping_neg() & mask));
        let upper: Vec<_> = (8..rows).map(|row| subtract(table(row), negated(table(row - 8)))).collect();
        let upper = increments(&upper);
        if to_bits <= 8 && upper.len() < plain.upper.len() {
            let mut offsets = plain.offsets;
            offsets.iter_mut().for_each(|side| side.copy_within(..8, 8));
            return Self { offsets, upper, upper_units: UpperUnits::Negated(mask), ..plain };
        }
        plain
    }

    /// The low and the high bytes of the units' destination codes. High bytes are looked up only if codes have them.
    #[inline(always)]
    fn look_up<const FROM: usize, const TO: usize>(&self, units: [Bytes; VECTORS]) -> [[Bytes; VECTORS]; 2] {
        let simd = self.simd.avx2;
        let sides = if TO > 8 { 2 } else { 1 };
        let mut made = [[vector::splat_u8(0); VECTORS]; 2];
        if FROM <= 4 {
            // One table has all units.
            for side in 0..sides {
                let table = vector::twice(self.first[side]);
                for i in 0..VECTORS {
                    made[side][i] = simd._mm256_shuffle_epi8(table, units[i]);
                }
            }
            return made;
        }
        let (mut lower, mut upper) = (units, units);
        if FROM == 8 {
            for i in 0..VECTORS {
                let mut magnitude = units[i];
                if let UpperUnits::Mirrored(_) = self.upper_units {
                    magnitude = simd._mm256_abs_epi8(units[i]);
                    lower[i] = magnitude;
                } else {
                    lower[i] = simd._mm256_and_si256(units[i], vector::splat_u8(0x7f));
                }
                upper[i] = simd._mm256_xor_si256(units[i], vector::splat_u8(0x80));
                let row = simd._mm256_and_si256(simd._mm256_srli_epi16::<4>(magnitude), vector::splat_u8(0x0f));
                for side in 0..sides {
                    let first = simd._mm256_shuffle_epi8(vector::twice(self.first[side]), lower[i]);
                    let offset = simd._mm256_shuffle_epi8(vector::twice(self.offsets[side]), row);
                    made[side][i] = simd._mm256_add_epi8(first, offset);
                }
            }
        }
        self.add::<TO>(&self.lower, &lower, &mut made);
        match self.upper_units {
            UpperUnits::Apart => {}
            UpperUnits::Mirrored(flip) => {
                for i in 0..VECTORS {
                    let negative = simd._mm256_cmpgt_epi8(vector::splat_u8(0), units[i]);
                    for side in 0..sides {
                        let flip = simd._mm256_and_si256(negative, vector::splat_u8(flip[side]));
                        made[side][i] = simd._mm256_add_epi8(made[side][i], flip);
                    }
                }
            }
            UpperUnits::Negated(mask) => {
                for i in 0..VECTORS {
                    // The instruction gives 0 where the sign's operand is 0.
                    let sign = simd._mm256_or_si256(units[i], vector::splat_u8(1));
                    let negated = simd._mm256_sign_epi8(made[0][i], sign);
                    made[0][i] = simd._mm256_and_si256(negated, vector::splat_u8(mask));
                }
            }
        }
        self.add::<TO>(&self.upper, &upper, &mut made);
        made
    }

    #[inline(always)]
    fn add<const TO: usize>(
        &self,
        increments: &[Increment],
        units: &[Bytes; VECTORS],
        made: &mut [[Bytes; VECTORS]; 2],
    ) {
        let simd = self.simd.avx2;
        let sides = if TO > 8 { 2 } else { 1 };
        for increment in increments {
            let first = vector::splat_u8(increment.first);
            let mut tables = [first; 2];
            for side in 0..sides {
                tables[side] = vector::twice(increment.tables[side]);
            }
            for i in 0..VECTORS {
                // For units below `first` the index is negative: the subtraction saturates, so it cannot wrap around.
                let index = simd._mm256_subs_epi8(units[i], first);
                for side in 0..sides {
                    let found = simd._mm256_shuffle_epi8(tables[side], index);
                    made[side][i] = simd._mm256_add_epi8(made[side][i], found);
                }
            }
        }
    }
}

/// The values of `TO` for destinations of 32 bits.
const BELOW: usize = 32;
const ABOVE: usize = 33;

/// The step from units of `FROM` bits to codes of `TO` bits.
#[derive(Clone, Copy)]
struct LookUp<'a, const FROM: usize, const TO: usize>(&'a ShuffleTable);

impl<const FROM: usize, const TO: usize> Step<Avx2> for LookUp<'_, FROM, TO> {
    const READ: usize = VECTORS * LANES * FROM / 8;
    const WRITTEN: usize = VECTORS * LANES * if TO < BELOW { TO } else { 32 } / 8;

    #[inline(always)]
    fn step(self, Avx2(simd): Avx2, source: &[u8], destination: &mut [u8]) {
        let mut units = [vector::splat_u8(0); VECTORS];
        for i in 0..VECTORS {
            units[i] = vector::load::<FROM>(simd, &source[4 * FROM * i..4 * FROM * (i + 1)]);
        }
        let [low, high] = self.0.look_up::<FROM, TO>(units);
        if TO < 16 {
            return vector::store::<TO>(simd, low, destination);
        }
        let size = LANES * if TO < BELOW { 2 } else { 4 };
        for i in 0..VECTORS {
            let destination = &mut destination[size * i..size * (i + 1)];
            match TO {
                BELOW => vector::store_wide::<false>(simd, low[i], high[i], destination),
                ABOVE => vector::store_wide::<true>(simd, low[i], high[i], destination),
                _ => vector::store_words(simd, low[i], high[i], destination),
            }
        }
    }
}

/// The increments whose sums give these rows.
fn increments(rows: &[Rows]) -> Vec<Increment> {
    let mut before = [[0; 16]; 2];
    let mut increments = Vec::new();
    for (i, &row) in rows.iter().enumerate() {
        let tables = subtract(row, before);
        if tables != [[0; 16]; 2] {
            increments.push(Increment { first: 16 * i as u8, tables });
        }
        before = row;
    }
    increments
}

/// Subtracts each byte separately.
fn subtract(a: Rows, b: Rows) -> Rows {
    std::array::from_fn(|side| std::array::from_fn(|i| a[side][i].wrapping_sub(b[side][i])))
}
