//! Tables in AVX2's registers, for sources of at most 8 bits that `nibble` does not serve. They hold at most 16 bits
//! for each source code: the destination code, or 16 bits that determine it.
//!
//! A shuffle looks up 32 lanes in a table of 16 bytes. Larger tables consist of several such tables. Each applies only
//! to the lanes in its range: in the others the index is negative, for which a shuffle gives 0.

mod form;
mod tables;

use bytemuck::cast;

use self::form::{ByteTo, Form, To, To16OrMore, To32OrMore};
use self::tables::Tables;
use super::halves::{EXTENDED, F64, INT32, UPPER_HALF, halves};
use super::numbers::NumberTable;
use crate::cpu::cast_loop::{CastLoop, LoopInfo, Step};
use crate::cpu::code_cast::CodeCast;
use crate::cpu::lanes::Lanes;
use crate::cpu::lanes::avx2::Avx2;
use crate::cpu::lanes::bytes::ByteLanes;
use crate::cpu::pack::{self as vector, Bytes, LANES};
use crate::cpu::recipe::kinds::{SinkKind, SourceKind};
use crate::cpu::word::four;
use crate::cpu::x86::{X86V3, count};

/// The number of vectors that are converted at a time, so that a table is loaded once for all of them.
const VECTORS: usize = 4;

/// The table of one pair.
pub(crate) struct ShuffleTable {
    form: Form,
    tables: Tables,
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
    pub(crate) fn new(source: SourceKind, sink: SinkKind, cast: &CodeCast) -> Option<Self> {
        let code_bits = cast.conversion.from.code_bits();
        let [from_bits, to_bits] = cast.bits();
        if let (SinkKind::Int64 { .. }, SourceKind::ShortFloat(format)) = (sink, source)
            && format.max_exponent() >= 31
        {
            // `store_i64` does not serve larger numbers, and instructions that do are slower than a table in memory.
            return None;
        }
        // From at most 4 bits, one table has all codes, and codes take fewer instructions than numbers. From more bits,
        // codes need more tables than numbers.
        let by_codes = code_bits <= 4 && to_bits <= 32;
        let numbers = if by_codes { None } else { NumberTable::new(source, sink, &cast.conversion) };
        let (entries, meaning) = halves(numbers, cast)?;
        let form = Form::new([code_bits, from_bits], to_bits, meaning)?;
        // A source of 2 bits has four times the same four entries, of which bytes use all.
        let index_bits = if from_bits == 8 { code_bits.max(4) } else { code_bits };
        Some(Self { form, tables: Tables::new(index_bits, to_bits.min(16), &entries[..1 << index_bits]) })
    }

    /// Whether the table is as fast as one in AVX-512's registers: its source has 8 bits, and few corrections are added
    /// to what is looked up first.
    pub(crate) fn is_short(&self) -> bool {
        let most = match self.form {
            Form::From8(To::Bits8) => 4,
            Form::From8(To::Bits6 | To::Bits16 | To::UpperHalf | To::Int32) => 2,
            _ => return false,
        };
        self.tables.corrections() <= most
    }

    /// Whether instructions make the destination codes of numbers.
    #[cfg(test)]
    pub(crate) fn has_numbers(&self) -> bool {
        self.form.has_numbers()
    }

    #[cfg(test)]
    pub(crate) fn form(&self) -> String {
        format!("{:?}", self.form)
    }

    pub(crate) fn build(self, simd: X86V3) -> Box<dyn CastLoop> {
        let Self { form, tables } = self;
        let l = Avx2(simd);
        match form {
            Form::From2(to) => {
                with_number!(TO = to, To16OrMore { Bits16 16, UpperHalf UPPER_HALF, Extended EXTENDED }, {
                    Box::new(Shuffles::<2, 2, TO>(l, tables))
                })
            }
            Form::From4(to) => {
                with_number!(TO = to, To32OrMore { UpperHalf UPPER_HALF, Extended EXTENDED, F64 F64, Int64 INT64 }, {
                    Box::new(Shuffles::<4, 4, TO>(l, tables))
                })
            }
            Form::From6(to) => with_to!(TO = to, Box::new(Shuffles::<6, 6, TO>(l, tables))),
            Form::From8(to) => with_to!(TO = to, Box::new(Shuffles::<8, 8, TO>(l, tables))),
            Form::FromBytesOf4(to) => {
                with_number!(TO = to, ByteTo {
                    Bits16 16, UpperHalf UPPER_HALF, Extended EXTENDED, F64 F64, Int64 INT64
                }, Box::new(Shuffles::<8, 4, TO>(l, tables)))
            }
            Form::FromBytesOf6(to) => with_to!(TO = to, Box::new(Shuffles::<8, 6, TO>(l, tables))),
        }
    }
}

/// The cast from codes of `CODE` bits, which take `FROM` bits in memory, to `TO`.
struct Shuffles<const FROM: usize, const CODE: usize, const TO: usize>(Avx2, Tables);

impl<const FROM: usize, const CODE: usize, const TO: usize> CastLoop for Shuffles<FROM, CODE, TO> {
    fn info(&self) -> LoopInfo {
        (self.0, LookUp::<FROM, CODE, TO>(&self.1)).info()
    }

    fn convert_steps(&self, source: &[u8], destination: &mut [u8]) {
        (self.0, LookUp::<FROM, CODE, TO>(&self.1)).convert_steps(source, destination);
    }

    fn convert_past_caches(&self, source: &[u8], destination: &mut [u8]) -> [usize; 2] {
        (self.0, LookUp::<FROM, CODE, TO>(&self.1)).convert_past_caches(source, destination)
    }
}

/// Beside the values in `halves.rs`: they are converted from binary32, too.
const INT64: usize = 65;

/// The step from codes of `CODE` bits, which take `FROM` bits in memory, to `TO`, which is the number of bits or one of
/// the values in `halves.rs` or above.
#[derive(Clone, Copy)]
struct LookUp<'a, const FROM: usize, const CODE: usize, const TO: usize>(&'a Tables);

impl<const FROM: usize, const CODE: usize, const TO: usize> Step<Avx2> for LookUp<'_, FROM, CODE, TO> {
    const READ: usize = VECTORS * LANES * FROM / 8;
    const WRITTEN: usize = match TO {
        ..UPPER_HALF => VECTORS * LANES * TO / 8,
        UPPER_HALF..F64 => VECTORS * LANES * 4,
        _ => VECTORS * LANES * 8,
    };
    const NON_TEMPORAL: bool = TO >= 16;

    #[inline(always)]
    fn step(self, l: Avx2, source: &[u8], destination: &mut [u8]) {
        let zero = vector::splat_u8(0);
        let mut codes: [Bytes; VECTORS] = four(zero);
        for i in 0..VECTORS {
            let loaded = vector::load::<FROM>(l.0, &source[4 * FROM * i..4 * FROM * (i + 1)]);
            let in_order = match FROM == CODE {
                true => loaded,
                false => l.and_u16(loaded, vector::splat_u8((1 << CODE) - 1)),
            };
            codes[i] = match TO {
                ..=16 | EXTENDED => in_order,
                INT64 => spread_by_2(l, in_order),
                _ => l.spread_by_4(in_order),
            };
        }
        let [low, high] = self.0.look_up::<CODE, TO>(l, codes);
        if TO < 16 {
            return vector::store::<TO>(l.0, low, destination);
        }
        let half = Self::WRITTEN / VECTORS / 2;
        for i in 0..VECTORS {
            let words = l.interleaved_u8(low[i], high[i]);
            let words = if matches!(TO, 16 | EXTENDED) { in_order(l, words) } else { words };
            for side in 0..2 {
                let (words, destination) = (words[side], &mut destination[(2 * i + side) * half..]);
                let numbers = l.interleaved_u16(zero, words);
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
    [l.0._mm256_permute2x128_si256_low(a, b), l.0._mm256_permute2x128_si256_high(a, b)]
}

/// Extends integers of 16 bits to 32 bits.
#[inline(always)]
fn extended(l: Avx2, words: Bytes) -> [Bytes; 2] {
    let [low, high]: [[u8; 16]; 2] = cast(words);
    [l.0._mm256_cvtepi16_epi32(cast(low)), l.0._mm256_cvtepi16_epi32(cast(high))]
}

/// Moves pairs of bytes so that three interleavings, of bytes, of words and of 32 bits, leave results in the order of
/// the source.
#[inline(always)]
fn spread_by_2(l: Avx2, codes: Bytes) -> Bytes {
    let even_first = vector::twice([0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15]);
    l.spread_by_8(l.0._mm256_shuffle_epi8(codes, even_first))
}

/// Stores the integer parts of numbers of less than 2³¹, and the least integer for ∞ and NaN.
#[inline(always)]
fn store_i64(l: Avx2, numbers: [Bytes; 2], bytes: &mut [u8]) {
    let simd = l.0;
    let values = l.f32_to_i32(numbers);
    for i in 0..2 {
        let (value, bytes) = (values[i], &mut bytes[2 * LANES * i..]);
        // For ∞ and NaN, `value` is the least 32-bit integer. It becomes the upper half here, and the lower half
        // becomes zero.
        let is_special = simd._mm256_cmpeq_epi32(value, vector::splat_u32(1 << 31));
        let lower = simd._mm256_andnot_si256(is_special, value);
        let sign = simd._mm256_sra_epi32(value, count(31));
        let upper = simd._mm256_xor_si256(sign, simd._mm256_srl_epi32(is_special, count(1)));
        vector::write(bytes, 0, simd._mm256_unpacklo_epi32(lower, upper));
        vector::write(bytes, LANES, simd._mm256_unpackhi_epi32(lower, upper));
    }
}
