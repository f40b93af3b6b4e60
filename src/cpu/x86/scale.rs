//! Rounding of binary32 hubs to FLOAT8E8M0, as `single::Scale` does it.

use std::marker::PhantomData;

use pulp::x86::V3;

use super::source::{self, Half, Int, Numbers, Single, Upper};
use super::strips::strips;
use super::vector::{Bytes, Packed, Sixteens, wides, words};
use crate::conversion::{Conversion, Encode};
use crate::cpu::encode::single;
use crate::element::ElementType;

/// The casts of one pair.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    simd: V3,
    scale: single::Scale,
    strips: Work,
}

type Work = fn(&Scale, &[u8], &mut [u8]);

impl Scale {
    /// `None` for other pairs.
    pub(crate) fn new(simd: V3, conversion: &Conversion) -> Option<Self> {
        let Encode::E8m0(to) = conversion.encode else { return None };
        let strips = match conversion.from {
            ElementType::FLOAT16 => Self::strips::<Half>,
            ElementType::BFLOAT16 => Self::strips::<Upper>,
            ElementType::FLOAT => Self::strips::<Single>,
            ElementType::INT16 => Self::strips::<Int<16, true, false>>,
            ElementType::UINT16 => Self::strips::<Int<16, false, false>>,
            ElementType::INT32 => Self::strips::<Int<32, true, true>>,
            ElementType::UINT32 => Self::strips::<Int<32, false, true>>,
            ElementType::INT64 => Self::strips::<Int<64, true, true>>,
            ElementType::UINT64 => Self::strips::<Int<64, false, true>>,
            _ => return None,
        };
        Some(Self { simd, scale: single::Scale::new(&to), strips })
    }

    /// Casts codes that start at a byte.
    pub(crate) fn convert(&self, source: &[u8], destination: &mut [u8]) {
        (self.strips)(self, source, destination);
    }

    fn strips<S: Numbers>(&self, source: &[u8], destination: &mut [u8]) {
        strips(self.simd, &Packed::<_, 8>(Encoder::<S>(&self.scale, PhantomData)), source, destination);
    }
}

struct Encoder<'a, S>(&'a single::Scale, PhantomData<S>);

impl<S: Numbers> Sixteens for Encoder<'_, S> {
    const BYTES: usize = S::BYTES;
    const INTERLEAVED: bool = S::INTERLEAVED;

    #[inline(always)]
    fn codes(&self, simd: V3, source: &[u8]) -> Bytes {
        let numbers = S::numbers(simd, source);
        let single::Scale { low, high, nan, round, least } = *self.0;
        let simd2 = simd.avx2;
        let mut codes = [wides(0); 2];
        for i in 0..2 {
            let x = numbers[i];
            let code = simd2._mm256_srli_epi32::<23>(simd2._mm256_add_epi32(x, wides(round)));
            let code = simd2._mm256_and_si256(code, simd2._mm256_cmpgt_epi32(x, wides(least)));
            let is_high = simd2._mm256_cmpgt_epi32(x, wides((127 + 127) << 23));
            let code = simd2._mm256_blendv_epi8(code, wides(high), is_high);
            let is_low = simd2._mm256_cmpgt_epi32(wides(single::LEAST_SCALE as u32), x);
            codes[i] = simd2._mm256_blendv_epi8(code, wides(low), is_low);
        }
        let codes = simd2._mm256_packus_epi32(codes[0], codes[1]);
        if S::NANS { simd2._mm256_blendv_epi8(codes, words(nan as u16), source::are_nan(simd, numbers)) } else { codes }
    }
}
