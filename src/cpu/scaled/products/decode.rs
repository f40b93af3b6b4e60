//! The elements whose products are made in registers.

use super::piece::Piece;
use super::{BF16, F32, ProductLanes};
use crate::bits::format::{FloatFormat, Specials};
use crate::cpu::code_cast::CodeCast;
use crate::cpu::codes::{F16_SIGN, F32_BIAS, F32_MAN};
use crate::types::element::BINARY16;

/// Decodes elements, which are not infinite. NaNs become canonical ones, which products and roundings keep, together with their
/// signs.
pub(super) trait Decode<L: ProductLanes>: Copy + Send + Sync {
    const BITS: usize;
    const PAIRS: bool = false;
    fn decode(self, l: L, bytes: &[u8]) -> L::Numbers;
    /// The numbers whose products are enough for those of all codes, if they can be looked up for `piece`.
    #[inline(always)]
    fn numbers<const TO: usize>(&self, _: &Piece<'_>) -> Option<&[u32; 16]> {
        None
    }
    /// The codes of products, by those of the numbers.
    fn look_up<const TO: usize>(self, l: L, entries: L::Entries, bytes: &[u8]) -> L::Codes;
}

#[derive(Clone, Copy)]
pub(super) struct Int8<const SIGNED: bool>;

impl<L: ProductLanes, const SIGNED: bool> Decode<L> for Int8<SIGNED> {
    const BITS: usize = 8;

    #[inline(always)]
    fn decode(self, l: L, bytes: &[u8]) -> L::Numbers {
        l.int8::<SIGNED>(bytes)
    }

    #[inline(always)]
    fn look_up<const TO: usize>(self, _: L, _: L::Entries, _: &[u8]) -> L::Codes {
        unreachable!("there are no numbers")
    }
}

/// The numbers of packed codes of 4 bits. The upper halves of their codes in binary32 are enough.
#[derive(Clone, Copy)]
pub(in crate::cpu::scaled) struct Nibbles {
    pub numbers: [u32; 16],
    /// The low and the high bytes of the upper halves.
    pub upper_halves: [[u8; 16]; 2],
}

impl Nibbles {
    pub(super) fn new(decode: &CodeCast) -> Self {
        let numbers = first_numbers(decode);
        Self { numbers, upper_halves: [16, 24].map(|place| numbers.map(|number| (number >> place) as u8)) }
    }
}

impl<L: ProductLanes> Decode<L> for Nibbles {
    const BITS: usize = 4;
    const PAIRS: bool = true;

    #[inline(always)]
    fn decode(self, l: L, bytes: &[u8]) -> L::Numbers {
        l.nibbles(&self, bytes)
    }

    #[inline(always)]
    fn numbers<const TO: usize>(&self, _: &Piece<'_>) -> Option<&[u32; 16]> {
        (TO != F32 || L::LOOKS_UP_F32).then_some(&self.numbers)
    }

    #[inline(always)]
    fn look_up<const TO: usize>(self, l: L, entries: L::Entries, bytes: &[u8]) -> L::Codes {
        l.look_up::<TO>(entries, bytes)
    }
}

/// The FLOATs of the codes from 0 to 15.
fn first_numbers(decode: &CodeCast) -> [u32; 16] {
    let (mut numbers, mut high): ([u32; 16], _) = (std::array::from_fn(|code| code as u32), [0; 16]);
    decode.conversion.convert(&mut numbers, &mut high);
    numbers
}

/// A float of 8 bits with one NaN of either sign. Its numbers, times a power of two, are those of the same exponents and
/// significands in FLOAT16, which the processor converts to FLOAT.
#[derive(Clone, Copy)]
pub(in crate::cpu::scaled) struct Float8 {
    /// Exponent bits of FLOAT16 minus those of the format. A code, shifted up by 8 bits and down by this number, is in its
    /// place in FLOAT16, with more signs above it.
    pub down: u32,
    /// The bits that a code has there.
    pub mask: u16,
    /// The magnitude of NaN there.
    pub nan: u16,
    /// What FLOAT16's numbers are multiplied by.
    pub factor: f32,
    /// The numbers in FLOAT16 of the first 16 codes, if these are the subnormals and those with the least exponent.
    numbers: Option<[u32; 16]>,
}

/// With scales in this range, products with `Float8` in FLOAT16 are normal numbers of binary32.
const MODERATE: [f32; 2] = [f32::from_bits(27 << 23), f32::from_bits(227 << 23)];

impl Float8 {
    /// `None` for other formats.
    pub(super) fn new(format: &FloatFormat, decode: &CodeCast) -> Option<Self> {
        if format.bits() != 8 || format.specials != Specials::TopCodeNan {
            return None;
        }
        let down = BINARY16.exp_bits.checked_sub(format.exp_bits)?;
        let nan = (format.magnitude_mask() as u16) << (8 - down);
        let factor = f32::from_bits((F32_BIAS + BINARY16.bias - format.bias) << F32_MAN);
        let in_f16 = |number| (f32::from_bits(number) / factor).to_bits();
        let numbers = (format.man_bits == 3).then(|| first_numbers(decode).map(in_f16));
        Some(Self { down, mask: F16_SIGN | nan, nan, factor, numbers })
    }
}

impl<L: ProductLanes> Decode<L> for Float8 {
    const BITS: usize = 8;
    const PAIRS: bool = true;

    #[inline(always)]
    fn decode(self, l: L, bytes: &[u8]) -> L::Numbers {
        l.float8(self, bytes)
    }

    /// Products with a number and with a power of two times the number have the same significand, also when they are
    /// rounded, unless one of them leaves the range of normal numbers.
    #[inline(always)]
    fn numbers<const TO: usize>(&self, piece: &Piece<'_>) -> Option<&[u32; 16]> {
        let serves = TO == BF16 && piece.scales_are_between(MODERATE);
        if serves { self.numbers.as_ref() } else { None }
    }

    #[inline(always)]
    fn look_up<const TO: usize>(self, l: L, entries: L::Entries, bytes: &[u8]) -> L::Codes {
        l.look_up_float8(entries, bytes)
    }
}
