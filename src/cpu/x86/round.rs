//! Rounding of binary32 hubs to floats of at most 16 bits, as `single::Rounding` does it; what is left to do when there are
//! words of 16 bits, signs and NaNs, is done in those.

use std::marker::PhantomData;

use bytemuck::cast;
use pulp::x86::V3;

use super::source::{Double, Half, Int, Single, Sixteen, Source, Upper};
use super::strips::strips;
use super::vector::{Bytes, Packed, Sixteens, wides, words};
use crate::conversion::{Conversion, Encode};
use crate::cpu::encode::{Signs, Way, Whole, single};
use crate::element::ElementType;

/// The casts of one pair.
#[derive(Clone, Copy)]
pub(crate) struct Round {
    simd: V3,
    rounding: single::Rounding,
    strips: Work,
}

type Work = fn(&Round, &[u8], &mut [u8]);

impl Round {
    /// `None` for other pairs.
    pub(crate) fn new(simd: V3, conversion: &Conversion) -> Option<Self> {
        let Encode::Float(to) = conversion.encode else { return None };
        let rounding = single::Rounding::new(&to)?;
        let bits = conversion.to.code_bits();
        let strips = match (rounding.way, conversion.from) {
            (Way::Shift, ElementType::FLOAT16) => Self::strips::<Half, SHIFT, 16>,
            (Way::Shift, ElementType::FLOAT) => Self::strips::<Single, SHIFT, 16>,
            (Way::Shift, ElementType::INT16) => Self::strips::<Int<16, true, false>, SHIFT, 16>,
            (Way::Shift, ElementType::UINT16) => Self::strips::<Int<16, false, false>, SHIFT, 16>,
            (Way::Shift, ElementType::INT32) => Self::strips::<Int<32, true, true>, SHIFT, 16>,
            (Way::Shift, ElementType::UINT32) => Self::strips::<Int<32, false, true>, SHIFT, 16>,
            (Way::Shift, ElementType::INT64) => Self::strips::<Int<64, true, true>, SHIFT, 16>,
            (Way::Shift, ElementType::UINT64) => Self::strips::<Int<64, false, true>, SHIFT, 16>,
            (Way::Add, ElementType::BFLOAT16) if bits == 16 => Self::strips::<Upper, ADD, 16>,
            // No format that there is has so large numbers.
            (Way::Add, _) if !Whole::new(&to)?.bounded() => return None,
            (Way::Add, ElementType::FLOAT) => Self::add::<Single>(bits),
            (Way::Add, ElementType::DOUBLE) => Self::add::<Double>(bits),
            (Way::Add, ElementType::INT16) => Self::add::<Int<16, true, false>>(bits),
            (Way::Add, ElementType::UINT16) => Self::add::<Int<16, false, false>>(bits),
            (Way::Add, ElementType::INT32) => Self::add::<Int<32, true, false>>(bits),
            (Way::Add, ElementType::UINT32) => Self::add::<Int<32, false, false>>(bits),
            (Way::Add, ElementType::INT64) => Self::add::<Int<64, true, false>>(bits),
            (Way::Add, ElementType::UINT64) => Self::add::<Int<64, false, false>>(bits),
            _ => return None,
        };
        Some(Self { simd, rounding, strips })
    }

    fn add<S: Source>(bits: u32) -> Work {
        match bits {
            16 => Self::strips::<S, ADD, 16>,
            8 => Self::strips::<S, ADD, 8>,
            6 => Self::strips::<S, ADD, 6>,
            _ => Self::strips::<S, ADD, 4>,
        }
    }

    /// Casts packed codes that start at a byte; what it writes to pad bits is undefined.
    pub(crate) fn convert(&self, source: &[u8], destination: &mut [u8]) {
        (self.strips)(self, source, destination);
    }

    fn strips<S: Source, const WAY: u8, const TO: usize>(&self, source: &[u8], destination: &mut [u8]) {
        strips(self.simd, &Packed::<_, TO>(Encoder::<S, WAY, TO>(&self.rounding, PhantomData)), source, destination);
    }
}

const ADD: u8 = Way::Add as u8;
const SHIFT: u8 = Way::Shift as u8;

struct Encoder<'a, S, const WAY: u8, const TO: usize>(&'a single::Rounding, PhantomData<S>);

impl<S: Source, const WAY: u8, const TO: usize> Sixteens for Encoder<'_, S, WAY, TO> {
    const BYTES: usize = S::BYTES;
    const INTERLEAVED: bool = S::INTERLEAVED;

    #[inline(always)]
    fn codes(&self, simd: V3, source: &[u8]) -> Bytes {
        let parts = S::parts(simd, source);
        let mut codes = parts.magnitudes;
        for i in 0..2 {
            codes[i] = if WAY == ADD { self.add(simd, codes[i]) } else { shift(simd, codes[i]) };
        }
        self.signed(simd, simd.avx2._mm256_packus_epi32(codes[0], codes[1]), &parts)
    }
}

impl<S: Source, const WAY: u8, const TO: usize> Encoder<'_, S, WAY, TO> {
    #[inline(always)]
    fn add(&self, simd: V3, magnitude: Bytes) -> Bytes {
        let single::Rounding { limit, least, raise, down, .. } = *self.0;
        let (simd, avx) = (simd.avx2, simd.avx);
        let bounded = simd._mm256_min_epi32(magnitude, wides(limit));
        let exponent = simd._mm256_and_si256(bounded, wides(single::INFINITY));
        let exponent = simd._mm256_max_epi32(exponent, wides(least));
        let unit = simd._mm256_add_epi32(exponent, wides(raise));
        let sum = avx._mm256_add_ps(cast(bounded), cast(unit));
        let exponent = simd._mm256_sub_epi32(exponent, wides(least));
        let exponent = simd._mm256_srl_epi32(exponent, cast([u64::from(down), 0]));
        simd._mm256_add_epi32(simd._mm256_sub_epi32(cast(sum), unit), exponent)
    }

    /// Codes of magnitudes with their signs, and NaN's.
    #[inline(always)]
    fn signed(&self, simd: V3, codes: Bytes, parts: &Sixteen) -> Bytes {
        let to = self.0;
        let simd2 = simd.avx2;
        if !S::SIGNED {
            return codes;
        }
        let &Sixteen { signs: sign, are_nan, .. } = parts;
        let sign = match TO {
            16 => sign,
            8 => simd2._mm256_srli_epi16::<8>(sign),
            6 => simd2._mm256_srli_epi16::<10>(sign),
            _ => simd2._mm256_srli_epi16::<12>(sign),
        };
        let sign = simd2._mm256_and_si256(sign, words(1 << (TO - 1)));
        if !S::NANS {
            // Integers have no −0, and none of them rounds to it.
            return simd2._mm256_or_si256(codes, sign);
        }
        let codes = simd2._mm256_blendv_epi8(codes, words(to.nan as u16), are_nan);
        let sign = match to.signs {
            Signs::Kept => sign,
            Signs::NoNegativeZero => simd2._mm256_andnot_si256(simd2._mm256_cmpeq_epi16(codes, words(0)), sign),
            Signs::Any => {
                let kept = simd2._mm256_and_si256(sign, words(to.keep as u16));
                simd2._mm256_blendv_epi8(sign, simd2._mm256_xor_si256(kept, words(to.flip as u16)), are_nan)
            }
        };
        simd2._mm256_or_si256(codes, sign)
    }
}

/// To the upper half.
#[inline(always)]
fn shift(simd: V3, magnitude: Bytes) -> Bytes {
    let simd = simd.avx2;
    let odd = simd._mm256_and_si256(simd._mm256_srli_epi32::<16>(magnitude), wides(1));
    let half = simd._mm256_add_epi32(odd, wides((1 << 15) - 1));
    simd._mm256_srli_epi32::<16>(simd._mm256_add_epi32(magnitude, half))
}
