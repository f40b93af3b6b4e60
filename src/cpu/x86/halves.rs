//! The same as `half.rs` by AVX2, which has no shift of 16-bit words by each one's own amount: a product's two halves are
//! what such a shift keeps and what it cuts.

use bytemuck::cast;
use pulp::x86::V3;

use super::strips::strips;
use super::vector::{self, Bytes, Packed, Sixteens, words};
use crate::conversion::Conversion;
use crate::cpu::encode::Signs;
use crate::cpu::half::{HalfRounding, NEXT, SAME, SMALLER, Way};

/// The casts of one pair.
pub(crate) struct Halves {
    simd: V3,
    rounding: HalfRounding,
    /// Powers of two by which a significand is multiplied, by how far it is below the least normal number: eight low bytes,
    /// then high ones.
    powers: [u8; 16],
}

impl Halves {
    /// `None` for other pairs, and where none of the ways serves.
    pub(crate) fn new(simd: V3, conversion: &Conversion) -> Option<Self> {
        let rounding = HalfRounding::new(conversion)?;
        let HalfRounding { to, down, .. } = rounding;
        // Floats of 8 bits have two rules for signs here; those of 16 are faster by way of binary32.
        if to.bits == 16 || to.bits == 8 && rounding.signs == Signs::Any || to.man + 3 > 8 {
            return None;
        }
        let mut powers = [0; 16];
        for below in 0..to.man as usize + 3 {
            [powers[below], powers[8 + below]] = (1u16 << (15 - down - below as u32)).to_le_bytes();
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
            (_, bits) => unreachable!("floats of {bits} bits with the exponents of 16-bit ones"),
        }
    }

    fn strips<const WAY: u8, const TO: usize>(&self, source: &[u8], destination: &mut [u8]) {
        strips(self.simd, &Packed::<_, TO>(Encoder::<'_, WAY, TO>(self)), source, destination);
    }

    /// The codes of 16 floats, a word each.
    #[inline(always)]
    fn code<const WAY: u8, const TO: usize>(&self, floats: Bytes) -> Bytes {
        let simd = self.simd.avx2;
        let HalfRounding { to, man, down, infinity, limit, least, .. } = self.rounding;
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
            let index = simd._mm256_or_si256(index, words(0x0800));
            let power = simd._mm256_shuffle_epi8(vector::twice(self.powers), index);
            let implicit = 1 << man;
            let fraction = simd._mm256_and_si256(bounded, words(implicit - 1));
            let significand = simd._mm256_or_si256(fraction, words(implicit));
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

impl<const WAY: u8, const TO: usize> Sixteens for Encoder<'_, WAY, TO> {
    const BYTES: usize = 32;
    const INTERLEAVED: bool = false;

    #[inline(always)]
    fn codes(&self, _: V3, source: &[u8]) -> Bytes {
        self.0.code::<WAY, TO>(vector::read(source, 0))
    }
}
