//! The same as `half.rs` by AVX2, which has no shift of 16-bit words by each one's own amount: a product's two halves are
//! what such a shift keeps and what it cuts.

#![allow(clippy::needless_range_loop, reason = "the closures of adapters are compiled without the vector instructions")]

use bytemuck::cast;
use pulp::x86::V3;

use super::long;
use super::strips::{Strip, strips};
use super::vector::{self, Bytes, LANES, wides, words};
use crate::conversion::{Conversion, Encode};
use crate::cpu::encode::Signs;
use crate::cpu::half::{HalfRounding, NEXT, SAME, SMALLER, Way};
use crate::element::{ElementType, Kind};

/// The casts of one pair.
pub(crate) struct Halves {
    simd: V3,
    source: Source,
    rounding: HalfRounding,
    /// Powers of two by which a significand is multiplied, by how far it is below the least normal number: low bytes,
    /// then high ones. In one table for both where eight will do.
    powers: [[u8; 16]; 2],
}

/// What the 16-bit floats are made of.
#[derive(Clone, Copy)]
enum Source {
    /// Themselves.
    Half,
    /// Upper halves, rounded to odd, which is enough for at most 8 bits.
    Single,
    /// Those of `Long::Double`'s hubs.
    Double,
}

impl Halves {
    /// `None` for other pairs, and where none of the ways serves.
    pub(crate) fn new(simd: V3, conversion: &Conversion) -> Option<Self> {
        let source = match conversion.from {
            ElementType::FLOAT => Source::Single,
            ElementType::DOUBLE => Source::Double,
            _ => Source::Half,
        };
        let rounding = match (source, conversion.encode, ElementType::BFLOAT16.kind()) {
            (Source::Half, ..) => HalfRounding::new(conversion)?,
            (_, Encode::Float(to), Kind::Float(upper)) if to.bits <= 8 => HalfRounding::between(&upper, to)?,
            _ => return None,
        };
        let HalfRounding { to, down, .. } = rounding;
        // Floats of at least 8 bits have two rules for signs here.
        if to.bits >= 8 && rounding.signs == Signs::Any {
            return None;
        }
        let tables = if to.bits == 16 { 2 } else { 1 };
        if to.man + 3 > 8 * tables {
            return None;
        }
        let mut powers = [[0; 16]; 2];
        for below in 0..to.man + 3 {
            let [low, high] = (1u16 << (15 - down - below)).to_le_bytes();
            let (table, place) = if tables == 2 { (1, below) } else { (0, 8 + below) };
            powers[0][below as usize] = low;
            powers[table][place as usize] = high;
        }
        Some(Self { simd, source, rounding, powers })
    }

    /// Casts packed codes that start at a byte; what it writes to pad bits is undefined.
    pub(crate) fn convert(&self, source: &[u8], destination: &mut [u8]) {
        match self.source {
            Source::Half => match (self.rounding.way, self.rounding.to.bits) {
                (Way::Same, 8) => self.strips::<HALF, SAME, 8>(source, destination),
                (Way::Next, 8) => self.strips::<HALF, NEXT, 8>(source, destination),
                (Way::Smaller, 16) => self.strips::<HALF, SMALLER, 16>(source, destination),
                _ => self.narrow::<HALF>(source, destination),
            },
            Source::Single => self.narrow::<SINGLE>(source, destination),
            Source::Double => self.narrow::<DOUBLE>(source, destination),
        }
    }

    /// To at most 8 bits, from a format with more exponents.
    fn narrow<const SOURCE: u8>(&self, source: &[u8], destination: &mut [u8]) {
        match (self.rounding.way, self.rounding.to.bits) {
            (Way::Smaller, 8) => self.strips::<SOURCE, SMALLER, 8>(source, destination),
            (Way::Smaller, 6) => self.strips::<SOURCE, SMALLER, 6>(source, destination),
            (Way::Smaller, 4) => self.strips::<SOURCE, SMALLER, 4>(source, destination),
            (_, bits) => unreachable!("floats of {bits} bits with the exponents of 16-bit ones"),
        }
    }

    fn strips<const SOURCE: u8, const WAY: u8, const TO: usize>(&self, source: &[u8], destination: &mut [u8]) {
        strips(self.simd, &Encoder::<'_, SOURCE, WAY, TO>(self), source, destination);
    }

    /// The codes of 16 floats, a word each.
    #[inline(always)]
    fn code<const WAY: u8, const TO: usize>(&self, floats: Bytes) -> Bytes {
        let simd = self.simd.avx2;
        let HalfRounding { to, man, up, down, infinity, limit, least, .. } = self.rounding;
        let count = |bits: u32| cast([u64::from(bits), 0]);
        let magnitude = simd._mm256_and_si256(floats, words(0x7fff));
        let code = if WAY == SMALLER {
            let bounded = simd._mm256_min_epu16(magnitude, words(limit));
            let exponent = simd._mm256_srl_epi16(bounded, count(man));
            let below = simd._mm256_subs_epu16(words(least), exponent);
            // Two below the least subnormal, all is cut and less than half.
            let below = simd._mm256_min_epu16(below, words(to.man as u16 + 2));
            // An index for each byte of the power.
            let index = simd._mm256_mullo_epi16(below, words(0x0101));
            let power = if TO == 16 {
                let low = simd._mm256_shuffle_epi8(vector::twice(self.powers[0]), index);
                let high = simd._mm256_shuffle_epi8(vector::twice(self.powers[1]), index);
                simd._mm256_blendv_epi8(low, high, words(0xff00))
            } else {
                simd._mm256_shuffle_epi8(vector::twice(self.powers[0]), simd._mm256_or_si256(index, words(0x0800)))
            };
            let implicit = 1 << man;
            let fraction = simd._mm256_and_si256(bounded, words(implicit - 1));
            let significand = simd._mm256_or_si256(fraction, words(implicit));
            let significand = match TO {
                16 => simd._mm256_sll_epi16(significand, count(up)),
                _ => significand,
            };
            // The product without 15 bits, to nearest with ties up. One that is exactly half more than an even number
            // should have gone down.
            let nearest = simd._mm256_mulhrs_epi16(significand, power);
            let wrong = simd._mm256_cmpeq_epi16(simd._mm256_mullo_epi16(significand, power), words(0x4000));
            let exponent = simd._mm256_subs_epu16(exponent, words(least));
            let exponent = simd._mm256_sll_epi16(exponent, count(to.man));
            simd._mm256_add_epi16(exponent, simd._mm256_add_epi16(nearest, wrong))
        } else {
            let value = if WAY == NEXT {
                simd._mm256_add_epi16(magnitude, simd._mm256_min_epu16(magnitude, words(1 << man)))
            } else {
                magnitude
            };
            let bounded = simd._mm256_min_epu16(value, words(limit));
            // As the twin's `round_shift`.
            let odd = simd._mm256_and_si256(simd._mm256_srl_epi16(bounded, count(down)), words(1));
            let half = simd._mm256_add_epi16(odd, words((1 << (down - 1)) - 1));
            simd._mm256_srl_epi16(simd._mm256_add_epi16(bounded, half), count(down))
        };
        let is_nan = simd._mm256_cmpgt_epi16(magnitude, words(infinity));
        let code = simd._mm256_blendv_epi8(code, words(to.nan as u16), is_nan);
        let sign = simd._mm256_srl_epi16(floats, count(16 - to.bits));
        let sign = simd._mm256_and_si256(sign, words(1 << (to.bits - 1)));
        let sign = if TO < 8 {
            let kept = simd._mm256_and_si256(sign, words(to.nan_keep as u16));
            simd._mm256_blendv_epi8(sign, simd._mm256_xor_si256(kept, words(to.nan_flip as u16)), is_nan)
        } else if to.fnuz {
            // The NaN is the sign alone.
            simd._mm256_andnot_si256(simd._mm256_cmpeq_epi16(code, words(0)), sign)
        } else {
            sign
        };
        simd._mm256_or_si256(code, sign)
    }
}

const HALF: u8 = Source::Half as u8;
const SINGLE: u8 = Source::Single as u8;
const DOUBLE: u8 = Source::Double as u8;

struct Encoder<'a, const SOURCE: u8, const WAY: u8, const TO: usize>(&'a Halves);

impl<const SOURCE: u8, const WAY: u8, const TO: usize> Strip<V3> for Encoder<'_, SOURCE, WAY, TO> {
    const READ: usize = 4 * LANES * size(SOURCE);
    const WRITTEN: usize = LANES * TO / 2;

    #[inline(always)]
    fn convert(&self, simd: V3, source: &[u8], destination: &mut [u8]) {
        if TO == 16 {
            for i in 0..8 {
                vector::write(destination, 32 * i, self.0.code::<WAY, TO>(vector::read(source, 32 * i)));
            }
            return;
        }
        let mut codes = [vector::splat(0); 4];
        for i in 0..4 {
            let source = &source[LANES * size(SOURCE) * i..];
            if SOURCE == HALF {
                let first = self.0.code::<WAY, TO>(vector::read(source, 0));
                let second = self.0.code::<WAY, TO>(vector::read(source, 32));
                codes[i] = vector::bytes(simd, first, second);
            } else {
                let first = self.0.code::<WAY, TO>(upper::<SOURCE>(simd, source));
                let second = self.0.code::<WAY, TO>(upper::<SOURCE>(simd, &source[LANES / 2 * size(SOURCE)..]));
                codes[i] = vector::interleaved_bytes(simd, first, second);
            }
        }
        vector::store::<TO>(simd, codes, destination);
    }
}

/// Bytes of a float.
const fn size(source: u8) -> usize {
    2 << source
}

/// The upper halves of 16 floats in binary32, rounded to odd: of each eight the first four, then the others.
#[inline(always)]
fn upper<const SOURCE: u8>(simd: V3, source: &[u8]) -> Bytes {
    let (first, second) = if SOURCE == SINGLE {
        (vector::read(source, 0), vector::read(source, 32))
    } else {
        (long::doubles(simd, source), long::doubles(simd, &source[64..]))
    };
    let simd = simd.avx2;
    let high = simd._mm256_packus_epi32(simd._mm256_srli_epi32::<16>(first), simd._mm256_srli_epi32::<16>(second));
    let mask = wides(0xffff);
    let low = simd._mm256_packus_epi32(simd._mm256_and_si256(first, mask), simd._mm256_and_si256(second, mask));
    simd._mm256_or_si256(high, simd._mm256_min_epu16(low, words(1)))
}
