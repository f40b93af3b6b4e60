//! 16-bit floats to narrower ones and those of smaller exponents, in words of 16 bits: twice as many at a time as there
//! are binary32 hubs.
//!
//! What `bits.rs` does by a shift of each lane's own, AVX-512 has for 16 bits and AVX2 has not; a product's two halves are what such a
//! shift keeps and what it cuts.

#![allow(clippy::needless_range_loop, reason = "the closures of adapters are compiled without the vector instructions")]

use bytemuck::cast;
use pulp::x86::V3;

use super::vector::{self, Bytes, LANES, Strip, words};
use super::encode::Signs;
use crate::bits::EncodeFloat;
use crate::conversion::{Conversion, Encode};
use crate::element::Kind;

/// The numbers of one pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HalfRounding {
    pub way: Way,
    pub signs: Signs,
    to: EncodeFloat,
    /// The source's significand bits, zeros put below them, and those that the destination lacks then.
    man: u32,
    up: u32,
    down: u32,
    infinity: u16,
    /// The number whose code is that of everything out of range.
    limit: u16,
    /// Exponent field of the destination's least normal number.
    least: u16,
}

/// How exponents become the destination's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// They are the same ones.
    Same,
    /// They are larger by one, so that subnormals double.
    Next,
    /// They are smaller, and the source's subnormals all become zero.
    Smaller,
}

impl HalfRounding {
    /// `None` for other pairs, and where none of the ways serves.
    pub(crate) fn new(conversion: &Conversion) -> Option<Self> {
        let (Kind::Float(from), Encode::Float(to)) = (conversion.from.kind(), conversion.encode) else { return None };
        if from.bits() != 16
            || to.bits == 16 && to.man <= from.man_bits
            || to.overflow != to.max && to.overflow != to.max + 1
        {
            return None;
        }
        let man = from.man_bits;
        let up = (to.man + 1).saturating_sub(man);
        let down = man + up - to.man;
        if down + to.man + 2 > 15 {
            return None;
        }
        let rebias = from.bias as i32 - to.bias as i32;
        let way = match rebias {
            0 | -1 if to.bits != 8 => return None,
            0 => Way::Same,
            -1 if to.fnuz => Way::Next,
            // Half the least subnormal is then no less than the source's least normal number.
            _ if rebias > to.man as i32 => Way::Smaller,
            _ => return None,
        };
        let rebias = rebias.max(0) as u16;
        Some(Self {
            way,
            signs: Signs::new(&to),
            to,
            man,
            up,
            down,
            infinity: from.infinity()? as u16,
            limit: (to.overflow << down >> up) as u16 + (rebias << man),
            least: rebias + 1,
        })
    }

    /// The code of a float, for a compiler with shifts by each lane's own amount.
    #[inline(always)]
    pub(crate) fn code<const WAY: u8, const SIGNS: u8>(&self, float: u16) -> u16 {
        let magnitude = float & 0x7fff;
        let code = if WAY == SMALLER {
            let bounded = magnitude.min(self.limit);
            let exponent = bounded >> self.man;
            // Two below the least subnormal, all is cut and less than half.
            let below = self.least.saturating_sub(exponent).min(self.to.man as u16 + 2);
            let implicit = 1 << self.man;
            let significand = (bounded & (implicit - 1) | implicit) << self.up;
            // As the twin's `round_shift`.
            let shift = (self.down as u16 + below) & 15;
            let half = ((1 << shift) - 1) >> 1;
            let rounded = (significand + half + (significand >> shift & 1)) >> shift;
            rounded + (exponent.saturating_sub(self.least) << self.to.man)
        } else {
            let value = if WAY == NEXT { magnitude + magnitude.min(1 << self.man) } else { magnitude };
            let bounded = value.min(self.limit);
            let half = (1 << (self.down - 1)) - 1;
            (bounded + half + (bounded >> self.down & 1)) >> self.down
        };
        let is_nan = magnitude > self.infinity;
        let code = if is_nan { self.to.nan as u16 } else { code };
        let sign = float >> (16 - self.to.bits) & 1 << (self.to.bits - 1);
        let sign = if SIGNS == Signs::Any as u8 && is_nan {
            sign & self.to.nan_keep as u16 ^ self.to.nan_flip as u16
        } else if SIGNS == Signs::NoNegativeZero as u8 && code == 0 {
            0
        } else {
            sign
        };
        code | sign
    }
}

pub(crate) const SAME: u8 = Way::Same as u8;
pub(crate) const NEXT: u8 = Way::Next as u8;
pub(crate) const SMALLER: u8 = Way::Smaller as u8;

/// The casts of one pair by AVX2.
pub(crate) struct Halves {
    simd: V3,
    rounding: HalfRounding,
    /// Powers of two by which a significand is multiplied, by how far it is below the least normal number: low bytes,
    /// then high ones. In one table for both where eight will do.
    powers: [[u8; 16]; 2],
}

impl Halves {
    /// `None` for other pairs, and where none of the ways serves.
    pub(crate) fn new(simd: V3, conversion: &Conversion) -> Option<Self> {
        let rounding = HalfRounding::new(conversion)?;
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
        Some(Self { simd, rounding, powers })
    }

    /// Casts packed codes that start at a byte; what it writes to pad bits is undefined.
    pub(crate) fn convert(&self, source: &[u8], destination: &mut [u8]) {
        match (self.rounding.way, self.rounding.to.bits) {
            (Way::Same, 8) => self.strips::<SAME, 8>(source, destination),
            (Way::Next, 8) => self.strips::<NEXT, 8>(source, destination),
            (Way::Smaller, 8) => self.strips::<SMALLER, 8>(source, destination),
            (Way::Smaller, 6) => self.strips::<SMALLER, 6>(source, destination),
            (Way::Smaller, 4) => self.strips::<SMALLER, 4>(source, destination),
            (Way::Smaller, 16) => self.strips::<SMALLER, 16>(source, destination),
            (_, bits) => unreachable!("floats of {bits} bits with the exponents of 16-bit ones"),
        }
    }

    fn strips<const WAY: u8, const TO: usize>(&self, source: &[u8], destination: &mut [u8]) {
        vector::strips(self.simd, &Encoder::<'_, WAY, TO>(self), source, destination);
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

struct Encoder<'a, const WAY: u8, const TO: usize>(&'a Halves);

impl<const WAY: u8, const TO: usize> Strip<V3> for Encoder<'_, WAY, TO> {
    const READ: usize = 8 * LANES;
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
            let first = self.0.code::<WAY, TO>(vector::read(source, 64 * i));
            let second = self.0.code::<WAY, TO>(vector::read(source, 64 * i + 32));
            codes[i] = vector::bytes(simd, first, second);
        }
        vector::store::<TO>(simd, codes, destination);
    }
}
