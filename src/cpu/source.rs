//! Sources decode: a source gives a sink the numbers of a group of elements, in the form that the sink asks for.

#[cfg(all(feature = "cpu-simd", target_arch = "aarch64"))]
pub(crate) mod neon;

use super::codes::{
    F16_INFINITY, F16_MAGNITUDE, F16_SIGN, F32_BIAS, F32_INFINITY, F32_SIGN, F64_BIAS, F64_INFINITY, F64_MAN,
};
use super::lanes::Lanes;
use crate::bits::format::FloatFormat;
use crate::bits::reference::Hub;

/// The numbers of a group in the form that rounding needs.
pub(crate) struct SignMagnitude<L: Lanes> {
    /// Magnitudes in binary32, rounded to odd if binary32 cannot hold the source's number. NaN gives any magnitude.
    pub magnitude: L::U32,
    /// The sign in the top bit. The other bits are undefined.
    pub sign: L::U16,
    pub is_nan: L::M16,
}

/// Elements of one kind.
pub(crate) trait Source: Copy + Send + Sync {
    /// Bits of an element.
    const BITS: usize;
    const SIGNED: bool = true;
    const NANS: bool = true;
}

/// Gives the integer parts of elements.
pub(crate) trait Truncates<L: Lanes>: Source {
    /// The bits of `mask` of the integer parts; 0 for a float whose integer part does not fit 32 bits.
    fn truncated(self, l: L, bytes: &[u8], mask: u16) -> L::U16;
}

/// Gives the numbers of elements.
pub(crate) trait Numbers<L: Lanes>: Source {
    /// The format in which [`numbers`](Self::numbers) returns them.
    const HUB: Hub = Hub::F32;

    fn sign_magnitude(self, l: L, bytes: &[u8]) -> SignMagnitude<L>;
    /// The numbers with their signs, rounded to odd if the hub cannot hold them. NaN gives some NaN. Numbers of 16-bit
    /// elements are in the order of [`unpack`](Lanes::unpack), all others in the order of the elements.
    fn numbers(self, l: L, bytes: &[u8]) -> L::U32;
    /// The numbers in the order of the elements.
    #[inline(always)]
    fn in_order(self, l: L, bytes: &[u8]) -> L::U32 {
        self.numbers(l, bytes)
    }
    /// The integer parts in the order of the elements. A value that does not fit 32 bits, and NaN, gives the least
    /// integer.
    #[inline(always)]
    fn integers(self, l: L, bytes: &[u8]) -> L::U32 {
        l.f32_to_i32(self.in_order(l, bytes))
    }
}

/// Codes of 16 bits as they are: sinks decode them.
#[derive(Clone, Copy)]
pub(crate) struct Codes16;

impl Source for Codes16 {
    const BITS: usize = 16;
}

/// FLOAT16. Without `SUBNORMALS`, a subnormal gives some number below the least normal one. That is enough for sinks
/// that treat all of these numbers alike.
#[derive(Clone, Copy)]
pub(crate) struct F16<const SUBNORMALS: bool>;

impl<const SUBNORMALS: bool> Source for F16<SUBNORMALS> {
    const BITS: usize = 16;
}

impl<L: Lanes, const SUBNORMALS: bool> Truncates<L> for F16<SUBNORMALS> {
    #[inline(always)]
    fn truncated(self, l: L, bytes: &[u8], mask: u16) -> L::U16 {
        masked(l, l.f16_to_i16(l.load_u16(bytes)), mask)
    }
}

impl<L: Lanes, const SUBNORMALS: bool> Numbers<L> for F16<SUBNORMALS> {
    #[inline(always)]
    fn sign_magnitude(self, l: L, bytes: &[u8]) -> SignMagnitude<L> {
        let codes = l.load_u16(bytes);
        let magnitude = l.and_u16(codes, l.splat_u16(F16_MAGNITUDE));
        let is_nan = l.greater_u16(magnitude, l.splat_u16(F16_INFINITY));
        SignMagnitude { magnitude: l.f16_to_f32::<SUBNORMALS>(magnitude), sign: codes, is_nan }
    }

    #[inline(always)]
    fn numbers(self, l: L, bytes: &[u8]) -> L::U32 {
        l.f16_numbers::<SUBNORMALS>(l.load_u16(bytes))
    }

    #[inline(always)]
    fn in_order(self, l: L, bytes: &[u8]) -> L::U32 {
        l.f16_numbers::<SUBNORMALS>(l.load_u16_to_unpack(bytes))
    }
}

/// BFLOAT16: the upper half of binary32.
#[derive(Clone, Copy)]
pub(crate) struct Bf16;

impl Source for Bf16 {
    const BITS: usize = 16;
}

impl<L: Lanes> Truncates<L> for Bf16 {
    #[inline(always)]
    fn truncated(self, l: L, bytes: &[u8], mask: u16) -> L::U16 {
        masked(l, l.bf16_to_i16(l.load_u16(bytes), mask), mask)
    }
}

impl<L: Lanes> Numbers<L> for Bf16 {
    #[inline(always)]
    fn sign_magnitude(self, l: L, bytes: &[u8]) -> SignMagnitude<L> {
        let codes = l.load_u16(bytes);
        let magnitude = l.and_u16(codes, l.splat_u16(!F16_SIGN));
        let is_nan = l.greater_u16(magnitude, l.splat_u16((F32_INFINITY >> 16) as u16));
        SignMagnitude { magnitude: l.unpack(l.splat_u16(0), magnitude), sign: codes, is_nan }
    }

    #[inline(always)]
    fn numbers(self, l: L, bytes: &[u8]) -> L::U32 {
        l.unpack(l.splat_u16(0), l.load_u16(bytes))
    }

    #[inline(always)]
    fn in_order(self, l: L, bytes: &[u8]) -> L::U32 {
        l.unpack(l.splat_u16(0), l.load_u16_to_unpack(bytes))
    }
}

/// FLOAT, which is its own hub.
#[derive(Clone, Copy)]
pub(crate) struct F32Source;

impl Source for F32Source {
    const BITS: usize = 32;
}

impl<L: Lanes> Truncates<L> for F32Source {
    #[inline(always)]
    fn truncated(self, l: L, bytes: &[u8], mask: u16) -> L::U16 {
        low_bits(l, l.f32_to_i32(l.load_u32(bytes)), mask)
    }
}

impl<L: Lanes> Numbers<L> for F32Source {
    #[inline(always)]
    fn sign_magnitude(self, l: L, bytes: &[u8]) -> SignMagnitude<L> {
        sign_magnitude_of(l, l.load_u32(bytes))
    }

    #[inline(always)]
    fn numbers(self, l: L, bytes: &[u8]) -> L::U32 {
        l.load_u32(bytes)
    }
}

/// DOUBLE.
#[derive(Clone, Copy)]
pub(crate) struct F64Source;

/// The high words of the least and of the greatest DOUBLE that is a normal number in binary32.
const F64_LEAST: u32 = (F64_BIAS + 1 - F32_BIAS) << (F64_MAN - 32);
const F64_GREATEST: u32 = ((F64_BIAS + 1 + F32_BIAS) << (F64_MAN - 32)) - 1;

impl Source for F64Source {
    const BITS: usize = 64;
}

impl<L: Lanes> Truncates<L> for F64Source {
    #[inline(always)]
    fn truncated(self, l: L, bytes: &[u8], mask: u16) -> L::U16 {
        low_bits(l, l.f64_to_i32(bytes), mask)
    }
}

impl<L: Lanes> Numbers<L> for F64Source {
    const HUB: Hub = Hub::F64_HIGH_WORD;

    /// Only for destinations in which everything below binary32's least normal number rounds to zero, and everything
    /// above its greatest is out of range.
    #[inline(always)]
    fn sign_magnitude(self, l: L, bytes: &[u8]) -> SignMagnitude<L> {
        let high = l.load_u64(bytes)[1];
        let head = l.and_u32(self.numbers(l, bytes), l.splat_u32(!F32_SIGN));
        let bounded = l.min_i32(l.max_i32(head, l.splat_u32(F64_LEAST)), l.splat_u32(F64_GREATEST));
        // The 20 bits of significand become 23. The last of the 20 is the sticky bit.
        let rebias = Hub::F64_HIGH_WORD.bias - Hub::F32.bias;
        let magnitude = l.shl_u32::<3>(l.sub_u32(bounded, l.splat_u32(rebias << Hub::F64_HIGH_WORD.man)));
        let is_nan = l.narrow_mask(l.greater_i32(head, l.splat_u32((F64_INFINITY >> 32) as u32)));
        SignMagnitude { magnitude, sign: l.narrow_signs(high), is_nan }
    }

    #[inline(always)]
    fn numbers(self, l: L, bytes: &[u8]) -> L::U32 {
        let [low, high] = l.load_u64(bytes);
        l.or_u32(high, l.min_u32(low, 1))
    }

    #[inline(always)]
    fn integers(self, l: L, bytes: &[u8]) -> L::U32 {
        l.f64_to_i32(bytes)
    }
}

/// Integers of 8 to 64 bits. With `ODD`, they are rounded to odd. Without it, an integer with a magnitude of
/// [`BOUND`](super::lanes::BOUND) or more gives some number with a magnitude of `BOUND` or more.
#[derive(Clone, Copy)]
pub(crate) struct Int<const BITS: usize, const SIGNED: bool, const ODD: bool>;

impl<const BITS: usize, const SIGNED: bool, const ODD: bool> Source for Int<BITS, SIGNED, ODD> {
    const BITS: usize = BITS;
    const SIGNED: bool = SIGNED;
    const NANS: bool = false;
}

impl<L: Lanes, const BITS: usize, const SIGNED: bool, const ODD: bool> Truncates<L> for Int<BITS, SIGNED, ODD> {
    /// The low bits.
    #[inline(always)]
    fn truncated(self, l: L, bytes: &[u8], mask: u16) -> L::U16 {
        match BITS {
            8 => masked(l, l.load_u8(bytes), mask),
            16 => masked(l, l.load_u16(bytes), mask),
            32 => low_bits(l, l.load_u32(bytes), mask),
            _ => low_bits(l, l.load_u64(bytes)[0], mask),
        }
    }
}

impl<L: Lanes, const BITS: usize, const SIGNED: bool, const ODD: bool> Numbers<L> for Int<BITS, SIGNED, ODD> {
    #[inline(always)]
    fn sign_magnitude(self, l: L, bytes: &[u8]) -> SignMagnitude<L> {
        if BITS > 16 {
            return sign_magnitude_of(l, self.numbers(l, bytes));
        }
        let codes = l.load_u16(bytes);
        let magnitude = if SIGNED { l.abs_i16(codes) } else { codes };
        let magnitude = l.i32_to_f32(l.unpack(magnitude, l.splat_u16(0)));
        // The mask has no lane: integers have no NaN.
        SignMagnitude { magnitude, sign: codes, is_nan: l.equal_u16(l.splat_u16(0), l.splat_u16(1)) }
    }

    #[inline(always)]
    fn numbers(self, l: L, bytes: &[u8]) -> L::U32 {
        match (BITS, ODD) {
            (16, _) => {
                let codes = l.load_u16(bytes);
                let zero = l.splat_u16(0);
                let sign = if SIGNED { l.select_u16(l.negative_u16(codes), l.splat_u16(0xffff), zero) } else { zero };
                l.i32_to_f32(l.unpack(codes, sign))
            }
            (32, true) => l.u32_to_odd_f32::<SIGNED>(l.load_u32(bytes)),
            (32, false) => l.u32_to_bounded_f32::<SIGNED>(l.load_u32(bytes)),
            (_, true) => l.u64_to_odd_f32::<SIGNED>(bytes),
            (_, false) => l.u64_to_bounded_f32::<SIGNED>(bytes),
        }
    }
}

impl<const BITS: usize, const SIGNED: bool, const ODD: bool> Int<BITS, SIGNED, ODD> {
    /// The integers, limited to the range of 16 bits.
    #[inline(always)]
    pub(crate) fn in_16_bits<L: Lanes>(self, l: L, bytes: &[u8]) -> L::U16 {
        let words = match BITS {
            16 => return l.load_u16(bytes),
            32 => l.load_u32(bytes),
            _ => l.load_saturated_u64::<SIGNED>(bytes),
        };
        if SIGNED { l.narrow_saturated(words) } else { l.narrow(l.min_u32(words, u16::MAX.into())) }
    }
}

/// Signed floats of 8 bits. This source only truncates: for other destinations there are tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct F8 {
    man: u32,
    bias: u32,
    /// The magnitude code of the largest finite number.
    max: u16,
}

impl F8 {
    /// `None` for other formats.
    pub(crate) fn new(format: &FloatFormat) -> Option<Self> {
        let serves = format.bits() == 8 && format.is_signed();
        serves.then(|| Self { man: format.man_bits, bias: format.bias, max: format.max() as u16 })
    }
}

impl Source for F8 {
    const BITS: usize = 8;
}

impl<L: Lanes> Truncates<L> for F8 {
    #[inline(always)]
    fn truncated(self, l: L, bytes: &[u8], mask: u16) -> L::U16 {
        let codes = l.load_u8(bytes);
        let magnitude = l.and_u16(codes, l.splat_u16(0x7f));
        // The upper half of binary32. A subnormal gives some number below 1, whose integer part is 0 too.
        let upper =
            l.add_u16(l.shl_u16(magnitude, 7 - self.man), l.splat_u16((F32_BIAS as u16 - self.bias as u16) << 7));
        let size = l.narrow(l.f32_to_i32(l.unpack(l.splat_u16(0), upper)));
        let is_special = l.greater_u16(magnitude, l.splat_u16(self.max));
        let value = l.negate_u16(l.select_u16(is_special, l.splat_u16(0), size), l.shl_u16(codes, 8));
        masked(l, value, mask)
    }
}

/// The bits of `mask` in 16-bit lanes.
#[inline(always)]
fn masked<L: Lanes>(l: L, a: L::U16, mask: u16) -> L::U16 {
    if mask == u16::MAX { a } else { l.and_u16(a, l.splat_u16(mask)) }
}

/// The bits of `mask` in 32-bit lanes, as 16-bit lanes.
#[inline(always)]
fn low_bits<L: Lanes>(l: L, a: L::U32, mask: u16) -> L::U16 {
    if L::DROPS_UPPER_BITS {
        return masked(l, l.narrow(a), mask);
    }
    l.narrow(l.and_u32(a, l.splat_u32(mask.into())))
}

/// The signs and magnitudes of binary32 numbers.
#[inline(always)]
fn sign_magnitude_of<L: Lanes>(l: L, numbers: L::U32) -> SignMagnitude<L> {
    let magnitude = l.and_u32(numbers, l.splat_u32(!F32_SIGN));
    SignMagnitude { magnitude, sign: l.narrow_signs(numbers), is_nan: l.narrow_mask(l.is_nan_f32(numbers)) }
}
