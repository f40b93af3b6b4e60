//! Sources of NEON's lanes.

use zerocopy::transmute;

use super::{Numbers, SignMagnitude, Source, sign_magnitude_of};
use crate::bits::format::{FloatFormat, Specials};
use crate::cpu::codes::{F16_SIGN, F32_BIAS, F32_INFINITY, F32_MAN, F32_NAN, F32_SIGN};
use crate::cpu::lanes::Lanes;
use crate::cpu::lanes::neon::kernels::{self as k, H, W};
use crate::cpu::lanes::neon::{Neon, array};
use crate::types::conversion::Conversion;
use crate::types::element::ElementType;
use crate::types::options::CastOptions;

/// DOUBLE in binary32, rounded to odd. Unlike [`F64Source`](super::F64Source), it serves all destinations of at most 22
/// significant bits.
#[derive(Clone, Copy)]
pub(crate) struct OddF64;

impl Source for OddF64 {
    const BITS: usize = 64;
}

impl Numbers<Neon> for OddF64 {
    #[inline(always)]
    fn sign_magnitude(self, l: Neon, bytes: &[u8]) -> SignMagnitude<Neon> {
        sign_magnitude_of(l, self.numbers(l, bytes))
    }

    #[inline(always)]
    fn numbers(self, l: Neon, bytes: &[u8]) -> [W; 2] {
        let [a, b, c, d] = l.load_64(bytes);
        [k::f64_to_odd_f32(l.0, a, b), k::f64_to_odd_f32(l.0, c, d)]
    }
}

/// Integers of 8 bits.
#[derive(Clone, Copy)]
pub(crate) struct Int8<const SIGNED: bool>;

impl<const SIGNED: bool> Source for Int8<SIGNED> {
    const BITS: usize = 8;
    const SIGNED: bool = SIGNED;
    const NANS: bool = false;
}

impl<const SIGNED: bool> Numbers<Neon> for Int8<SIGNED> {
    #[inline(always)]
    fn sign_magnitude(self, l: Neon, bytes: &[u8]) -> SignMagnitude<Neon> {
        sign_magnitude_of(l, self.numbers(l, bytes))
    }

    #[inline(always)]
    fn numbers(self, l: Neon, bytes: &[u8]) -> [W; 2] {
        if SIGNED {
            let words = k::first_i8_to_i16(l.0, transmute!([array::<8>(bytes), [0; 8]]));
            return l.i32_to_f32([k::first_i16_to_i32(l.0, words), k::last_i16_to_i32(l.0, words)]);
        }
        l.i32_to_f32(l.unpack(l.load_u8(bytes), l.splat_u16(0)))
    }
}

/// BFLOAT16. NaNs are made canonical in lanes of 16 bits, of which there are half as many vectors as of the numbers.
#[derive(Clone, Copy)]
pub(crate) struct CanonicalBf16 {
    /// The canonical NaN. It is a variable because the compiler makes more instructions of a constant one.
    nan: u16,
}

impl CanonicalBf16 {
    pub(crate) const NEW: Self = Self { nan: (F32_NAN >> 16) as u16 };
}

impl Source for CanonicalBf16 {
    const BITS: usize = 16;
    // They are canonical, and stay so in any conversion.
    const NANS: bool = false;
}

impl Numbers<Neon> for CanonicalBf16 {
    #[inline(always)]
    fn sign_magnitude(self, l: Neon, bytes: &[u8]) -> SignMagnitude<Neon> {
        sign_magnitude_of(l, self.numbers(l, bytes))
    }

    #[inline(always)]
    fn numbers(self, l: Neon, bytes: &[u8]) -> [W; 2] {
        let codes = l.load_u16(bytes);
        let magnitude = l.and_u16(codes, l.splat_u16(!F16_SIGN));
        let is_nan = l.greater_u16(magnitude, l.splat_u16((F32_INFINITY >> 16) as u16));
        let replaced = l.and_u16(is_nan, l.splat_u16(!F16_SIGN));
        let codes = l.select_u16(replaced, l.splat_u16(self.nan), codes);
        // The sign of the wider integer is shifted out. Shifting takes one instruction together with widening.
        l.shl_u32::<16>([k::first_i16_to_i32(l.0, codes), k::last_i16_to_i32(l.0, codes)])
    }
}

/// Floats of 8 bits, by the number that stands for their special values. Their numbers have canonical NaNs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct F8Numbers<const SPECIALS: u8> {
    /// Significand bits and the sign, less one.
    down: u32,
    /// 2^(binary32's bias - the format's).
    scale: u32,
    /// The upper half of NaN's number.
    nan: u16,
}

/// The values of `SPECIALS`.
const IEEE: u8 = Specials::Ieee as u8;
const TOP_CODE_NAN: u8 = Specials::TopCodeNan as u8;
const NEGATIVE_ZERO_NAN: u8 = Specials::NegativeZeroNan as u8;
const SCALE: u8 = Specials::Scale as u8;

/// The source of a format.
#[derive(Clone, Copy, Debug)]
pub(crate) enum F8NumbersOf {
    Ieee(F8Numbers<IEEE>),
    TopCodeNan(F8Numbers<TOP_CODE_NAN>),
    NegativeZeroNan(F8Numbers<NEGATIVE_ZERO_NAN>),
    Scale(F8Numbers<SCALE>),
}

impl F8NumbersOf {
    /// `None` for other formats.
    pub(crate) fn new(from: ElementType, format: &FloatFormat) -> Option<Self> {
        // `integers` takes larger numbers of powers of two only.
        let serves = format.bits() == 8 && (format.specials == Specials::Scale || format.max_exponent() < 31);
        if !serves {
            return None;
        }
        match format.specials {
            Specials::Ieee => F8Numbers::new(from, format).map(Self::Ieee),
            Specials::TopCodeNan => F8Numbers::new(from, format).map(Self::TopCodeNan),
            Specials::NegativeZeroNan => F8Numbers::new(from, format).map(Self::NegativeZeroNan),
            Specials::Scale if format.bias == F32_BIAS => F8Numbers::new(from, format).map(Self::Scale),
            Specials::Scale | Specials::Finite => None,
        }
    }
}

impl<const SPECIALS: u8> F8Numbers<SPECIALS> {
    fn new(from: ElementType, format: &FloatFormat) -> Option<Self> {
        let to_upper_half = Conversion::new(from, ElementType::BFLOAT16, &CastOptions::default()).ok()?;
        let (mut nan, mut high) = ([format.nan()? as u32], [0]);
        to_upper_half.convert(&mut nan, &mut high);
        let scale = (F32_BIAS + F32_BIAS - format.bias) << F32_MAN;
        Some(Self { down: format.man_bits + 1, scale, nan: nan[0] as u16 })
    }

    /// The numbers in binary32. With `NEGATIVE_SPECIALS`, −∞ stands for ±∞ and NaN.
    #[inline(always)]
    fn scaled<const NEGATIVE_SPECIALS: bool>(self, l: Neon, bytes: &[u8]) -> [W; 2] {
        let [a, b] = l.unpack(l.splat_u16(0), self.upper_halves::<NEGATIVE_SPECIALS>(l, bytes));
        if SPECIALS == SCALE {
            return [a, b];
        }
        let scale = k::splat_32(l.0, self.scale);
        [k::multiply_f32(l.0, a, scale), k::multiply_f32(l.0, b, scale)]
    }

    /// The upper halves of the numbers, whose other bits are zero, before they are scaled.
    #[inline(always)]
    fn upper_halves<const NEGATIVE_SPECIALS: bool>(self, l: Neon, bytes: &[u8]) -> H {
        let codes: H = transmute!(k::zip_first_8(l.0, k::splat_8(l.0, 0), transmute!([array::<8>(bytes), [0; 8]])));
        let negative_infinity = ((F32_SIGN | F32_INFINITY) >> 16) as u16;
        let nan = l.splat_u16(if NEGATIVE_SPECIALS { negative_infinity } else { self.nan });
        if SPECIALS == SCALE {
            // The code 0 is the least power of two, which is subnormal in binary32.
            let powers = k::max_16(l.0, l.shr_u16(codes, 1), l.splat_u16(1 << 6));
            let is_nan = l.equal_u16(codes, l.splat_u16(0xff << 8));
            return l.select_u16(is_nan, nan, powers);
        }
        // The shift repeats the sign, which then remains in the top bit only.
        let moved = k::signed_shift_16(l.0, codes, l.splat_u16((self.down as u16).wrapping_neg()));
        let number = l.and_u16(moved, l.splat_u16(1 << 15 | 0x7fff >> self.down));
        let sign = 1 << 15;
        match SPECIALS {
            NEGATIVE_ZERO_NAN => l.select_u16(l.equal_u16(codes, l.splat_u16(sign)), nan, number),
            TOP_CODE_NAN => {
                let is_nan = l.equal_u16(l.or_u16(codes, l.splat_u16(sign)), l.splat_u16(0xff << 8));
                let nan = l.or_u16(l.and_u16(codes, l.splat_u16(sign)), nan);
                l.select_u16(is_nan, nan, number)
            }
            _ => {
                let magnitude = l.and_u16(codes, l.splat_u16(!sign));
                let infinity = ((1 << 5) - 1) << 10;
                let is_special = l.greater_u16(magnitude, l.splat_u16(infinity - 1));
                if NEGATIVE_SPECIALS {
                    return l.select_u16(is_special, nan, number);
                }
                let is_nan = l.greater_u16(magnitude, l.splat_u16(infinity));
                let infinity = l.or_u16(codes, l.splat_u16((F32_INFINITY >> 16) as u16));
                let quiet = l.and_u16(is_nan, l.splat_u16((F32_NAN >> 16) as u16));
                l.or_u16(l.select_u16(is_special, infinity, number), quiet)
            }
        }
    }
}

impl<const SPECIALS: u8> Source for F8Numbers<SPECIALS> {
    const BITS: usize = 8;
    // They are canonical already, and stay so in any conversion.
    const NANS: bool = false;
}

impl<const SPECIALS: u8> Numbers<Neon> for F8Numbers<SPECIALS> {
    #[inline(always)]
    fn sign_magnitude(self, l: Neon, bytes: &[u8]) -> SignMagnitude<Neon> {
        sign_magnitude_of(l, self.numbers(l, bytes))
    }

    #[inline(always)]
    fn numbers(self, l: Neon, bytes: &[u8]) -> [W; 2] {
        self.scaled::<false>(l, bytes)
    }

    #[inline(always)]
    fn integers(self, l: Neon, bytes: &[u8]) -> [W; 2] {
        let [a, b] = self.scaled::<true>(l, bytes);
        if SPECIALS == SCALE {
            return l.f32_to_i32([a, b]);
        }
        // All numbers are less than 2^31. The instruction gives the least integer for −∞.
        [k::f32_to_i32(l.0, a), k::f32_to_i32(l.0, b)]
    }
}
