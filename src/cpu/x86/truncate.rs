//! Floats to integers of at most 16 bits by AVX2's own truncation to 32: what does not fit those gives the least one, whose
//! low bits are 0, as NaN does.

use bytemuck::cast;
use pulp::x86::V3;

use super::source::half_words;
use super::strips::strips;
use super::vector::{self, Bytes, Packed, Sixteens, head, wides, words};
use crate::conversion::{Conversion, Encode};
use crate::element::{ElementType, Kind};
use crate::format::FloatFormat;

/// The casts of one pair.
#[derive(Clone, Copy)]
pub(crate) struct Truncate {
    simd: V3,
    load: Load,
    format: FloatFormat,
    to_bits: u32,
}

#[derive(Clone, Copy)]
enum Load {
    Byte,
    Half,
    Upper,
    Single,
    Double,
}

impl Truncate {
    /// `None` for other pairs.
    pub(crate) fn new(simd: V3, conversion: &Conversion) -> Option<Self> {
        let (Kind::Float(format), Encode::Int(to)) = (conversion.from.kind(), conversion.encode) else { return None };
        let to_bits = conversion.to.code_bits();
        let load = match conversion.from {
            ElementType::FLOAT16 => Load::Half,
            ElementType::BFLOAT16 => Load::Upper,
            ElementType::FLOAT => Load::Single,
            ElementType::DOUBLE => Load::Double,
            // To fewer bits, tables are faster.
            _ if format.is_signed() && format.bits() == 8 && to_bits == 16 => Load::Byte,
            _ => return None,
        };
        // What does not fit so few bits is 0.
        let serves = to_bits <= 16 && to.clamp.is_none();
        serves.then_some(Self { simd, load, format, to_bits })
    }

    /// Casts packed codes that start at a byte; what it writes to pad bits is undefined.
    pub(crate) fn convert(&self, source: &[u8], destination: &mut [u8]) {
        match self.load {
            Load::Byte => {
                strips(self.simd, &Packed::<_, 16>(Integers::<'_, BYTE, 16>(&self.format)), source, destination);
            }
            Load::Half => self.from::<HALF>(source, destination),
            Load::Upper => self.from::<UPPER>(source, destination),
            Load::Single => self.from::<SINGLE>(source, destination),
            Load::Double => self.from::<DOUBLE>(source, destination),
        }
    }

    fn from<const FROM: u8>(&self, source: &[u8], destination: &mut [u8]) {
        match self.to_bits {
            2 => strips(self.simd, &Packed::<_, 2>(Integers::<'_, FROM, 2>(&self.format)), source, destination),
            4 => strips(self.simd, &Packed::<_, 4>(Integers::<'_, FROM, 4>(&self.format)), source, destination),
            8 => strips(self.simd, &Packed::<_, 8>(Integers::<'_, FROM, 8>(&self.format)), source, destination),
            _ => strips(self.simd, &Packed::<_, 16>(Integers::<'_, FROM, 16>(&self.format)), source, destination),
        }
    }
}

const BYTE: u8 = Load::Byte as u8;
const HALF: u8 = Load::Half as u8;
const UPPER: u8 = Load::Upper as u8;
const SINGLE: u8 = Load::Single as u8;
const DOUBLE: u8 = Load::Double as u8;

/// The low bits of integers.
struct Integers<'a, const FROM: u8, const TO: usize>(&'a FloatFormat);

impl<const FROM: u8, const TO: usize> Sixteens for Integers<'_, FROM, TO> {
    const BYTES: usize = match FROM {
        BYTE => 16,
        HALF | UPPER => 32,
        SINGLE => 64,
        _ => 128,
    };
    const INTERLEAVED: bool = FROM == SINGLE || FROM == DOUBLE;

    #[inline(always)]
    fn codes(&self, simd: V3, source: &[u8]) -> Bytes {
        let (simd, avx) = (simd.avx2, simd.avx);
        let mask = u32::from(u16::MAX) >> (16 - TO);
        let zero = wides(0);
        let (first, second) = match FROM {
            BYTE => {
                let format = self.0;
                let codes = simd._mm256_cvtepu8_epi16(cast(head::<16>(source)));
                let magnitude = simd._mm256_and_si256(codes, words(0x7f));
                // The upper half of binary32; of subnormals, some number below 1.
                let upper = simd._mm256_sll_epi16(magnitude, cast([u64::from(7 - format.man_bits), 0]));
                let upper = simd._mm256_add_epi16(upper, words((127 - format.bias as u16) << 7));
                let first = avx._mm256_cvttps_epi32(cast(simd._mm256_unpacklo_epi16(zero, upper)));
                let second = avx._mm256_cvttps_epi32(cast(simd._mm256_unpackhi_epi16(zero, upper)));
                let special = simd._mm256_cmpgt_epi16(magnitude, words(format.max() as u16));
                let made = simd._mm256_andnot_si256(special, simd._mm256_packus_epi32(first, second));
                let made = simd._mm256_sign_epi16(made, simd._mm256_slli_epi16::<8>(codes));
                return simd._mm256_and_si256(made, words(mask as u16));
            }
            HALF => {
                let halves = vector::read(source, 0);
                let magnitude = simd._mm256_and_si256(halves, words(0x7fff));
                let [low, high] = half_words(simd, magnitude);
                let first = avx._mm256_cvttps_epi32(cast(simd._mm256_unpacklo_epi16(low, high)));
                let second = avx._mm256_cvttps_epi32(cast(simd._mm256_unpackhi_epi16(low, high)));
                let special = simd._mm256_cmpgt_epi16(magnitude, words(0x7bff));
                let made = simd._mm256_andnot_si256(special, simd._mm256_packus_epi32(first, second));
                return simd._mm256_and_si256(simd._mm256_sign_epi16(made, halves), words(mask as u16));
            }
            UPPER => {
                let upper = vector::read(source, 0);
                let first = avx._mm256_cvttps_epi32(cast(simd._mm256_unpacklo_epi16(zero, upper)));
                (first, avx._mm256_cvttps_epi32(cast(simd._mm256_unpackhi_epi16(zero, upper))))
            }
            SINGLE => {
                let first = avx._mm256_cvttps_epi32(cast(vector::read(source, 0)));
                (first, avx._mm256_cvttps_epi32(cast(vector::read(source, 32))))
            }
            _ => {
                let mut four = [[0u8; 16]; 4];
                for i in 0..4 {
                    four[i] = cast(avx._mm256_cvttpd_epi32(cast(head::<32>(&source[32 * i..]))));
                }
                (cast([four[0], four[1]]), cast([four[2], four[3]]))
            }
        };
        let (first, second) = (simd._mm256_and_si256(first, wides(mask)), simd._mm256_and_si256(second, wides(mask)));
        simd._mm256_packus_epi32(first, second)
    }
}
