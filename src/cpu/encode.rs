//! Encoding by the machine's own floating point: the same results as the twins in `bits.rs`, in fewer instructions.
//!
//! Everything here is free of branches, so that no pattern of bits is slower than another. Rust's float operations
//! round to nearest, ties to even, and keep subnormals; only their NaNs are unspecified, and none of those is kept. All of this
//! relies on the default floating-point environment, as all Rust code does.

use crate::reference::{EncodeE8m0, EncodeFloat};

/// How a float is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By adding a power of two.
    Add,
    /// The bias is the hub's, so that no exponent changes: by shifting.
    Shift,
}

/// What becomes of the sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signs {
    /// It is the source's, NaN's too.
    Kept,
    /// There is no −0; the NaN is negative.
    NoNegativeZero,
    /// NaN has its own rule.
    Any,
}

impl Signs {
    pub(crate) fn new(to: &EncodeFloat) -> Self {
        match to.nan_keep {
            _ if to.fnuz => Self::NoNegativeZero,
            keep if keep == 1 << (to.bits - 1) && to.nan_flip == 0 => Self::Kept,
            _ => Self::Any,
        }
    }
}

macro_rules! hub {
    ($module:ident, $doc:literal, $word:ident, $int:ident, $float:ident, $man:literal, $bias:literal, $truncate:ident) => {
        #[doc = $doc]
        pub(crate) mod $module {
            use super::$truncate as truncated;
            use super::*;

            pub(crate) const SIGN: $word = 1 << ($word::BITS - 1);
            pub(crate) const INFINITY: $word = (2 * $bias + 1) << $man;
            pub(crate) const NAN: $word = INFINITY | 1 << ($man - 1);

            /// 2^-127.
            pub(crate) const LEAST_SCALE: $int = if $bias == 127 { 1 << ($man - 1) } else { ($bias - 127) << $man };

            /// The lesser and the greater of two words without their top bits. Vector instructions compare signed words.
            #[inline(always)]
            fn min(a: $word, b: $word) -> $word {
                (a as $int).min(b as $int) as $word
            }

            #[inline(always)]
            fn max(a: $word, b: $word) -> $word {
                (a as $int).max(b as $int) as $word
            }

            /// Whether a magnitude is that of a NaN.
            #[inline(always)]
            pub(crate) fn is_nan(magnitude: $word) -> bool {
                magnitude as $int > INFINITY as $int
            }

            /// The same number; NaN becomes the canonical one, sign kept.
            #[inline(always)]
            pub(crate) fn canonical(x: $word) -> $word {
                if <$float>::from_bits(x).is_nan() { NAN | x & SIGN } else { x }
            }

            /// A hub number in two parts: its magnitude, and what has its sign as the top bit.
            #[inline(always)]
            pub(crate) fn parts(x: $word) -> [$word; 2] {
                [x & !SIGN, x]
            }

            /// And back.
            #[inline(always)]
            pub(crate) fn join([magnitude, sign]: [$word; 2]) -> $word {
                magnitude | sign & SIGN
            }

            /// `encode_float`'s numbers, made ready.
            #[derive(Clone, Copy, Debug)]
            pub(crate) struct Rounding {
                /// The number whose code is that of everything out of range: larger ones count as it.
                pub limit: $word,
                /// Exponent field of the destination's least normal number.
                pub least: $word,
                /// Added to an exponent field: the number whose last place is that of the destination's significand.
                pub raise: $word,
                pub down: u32,
                pub nan: $word,
                /// What NaN keeps of the sign, and what is inverted of it then.
                pub keep: $word,
                pub flip: $word,
                sign_code: $word,
                sign_shift: u32,
                pub way: Way,
                pub signs: Signs,
            }

            impl Rounding {
                /// `None` where neither way serves.
                pub(crate) fn new(to: &EncodeFloat) -> Option<Self> {
                    let rebias = <$word>::from(($bias as u32).checked_sub(to.bias)?);
                    let down = $man - to.man;
                    let raise = <$word>::from(down) << $man;
                    // Rounding makes the code of out of range of all that is larger than `max`, if it is the next one.
                    if to.overflow != to.max && to.overflow != to.max + 1 {
                        return None;
                    }
                    let limit = (<$word>::from(to.overflow) << down) + (rebias << $man);
                    let way = match (rebias, (limit & INFINITY) + raise < INFINITY) {
                        (0, _) => Way::Shift,
                        (_, true) => Way::Add,
                        // The addition would meet infinities.
                        (_, false) => return None,
                    };
                    Some(Self {
                        limit,
                        least: (rebias + 1) << $man,
                        raise,
                        down,
                        nan: to.nan.into(),
                        keep: to.nan_keep.into(),
                        flip: to.nan_flip.into(),
                        sign_code: 1 << (to.bits - 1),
                        sign_shift: <$word>::BITS - to.bits,
                        way,
                        signs: Signs::new(to),
                    })
                }

                /// The code of a hub number in two parts, of which `sign` has the sign as its top bit: one rounding to
                /// nearest, ties to even.
                #[inline(always)]
                pub(crate) fn code<const WAY: u8, const SIGNS: u8>(&self, [magnitude, sign]: [$word; 2]) -> $word {
                    let bounded = min(magnitude, self.limit);
                    let code = if WAY == Way::Shift as u8 { self.shift(bounded) } else { self.add(bounded) };
                    let code = if is_nan(magnitude) { self.nan } else { code };
                    let sign = sign >> self.sign_shift & self.sign_code;
                    let sign = if SIGNS == Signs::Any as u8 && is_nan(magnitude) {
                        sign & self.keep ^ self.flip
                    } else if SIGNS == Signs::NoNegativeZero as u8 && code == 0 {
                        0
                    } else {
                        sign
                    };
                    code | sign
                }

                #[inline(always)]
                fn add(&self, magnitude: $word) -> $word {
                    let exponent = max(magnitude & INFINITY, self.least);
                    // A power of two is added whose last place is the destination's, so that the processor rounds
                    // there; the sum's last bits are then the significand, the implicit bit included.
                    let unit = exponent.wrapping_add(self.raise);
                    let sum = (<$float>::from_bits(magnitude) + <$float>::from_bits(unit)).to_bits();
                    sum.wrapping_sub(unit).wrapping_add(exponent.wrapping_sub(self.least) >> self.down)
                }

                /// As the twin's `round_shift`.
                #[inline(always)]
                fn shift(&self, magnitude: $word) -> $word {
                    let odd = magnitude >> self.down & 1;
                    let half = (1 << (self.down - 1)) - 1;
                    magnitude.wrapping_add(half).wrapping_add(odd) >> self.down
                }
            }

            /// `encode_scale`'s numbers.
            #[derive(Clone, Copy, Debug)]
            pub(crate) struct Scale {
                pub low: $word,
                pub high: $word,
                pub nan: $word,
                pub round: $word,
                /// The largest number that rounds to 2^-127, where both are subnormal; of no use from binary64.
                pub least: $word,
            }

            impl Scale {
                pub(crate) fn new(to: &EncodeE8m0) -> Self {
                    // What is all ones stays all ones.
                    let ones = ((1 << ($man - 23)) - 1) * <$word>::from(to.round & 1);
                    let round = <$word>::from(to.round) << ($man - 23) | ones;
                    let least = LEAST_SCALE as $word + ((1 << 23) - <$word>::from(to.round)).div_ceil(2) - 1;
                    Self { low: to.low.into(), high: to.high.into(), nan: to.nan.into(), round, least }
                }

                /// The code of a hub number.
                #[inline(always)]
                pub(crate) fn code(&self, x: $word) -> $word {
                    let code = x.wrapping_sub(($bias - 127) << $man).wrapping_add(self.round) >> $man;
                    // A binary32 subnormal is not of the form that is rounded so; the codes of all of them are 0 and 1.
                    let code = if $bias == 127 && x as $int <= self.least as $int { 0 } else { code };
                    let code = if x as $int > ($bias + 127) << $man { self.high } else { code };
                    let code = if (x as $int) < LEAST_SCALE { self.low } else { code };
                    if is_nan(x & !SIGN) { self.nan } else { code }
                }
            }

            /// Truncated to 32 bits; `fail` where that does not fit.
            #[inline(always)]
            pub(crate) fn int([magnitude, sign]: [$word; 2], fail: u32) -> u32 {
                let fits = (magnitude as $int) < ($bias + 31) << $man;
                if fits { truncated([magnitude, sign]) as u32 } else { fail }
            }

            /// Truncated to the nearest integer from `-below` to `above`; 0 for NaN.
            #[inline(always)]
            pub(crate) fn clamped([magnitude, sign]: [$word; 2], below: i32, above: i32) -> u32 {
                // From 2^30 on, every number is as large as any bound.
                let bounded = min(magnitude, ($bias + 30) << $man);
                let value = truncated([bounded, sign]).max(-below).min(above);
                if is_nan(magnitude) { 0 } else { value as u32 }
            }
        }
    };
}

hub!(single, "From binary32.", u32, i32, f32, 23, 127, truncate_single);
hub!(double, "From binary64.", u64, i64, f64, 52, 1023, truncate_double);

/// binary32 to binary64; NaN becomes the canonical one.
#[inline(always)]
pub(crate) fn widen(x: u32) -> u64 {
    let wide = f64::from(f32::from_bits(x));
    let nan = double::NAN | u64::from(x & single::SIGN) << 32;
    if wide.is_nan() { nan } else { wide.to_bits() }
}

/// binary64 to binary32: one rounding; NaN becomes the canonical one.
#[inline(always)]
pub(crate) fn narrow(x: u64) -> u32 {
    let narrow = f64::from_bits(x) as f32;
    let nan = single::NAN | (x >> 32) as u32 & single::SIGN;
    if narrow.is_nan() { nan } else { narrow.to_bits() }
}

/// `encode_float`'s numbers for integers, which are neither subnormal nor NaN nor −0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole {
    /// As [`single::Rounding`]'s.
    limit: u32,
    /// 2^(the destination's bias − 127): the product with 1 has the destination's exponent field.
    unit: u32,
    down: u32,
    /// The code of exponent field 0.
    base: u32,
    sign_code: u32,
    sign_shift: u32,
}

impl Whole {
    /// Integers from here on are out of every such destination's range.
    pub(crate) const BOUND: u32 = 1 << 24;

    /// `None` where 1 is subnormal or exponents do not fit binary32's.
    pub(crate) fn new(to: &EncodeFloat) -> Option<Self> {
        let rebias = 127u32.checked_sub(to.bias)?;
        let down = 23 - to.man;
        (to.bias >= 1 && (to.overflow == to.max || to.overflow == to.max + 1)).then(|| Self {
            limit: (to.overflow << down) + (rebias << 23),
            unit: (127 - rebias) << 23,
            down,
            base: rebias << to.man,
            sign_code: 1 << (to.bits - 1),
            sign_shift: 32 - to.bits,
        })
    }

    /// The code of an integer that needs no rounding.
    #[inline(always)]
    pub(crate) fn exact<const SIGNED: bool>(&self, x: i32) -> u32 {
        // The exponent becomes the destination's, and the code lies in the upper bits; 0 stays 0.
        let scaled = (x as f32 * f32::from_bits(self.unit)).to_bits();
        if SIGNED {
            (scaled & !single::SIGN) >> self.down | scaled >> self.sign_shift & self.sign_code
        } else {
            scaled >> self.down
        }
    }

    /// Whether an integer may be rounded at 24 bits first, since all that are so large are out of range.
    pub(crate) fn bounded(&self) -> bool {
        self.limit <= (Self::BOUND as f32).to_bits()
    }

    /// The code of an integer in binary32 bits.
    #[inline(always)]
    pub(crate) fn code<const SIGNED: bool>(&self, x: u32) -> u32 {
        let magnitude = if SIGNED { x & !single::SIGN } else { x };
        let bounded = (magnitude as i32).min(self.limit as i32) as u32;
        // As the twin's `round_shift`.
        let odd = bounded >> self.down & 1;
        let half = (1 << (self.down - 1)) - 1;
        let code = bounded.wrapping_add(half).wrapping_add(odd) >> self.down;
        // Below 0 there is only what became of 0.
        let code = (code as i32 - self.base as i32).max(0) as u32;
        if SIGNED { code | x >> self.sign_shift & self.sign_code } else { code }
    }
}

/// The integer part of a binary32 number below 2^31; of others, anything.
#[inline(always)]
fn truncate_single([magnitude, sign]: [u32; 2]) -> i32 {
    // The leading bit at the top, then down to its place; below 1 there is no such place.
    let down = 158u32.wrapping_sub(magnitude >> 23);
    let significand = magnitude << 8 | 1 << 31;
    let size = if down < 32 { significand >> (down & 31) } else { 0 };
    negated(size, sign)
}

/// All ones where negative: complement and one more.
#[inline(always)]
fn negated(size: u32, sign: u32) -> i32 {
    let negative = (sign as i32 >> 31) as u32;
    (size ^ negative).wrapping_sub(negative) as i32
}

/// The integer part of a binary64 number below 2^32, modulo 2^32; of others, anything.
#[inline(always)]
fn truncate_double([magnitude, sign]: [u64; 2]) -> i32 {
    const UNIT: f64 = (1u64 << 52) as f64;
    let size = f64::from_bits(magnitude);
    // The last place of the sum is 1: it is the nearest integer, which may be the next one.
    let sum = size + UNIT;
    let over = u64::from(sum - UNIT > size);
    negated(sum.to_bits().wrapping_sub(over) as u32, (sign >> 32) as u32)
}

/// The integer part of a binary64 number below 2^64; of others, anything.
#[inline(always)]
fn truncate_long([magnitude, sign]: [u64; 2]) -> u64 {
    let significand = magnitude & ((1 << 52) - 1) | 1 << 52;
    let place = magnitude >> 52;
    let right = 1075u64.wrapping_sub(place);
    let left = place.wrapping_sub(1075);
    let small = if right < 64 { significand >> (right & 63) } else { 0 };
    let size = if left < 64 { significand << (left & 63) } else { small };
    let negative = (sign as i64 >> 63) as u64;
    (size ^ negative).wrapping_sub(negative)
}

/// `encode_int`'s result for 32 bits that are the low ones of a 64-bit integer.
#[inline(always)]
pub(crate) fn single_low_word([magnitude, sign]: [u32; 2]) -> u32 {
    let place = magnitude >> 23;
    let (down, up) = (158u32.wrapping_sub(place), place.wrapping_sub(158));
    let significand = magnitude << 8 | 1 << 31;
    let small = if down < 32 { significand >> (down & 31) } else { 0 };
    let size = if up < 32 { significand << (up & 31) } else { small };
    if (magnitude as i32) < (127 + 63) << 23 { negated(size, sign) as u32 } else { 0 }
}

/// The same from binary64.
#[inline(always)]
pub(crate) fn low_word([magnitude, sign]: [u64; 2]) -> u32 {
    if (magnitude as i64) < (1023 + 63) << 52 { truncate_long([magnitude, sign]) as u32 } else { 0 }
}

/// `encode_long`'s result.
#[inline(always)]
pub(crate) fn long<const SIGNED: bool>(x: u64) -> u64 {
    let magnitude = (x & !double::SIGN) as i64;
    let least = SIGNED || (x as i64) < 0 || double::is_nan(magnitude as u64);
    let fail = if least { 1 << 63 } else { 0 };
    let limit = if least { (1023 + 63) << 52 } else { (1023 + 64) << 52 };
    if magnitude < limit { truncate_long(double::parts(x)) } else { fail }
}

/// `encode_int`'s result in 16 bits, or the low ones of it, for the upper half of a binary32 number.
#[inline(always)]
pub(crate) fn upper_int16(code: u16) -> u16 {
    // The leading bit at the top, then down to its place; of larger numbers the last one at the bottom, then up. What
    // does not fit gives 0, as places beyond the word do.
    let place = code >> 7 & 0xff;
    let (down, up) = (142u16.wrapping_sub(place), place.wrapping_sub(134));
    let small = if down < 16 { (code << 8 | 1 << 15) >> (down & 15) } else { 0 };
    let large = if up < 16 { (code & 0x7f | 0x80) << (up & 15) } else { 0 };
    let negative = (code as i16 >> 15) as u16;
    ((small | large) ^ negative).wrapping_sub(negative)
}
