//! Tables in NEON's registers, for sources of at most 8 bits that `nibble` does not serve. They hold at most 16 bits for
//! each source code: the destination code, or 16 bits that determine it.
//!
//! An instruction looks up 16 lanes in a table of 64 bytes. Larger tables consist of several such tables: the lanes
//! whose index is beyond one keep what they have.

use zerocopy::transmute;

use super::halves::{EXTENDED, F64, INT32, Meaning, UPPER_HALF, halves};
use super::numbers::{NumberTable, NumberTo};
use crate::cpu::cast_loop::{CastLoop, LoopInfo, Step};
use crate::cpu::code_cast::CodeCast;
use crate::cpu::lanes::Lanes;
use crate::cpu::lanes::neon::kernels::{self as k, B, H};
use crate::cpu::lanes::neon::{Neon, array, pack, write};
use crate::cpu::recipe::kinds::{SinkKind, SourceKind};

/// The number of vectors that are converted at a time, so that a table is loaded once for all of them.
const VECTORS: usize = 8;

/// The table of one pair.
pub(crate) struct LookUpTable {
    form: Form,
    tables: Tables,
}

/// What the entries become, by the bits of a source code and of the memory that it takes. To other destinations, tables
/// in memory or calculations are faster.
#[derive(Clone, Copy, Debug)]
enum Form {
    From2To16,
    From4(LongTo),
    From6(To),
    From8(ShortTo),
    FromBytesOf2To16,
    FromBytesOf4(LongTo),
    FromBytesOf6(To),
}

#[derive(Clone, Copy, Debug)]
enum ShortTo {
    Bits2,
    Bits4,
    Bits6,
    Bits8,
}

#[derive(Clone, Copy, Debug)]
enum LongTo {
    Bits16,
    UpperHalf,
    Extended,
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
}

impl Form {
    /// `from_bits` are the bits of a source code, and those that it takes in memory.
    fn new(from_bits: [u32; 2], to_bits: u32, meaning: Meaning) -> Option<Self> {
        match (from_bits, to_bits) {
            ([2, 2], 16) => Some(Self::From2To16),
            ([4, 4], _) => LongTo::new(to_bits, meaning).map(Self::From4),
            ([6, 6], _) => To::new(to_bits, meaning).map(Self::From6),
            ([8, 8], _) => ShortTo::new(to_bits).map(Self::From8),
            ([2, 8], 16) => Some(Self::FromBytesOf2To16),
            ([4, 8], _) => LongTo::new(to_bits, meaning).map(Self::FromBytesOf4),
            ([6, 8], _) => To::new(to_bits, meaning).map(Self::FromBytesOf6),
            _ => None,
        }
    }
}

impl ShortTo {
    fn new(to_bits: u32) -> Option<Self> {
        match to_bits {
            2 => Some(Self::Bits2),
            4 => Some(Self::Bits4),
            6 => Some(Self::Bits6),
            8 => Some(Self::Bits8),
            _ => None,
        }
    }
}

impl LongTo {
    fn new(to_bits: u32, meaning: Meaning) -> Option<Self> {
        match (meaning, to_bits) {
            (Meaning::Code, 16) => Some(Self::Bits16),
            (Meaning::UpperHalf | Meaning::Number(NumberTo::F32), _) => Some(Self::UpperHalf),
            (Meaning::Extended, _) => Some(Self::Extended),
            _ => None,
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
            _ => None,
        }
    }
}

/// Evaluates `$made` with a constant `$TO`: the number that stands for `$to`.
macro_rules! with_long {
    ($TO:ident = $to:expr, $made:expr) => {
        with_number!($TO = $to, LongTo { Bits16 16, UpperHalf UPPER_HALF, Extended EXTENDED }, $made)
    };
}
macro_rules! with_to {
    ($TO:ident = $to:expr, $made:expr) => {
        with_number!($TO = $to, To {
            Bits2 2, Bits4 4, Bits6 6, Bits8 8, Bits16 16, UpperHalf UPPER_HALF, Int32 INT32, F64 F64
        }, $made)
    };
}

impl LookUpTable {
    /// `None` where 16 bits do not determine each destination code, and where another loop is faster.
    ///
    /// The upper half of binary32 has eight significant bits. These are enough for any source of at most 8 bits. For
    /// floats, instructions convert them to DOUBLE and to integers.
    pub(crate) fn new(source: SourceKind, sink: SinkKind, cast: &CodeCast) -> Option<Self> {
        let code_bits = cast.conversion.from.code_bits();
        let [from_bits, to_bits] = cast.bits();
        // From at most 4 bits, codes take fewer instructions than numbers.
        let by_codes = code_bits <= 4 || to_bits <= 16;
        let numbers = if by_codes { None } else { NumberTable::new(source, sink, &cast.conversion) };
        let (entries, meaning) = halves(numbers, cast)?;
        let form = Form::new([code_bits, from_bits], to_bits, meaning)?;
        Some(Self { form, tables: Tables::new(code_bits, to_bits, &entries) })
    }

    /// Whether instructions make the destination codes of numbers.
    #[cfg(test)]
    pub(crate) fn has_numbers(&self) -> bool {
        matches!(self.form, Form::From6(To::Int32 | To::F64) | Form::FromBytesOf6(To::Int32 | To::F64))
    }

    #[cfg(test)]
    pub(crate) fn form(&self) -> String {
        format!("{:?}", self.form)
    }

    pub(crate) fn build(self, l: Neon) -> Box<dyn CastLoop> {
        let Self { form, tables } = self;
        match form {
            Form::From2To16 => Box::new(LookUps::<2, 2, 16>(l, tables)),
            Form::From4(to) => with_long!(TO = to, Box::new(LookUps::<4, 4, TO>(l, tables))),
            Form::From6(to) => with_to!(TO = to, Box::new(LookUps::<6, 6, TO>(l, tables))),
            Form::From8(to) => with_number!(TO = to, ShortTo { Bits2 2, Bits4 4, Bits6 6, Bits8 8 }, {
                Box::new(LookUps::<8, 8, TO>(l, tables))
            }),
            Form::FromBytesOf2To16 => Box::new(LookUps::<8, 2, 16>(l, tables)),
            Form::FromBytesOf4(to) => with_long!(TO = to, Box::new(LookUps::<8, 4, TO>(l, tables))),
            Form::FromBytesOf6(to) => with_to!(TO = to, Box::new(LookUps::<8, 6, TO>(l, tables))),
        }
    }
}

/// The cast from codes of `CODE` bits, which take `FROM` bits in memory, to `TO`.
struct LookUps<const FROM: usize, const CODE: usize, const TO: usize>(Neon, Tables);

impl<const FROM: usize, const CODE: usize, const TO: usize> CastLoop for LookUps<FROM, CODE, TO> {
    fn info(&self) -> LoopInfo {
        (self.0, LookUp::<FROM, CODE, TO>(&self.1)).info()
    }

    fn convert_steps(&self, source: &[u8], destination: &mut [u8]) {
        (self.0, LookUp::<FROM, CODE, TO>(&self.1)).convert_steps(source, destination);
    }
}

/// The step from codes of `CODE` bits, which take `FROM` bits in memory, to `TO`, which is the number of bits or one of
/// the values in `halves.rs`.
#[derive(Clone, Copy)]
struct LookUp<'a, const FROM: usize, const CODE: usize, const TO: usize>(&'a Tables);

impl<const FROM: usize, const CODE: usize, const TO: usize> Step<Neon> for LookUp<'_, FROM, CODE, TO> {
    const READ: usize = 2 * VECTORS * FROM;
    const WRITTEN: usize = match TO {
        ..UPPER_HALF => 2 * VECTORS * TO,
        UPPER_HALF..F64 => 2 * VECTORS * 32,
        _ => 2 * VECTORS * 64,
    };

    #[inline(always)]
    fn step(self, l: Neon, source: &[u8], destination: &mut [u8]) {
        let mut codes = [k::splat_8(l.0, 0); VECTORS];
        for half in 0..VECTORS / 4 {
            let loaded = pack::load::<FROM>(l, &source[8 * FROM * half..]);
            for i in 0..4 {
                codes[4 * half + i] = match FROM == CODE {
                    true => loaded[i],
                    false => k::and_8(l.0, loaded[i], k::splat_8(l.0, (1 << CODE) - 1)),
                };
            }
        }
        let low = self.0.look_up::<CODE>(l, 0, TO <= 8, &codes);
        if TO <= 8 {
            for half in 0..VECTORS / 4 {
                let codes = [low[4 * half], low[4 * half + 1], low[4 * half + 2], low[4 * half + 3]];
                pack::store::<TO>(l, codes, &mut destination[8 * TO * half..]);
            }
            return;
        }
        let high = self.0.look_up::<CODE>(l, 1, true, &codes);
        for i in 0..VECTORS {
            let words = [k::zip_first_8(l.0, low[i], high[i]), k::zip_last_8(l.0, low[i], high[i])];
            for half in 0..2 {
                let destination = &mut destination[Self::WRITTEN / VECTORS / 2 * (2 * i + half)..];
                let words: H = transmute!(words[half]);
                let numbers = l.unpack(l.splat_u16(0), words);
                match TO {
                    16 => write(destination, 0, transmute!(words)),
                    UPPER_HALF => l.store_u32(numbers, destination),
                    EXTENDED => {
                        l.store_u32([k::first_i16_to_i32(l.0, words), k::last_i16_to_i32(l.0, words)], destination);
                    }
                    INT32 => l.store_u32(l.f32_to_i32(numbers), destination),
                    _ => l.store_f32_as_f64(numbers, destination),
                }
            }
        }
    }
}

/// The low and the high bytes of the results, by source codes. Sources of fewer than 8 bits use the first ones.
struct Tables {
    bytes: [[u8; 256]; 2],
    /// Whether they are all zero.
    are_zero: [bool; 2],
    upper_codes: UpperCodes,
}

/// How the results of the upper 128 codes follow from those of the lower ones.
#[derive(Clone, Copy)]
enum UpperCodes {
    /// They do not follow.
    Apart,
    /// These bits of the last byte differ.
    Flipped(u8),
    /// These bits of the last byte differ, except in the result of code 128: floats without −0.
    FlippedExcept128(u8),
}

impl Tables {
    /// The tables of `entries`: the results of all codes, of `to_bits` bits.
    fn new(code_bits: u32, to_bits: u32, entries: &[u16; 256]) -> Self {
        let bytes = [0, 1].map(|side| entries.map(|entry| entry.to_le_bytes()[side]));
        let flipped = |code: usize| entries[code] ^ entries[code + 128];
        let flip = flipped(1);
        let last = if to_bits > 8 { 8 } else { 0 };
        let is_sign = (1..128).all(|code| flipped(code) == flip) && flip & !(0xff << last) == 0;
        let upper_codes = match is_sign {
            false => UpperCodes::Apart,
            true if flipped(0) == flip => UpperCodes::Flipped((flip >> last) as u8),
            true => UpperCodes::FlippedExcept128((flip >> last) as u8),
        };
        let are_zero = bytes.map(|bytes| bytes[..1 << code_bits].iter().all(|&byte| byte == 0));
        Self { bytes, are_zero, upper_codes }
    }

    /// The low or the high bytes of the results, by `side`. `is_last` says whether the results have no bytes above
    /// them.
    #[inline(always)]
    fn look_up<const CODE: usize>(&self, l: Neon, side: usize, is_last: bool, codes: &[B; VECTORS]) -> [B; VECTORS] {
        if !is_last && self.are_zero[side] {
            return [k::splat_8(l.0, 0); VECTORS];
        }
        let bytes = &self.bytes[side];
        let table = |at: usize| -> [B; 4] { transmute!(array::<64>(&bytes[64 * at..])) };
        let splat = |byte: u8| k::splat_8(l.0, byte);
        let mut made = *codes;
        if CODE <= 4 {
            let table: B = transmute!(array::<16>(bytes));
            for made in &mut made {
                *made = k::look_up_16(l.0, table, *made);
            }
            return made;
        }
        let first = table(0);
        if CODE == 6 {
            for made in &mut made {
                *made = k::look_up_64(l.0, first, *made);
            }
            return made;
        }
        let (flip, except_128) = match self.upper_codes {
            UpperCodes::Apart => {
                let [second, third, fourth] = [table(1), table(2), table(3)];
                for made in &mut made {
                    let code = *made;
                    *made = k::look_up_64(l.0, first, code);
                    *made = k::look_up_64_or(l.0, *made, second, k::sub_8(l.0, code, splat(64)));
                    *made = k::look_up_64_or(l.0, *made, third, k::sub_8(l.0, code, splat(128)));
                    *made = k::look_up_64_or(l.0, *made, fourth, k::sub_8(l.0, code, splat(192)));
                }
                return made;
            }
            UpperCodes::Flipped(flip) => (flip, false),
            UpperCodes::FlippedExcept128(flip) => (flip, true),
        };
        let second = table(1);
        for made in &mut made {
            let code = *made;
            let lower = k::and_8(l.0, code, splat(0x7f));
            *made = k::look_up_64(l.0, first, lower);
            *made = k::look_up_64_or(l.0, *made, second, k::sub_8(l.0, lower, splat(64)));
            if is_last {
                *made = k::xor_8(l.0, *made, k::and_8(l.0, k::negative_8(l.0, code), splat(flip)));
            }
        }
        if except_128 {
            for (made, code) in made.iter_mut().zip(codes) {
                let is_128 = k::equal_8(l.0, *code, splat(128));
                *made = k::select_8(l.0, is_128, splat(bytes[128]), *made);
            }
        }
        made
    }
}
