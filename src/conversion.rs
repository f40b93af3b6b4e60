//! What a pair of element types and the options come to: one decode and one encode, with their numbers.
//!
//! Both the CPU path and the kernels are made from this; nothing after it looks at element types or options to find out
//! what a code means.

use crate::bits::{self, DecodeFloat, EncodeFloat, EncodeInt, EncodeScale, Hub, Pair, Steps};
use crate::element::{ElementType, Kind};
use crate::error::Error;
use crate::format::{FloatFormat, Specials};
use crate::options::{CastOptions, Float4Nan, Int4Overflow, RoundMode};

/// Source code to value. The value is carried as: an integer of one or two words, binary32 bits, or binary64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Decode {
    Bool,
    Int {
        bits: u32,
        signed: bool,
    },
    Long {
        signed: bool,
    },
    Float(DecodeFloat),
    Scale {
        nan: u32,
    },
    Single,
    Double,
    /// A float of at most 16 bits that is its own hub.
    Own,
}

/// Value to destination code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Encode {
    /// The source's code as it is: same type, or integers of the same width.
    Copy,
    /// The source's code, with ±∞ to ±max: E5M2 to itself with `saturate`.
    ClampInfinity {
        infinity: u32,
        bits: u32,
    },
    Float(EncodeFloat),
    Scale(EncodeScale),
    Single,
    Double,
    Int(EncodeInt),
    Long {
        signed: bool,
    },
    Bool,
}

/// How the decoded value is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Carrier {
    Int { signed: bool },
    Long { signed: bool },
    Single,
    Double,
}

/// The rule for one pair and one set of options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Conversion {
    pub from: ElementType,
    pub to: ElementType,
    pub decode: Decode,
    pub encode: Encode,
}

/// Whether `from` can be cast to `to`. This is true for every pair of element types and all options. The ONNX types
/// that Cast does not support (UNDEFINED and the complex types) are not in [`ElementType`].
///
/// If [`has_kernel`] is false, the cast is always done on the CPU.
pub const fn can_cast(_from: ElementType, _to: ElementType) -> bool {
    true
}

/// Whether there is a GPU kernel for `from` to `to`. This is true for every pair of numeric element types; strings are
/// cast on the CPU.
pub const fn has_kernel(from: ElementType, to: ElementType) -> bool {
    from.is_numeric() && to.is_numeric()
}

impl Conversion {
    /// The rule for `from` to `to`.
    ///
    /// # Errors
    /// [`Error::NoKernel`] where [`has_kernel`] is false.
    pub(crate) fn new(from: ElementType, to: ElementType, options: &CastOptions) -> Result<Self, Error> {
        let strings = Error::NoKernel { from, to };
        let decode = match (from.kind(), from.code_bits()) {
            (Kind::Bool, _) => Decode::Bool,
            (Kind::Int { signed }, 64) => Decode::Long { signed },
            (Kind::Int { signed }, bits) => Decode::Int { bits, signed },
            (Kind::Float(format), _) if !format.is_signed() => Decode::Scale { nan: nan(&format) },
            (Kind::Float(_), 32) => Decode::Single,
            (Kind::Float(_), 64) => Decode::Double,
            (Kind::Float(format), _) if within(&format, to) => Decode::Own,
            (Kind::Float(format), _) => Decode::Float(DecodeFloat::new(&format, needs_subnormals(&format, to))),
            (Kind::String, _) => return Err(strings),
        };
        let encode = match (to.kind(), to.code_bits()) {
            _ if from == to && from.kind() != Kind::Bool => same_type(to, options),
            (Kind::Int { .. }, bits) if matches!(from.kind(), Kind::Int { .. }) && from.code_bits() == bits => {
                Encode::Copy
            }
            (Kind::Bool, _) => Encode::Bool,
            (Kind::Int { signed }, 64) => Encode::Long { signed },
            (Kind::Int { signed }, bits) => Encode::Int(float_to_int(bits, signed, options)),
            (Kind::Float(format), _) if !format.is_signed() => Encode::Scale(to_scale(&format, options)),
            (Kind::Float(_), 32) => Encode::Single,
            (Kind::Float(_), 64) => Encode::Double,
            (Kind::Float(format), _) => {
                let hub = match from.kind() {
                    Kind::Float(own) if decode == Decode::Own => Hub::new(&own),
                    _ if decode == Decode::Double => Hub::DOUBLE_HEAD,
                    _ => Hub::BINARY32,
                };
                Encode::Float(to_float(&format, hub, options))
            }
            (Kind::String, _) => return Err(strings),
        };
        Ok(Self { from, to, decode, encode })
    }

    /// How the value is carried between decode and encode.
    pub(crate) fn carrier(&self) -> Carrier {
        match self.decode {
            Decode::Bool => Carrier::Int { signed: false },
            Decode::Int { signed, .. } => Carrier::Int { signed },
            Decode::Long { signed } => Carrier::Long { signed },
            Decode::Float(_) | Decode::Scale { .. } | Decode::Single | Decode::Own => Carrier::Single,
            Decode::Double => Carrier::Double,
        }
    }

    /// Whether the destination codes are the source codes.
    pub(crate) fn is_copy(&self) -> bool {
        self.encode == Encode::Copy
    }

    /// Whether the source is FLOAT16, which integers, E8M0 and BOOL are made from without a hub.
    pub(crate) fn is_from_half(&self) -> bool {
        self.from == ElementType::FLOAT16
    }

    /// The steps from 16 bits to a float of eight magnitudes: kernels can take them for eight codes at once.
    pub(crate) fn steps(&self) -> Option<Steps> {
        let to = match self.encode {
            Encode::Float(to) if self.from.code_bits() == 16 && to.bits == 4 => to,
            _ => return None,
        };
        // No lower for a higher magnitude, NaN included, which has the sign or all ones.
        let code = |magnitude| match self.decode {
            Decode::Own => bits::encode_float(magnitude, &to),
            _ => bits::integer_to_float(0, magnitude, 0, &to),
        };
        let least = |index: usize| {
            let short = |magnitude| code(magnitude) <= index as u32;
            let highest = (0..15).rev().map(|bit| 1 << bit).fold(0, |m, bit| if short(m | bit) { m | bit } else { m });
            highest + 1
        };
        let least_nan = match self.from.kind() {
            Kind::Float(format) => format.top() as u32 + 1,
            _ => 0,
        };
        Some(Steps { least: std::array::from_fn(least), least_nan, nan_flip: to.nan_flip != 0 })
    }

    /// Casts codes in place: `low` holds the low words, `high` the high words of 64-bit codes. What lies above a
    /// destination code's width is undefined; `high` counts only for 64-bit destinations.
    pub(crate) fn convert(&self, low: &mut [u32], high: &mut [u32]) {
        match self.encode {
            Encode::Copy => return,
            Encode::ClampInfinity { infinity, bits } => {
                return each(low, |code| bits::clamp_infinity(code, infinity, bits));
            }
            _ => {}
        }
        if self.is_from_half() {
            match self.encode {
                Encode::Int(to) => return each(low, |code| bits::encode_int(bits::split_half(code), &to)),
                Encode::Scale(to) => return each(low, |code| bits::half_to_scale(code, &to)),
                Encode::Bool => return each(low, bits::half_is_nonzero),
                _ => {}
            }
        }
        match self.decode {
            Decode::Bool => each(low, bits::decode_bool),
            Decode::Int { bits, signed: true } => each(low, |code| bits::decode_int(code, bits, true)),
            Decode::Int { bits, signed: false } => each(low, |code| bits::decode_int(code, bits, false)),
            Decode::Float(from) => each(low, |code| bits::decode_float(code, &from)),
            Decode::Scale { nan } => each(low, |code| bits::decode_scale(code, nan)),
            Decode::Long { .. } | Decode::Single | Decode::Double | Decode::Own => {}
        }
        match self.carrier() {
            Carrier::Int { signed } => self.encode_int(low, high, signed),
            Carrier::Long { signed } => self.encode_long(low, high, signed),
            Carrier::Single => self.encode_single(low, high),
            Carrier::Double => self.encode_double(low, high),
        }
    }

    fn encode_int(&self, low: &mut [u32], high: &mut [u32], signed: bool) {
        let magnitude = |value, f: fn(u32, u32, u32) -> u32| {
            let (sign, low) = bits::split_int(value, signed);
            f(sign, low, 0)
        };
        match self.encode {
            Encode::Float(to) => each(low, |v| {
                let (sign, low) = bits::split_int(v, signed);
                bits::integer_to_float(sign, low, 0, &to)
            }),
            Encode::Scale(to) => each(low, |v| {
                let positive = if signed { v as i32 > 0 } else { v != 0 };
                bits::integer_to_scale(positive, v, 0, &to)
            }),
            Encode::Single => each(low, |v| magnitude(v, bits::integer_to_single)),
            Encode::Double => pairs(low, high, |[v, _]| {
                let (sign, low) = bits::split_int(v, signed);
                bits::integer_to_double(sign, low, 0)
            }),
            Encode::Long { .. } => pairs(low, high, |[v, _]| [v, if signed { (v as i32 >> 31) as u32 } else { 0 }]),
            Encode::Bool => each(low, |v| (v != 0) as u32),
            Encode::Int(_) | Encode::Copy | Encode::ClampInfinity { .. } => {}
        }
    }

    fn encode_long(&self, low: &mut [u32], high: &mut [u32], signed: bool) {
        let magnitude = |value, f: fn(u32, u32, u32) -> u32| {
            let (sign, [low, high]) = bits::split_long(value, signed);
            f(sign, low, high)
        };
        match self.encode {
            Encode::Float(to) => words(low, high, |v| {
                let (sign, [low, high]) = bits::split_long(v, signed);
                bits::integer_to_float(sign, low, high, &to)
            }),
            Encode::Scale(to) => words(low, high, |[low, high]| {
                let positive = (low | high) != 0 && !(signed && high >> 31 != 0);
                bits::integer_to_scale(positive, low, high, &to)
            }),
            Encode::Single => words(low, high, |v| magnitude(v, bits::integer_to_single)),
            Encode::Double => pairs(low, high, |v| {
                let (sign, [low, high]) = bits::split_long(v, signed);
                bits::integer_to_double(sign, low, high)
            }),
            Encode::Bool => words(low, high, |[low, high]| (low | high != 0) as u32),
            Encode::Int(_) | Encode::Long { .. } | Encode::Copy | Encode::ClampInfinity { .. } => {}
        }
    }

    fn encode_single(&self, low: &mut [u32], high: &mut [u32]) {
        match self.encode {
            Encode::Float(to) => each(low, |v| bits::encode_float(v, &to)),
            Encode::Scale(to) => each(low, |v| bits::encode_scale(v, &to)),
            Encode::Double => pairs(low, high, |[v, _]| bits::single_to_double(v)),
            Encode::Int(to) => each(low, |v| bits::encode_int(bits::split_single(v), &to)),
            Encode::Long { signed } => pairs(low, high, |[v, _]| bits::encode_long(bits::split_single(v), signed)),
            Encode::Bool => each(low, bits::single_is_nonzero),
            Encode::Single => each(low, bits::canonical_nan),
            Encode::Copy | Encode::ClampInfinity { .. } => {}
        }
    }

    fn encode_double(&self, low: &mut [u32], high: &mut [u32]) {
        match self.encode {
            Encode::Float(to) => words(low, high, |v| bits::encode_float(bits::double_head(v), &to)),
            Encode::Scale(to) => words(low, high, |v| bits::head_to_scale(bits::double_head(v), &to)),
            Encode::Single => words(low, high, bits::double_to_single),
            Encode::Int(to) => words(low, high, |v| bits::encode_int(bits::split_double(v), &to)),
            Encode::Long { signed } => pairs(low, high, |v| bits::encode_long(bits::split_double(v), signed)),
            Encode::Bool => words(low, high, bits::double_is_nonzero),
            Encode::Double | Encode::Copy | Encode::ClampInfinity { .. } => {}
        }
    }
}

#[inline]
fn each(low: &mut [u32], f: impl Fn(u32) -> u32) {
    low.iter_mut().for_each(|word| *word = f(*word));
}

#[inline]
fn words(low: &mut [u32], high: &[u32], f: impl Fn(Pair) -> u32) {
    low.iter_mut().zip(high).for_each(|(low, &high)| *low = f([*low, high]));
}

#[inline]
fn pairs(low: &mut [u32], high: &mut [u32], f: impl Fn(Pair) -> Pair) {
    low.iter_mut().zip(high).for_each(|(low, high)| [*low, *high] = f([*low, *high]));
}

/// Whether any subnormal of a source format makes a difference: not to integers, nor to a float of which half the least
/// subnormal is no less than the source's least normal number.
pub(crate) fn needs_subnormals(from: &FloatFormat, to: ElementType) -> bool {
    match to.kind() {
        Kind::Int { .. } => false,
        Kind::Float(format) if format.is_signed() => format.bias + format.man_bits >= from.bias,
        _ => true,
    }
}

/// Whether a float of 16 bits, or one of fewer without special codes, is rounded to a destination float from its own
/// format, without going through binary32: the destination's significand is shorter, and its subnormals either all come
/// from normal numbers or lie as the source's, or at most two exponents lower.
fn within(from: &FloatFormat, to: ElementType) -> bool {
    let Kind::Float(format) = to.kind() else { return false };
    let narrows = format.is_signed() && format.man_bits < from.man_bits;
    let plain = from.bits() == 16 || from.specials == Specials::Finite;
    let aligned = (from.bias..=from.bias + 2).contains(&format.bias);
    narrows && plain && (aligned || format.bias < from.bias && !needs_subnormals(from, to))
}

/// A bit copy, but that Cast's table for E5M2 sends ±∞ to ±max with `saturate` from any float, E5M2 included.
fn same_type(to: ElementType, options: &CastOptions) -> Encode {
    match to.kind() {
        Kind::Float(format) if options.saturate && looks_at_saturate(&format) => match format.infinity() {
            Some(infinity) => Encode::ClampInfinity { infinity: infinity as u32, bits: format.bits() },
            None => Encode::Copy,
        },
        _ => Encode::Copy,
    }
}

/// Cast's `saturate` speaks of the signed eight-bit floats that have a NaN (E8M0: see `to_scale`).
fn looks_at_saturate(format: &FloatFormat) -> bool {
    format.bits() == 8 && format.is_signed() && format.has_nan()
}

fn to_float(format: &FloatFormat, hub: Hub, options: &CastOptions) -> EncodeFloat {
    let sign_code = format.sign_code() as u32;
    let max = format.max() as u32;
    let saturates = format.specials == Specials::Finite || options.saturate && looks_at_saturate(format);
    // Out of range without saturation: infinity where it exists, else NaN.
    let beyond = format.infinity().or(format.nan()).map_or(max, |code| code as u32);
    let (nan, nan_keep, nan_flip) = match (format.nan(), options.float4_nan) {
        (Some(nan), _) if nan as u32 == sign_code => (sign_code, 0, 0),
        (Some(nan), _) => (nan as u32, sign_code, 0),
        (None, Float4Nan::Max) if format.bits() == 4 => (max, 0, 0),
        (None, _) => (0, sign_code, sign_code),
    };
    EncodeFloat {
        hub,
        bits: format.bits(),
        man: format.man_bits,
        bias: format.bias,
        max,
        overflow: if saturates { max } else { beyond },
        nan,
        nan_keep,
        nan_flip,
        fnuz: format.specials == Specials::NegativeZeroNan,
    }
}

/// The canonical NaN of a format that has one.
fn nan(format: &FloatFormat) -> u32 {
    format.nan().unwrap_or_default() as u32
}

fn to_scale(format: &FloatFormat, options: &CastOptions) -> EncodeScale {
    let nan = nan(format);
    EncodeScale {
        low: if options.saturate { 0 } else { nan },
        high: if options.saturate { format.max() as u32 } else { nan },
        nan,
        round: match options.round_mode {
            RoundMode::Up => 0x007f_ffff,
            RoundMode::Down => 0,
            RoundMode::Nearest => 0x0040_0000,
        },
    }
}

fn float_to_int(bits: u32, signed: bool, options: &CastOptions) -> EncodeInt {
    let clamp = match (bits, options.int4_overflow, signed) {
        (4, Int4Overflow::Clamp, true) => Some((1 << (bits - 1), (1 << (bits - 1)) - 1)),
        (4, Int4Overflow::Clamp, false) => Some((0, (1 << bits) - 1)),
        _ => None,
    };
    EncodeInt { fail: if bits == 32 && signed { 0x8000_0000 } else { 0 }, wide: bits == 32 && !signed, clamp }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight codes at once are what they are one by one: each code, in each half of a word.
    #[test]
    fn steps_lead_where_the_conversion_does() {
        let sources = [ElementType::FLOAT16, ElementType::BFLOAT16, ElementType::INT16, ElementType::UINT16];
        for (from, nan) in sources.into_iter().flat_map(|from| [(from, Float4Nan::default()), (from, Float4Nan::Max)]) {
            let options = CastOptions::default().with_float4_nan(nan);
            let conversion = Conversion::new(from, ElementType::FLOAT4E2M1, &options).unwrap();
            let steps = conversion.steps().expect("from 16 bits to eight magnitudes");
            let signed = match conversion.carrier() {
                Carrier::Int { signed } => Some(signed),
                _ => None,
            };
            for code in 0..=0xffff {
                let codes = std::array::from_fn(|i| (code + 0x2345 * i as u32) & 0xffff);
                let [a, b, c, d, e, f, g, h] = codes;
                let words = [a | b << 16, c | d << 16, e | f << 16, g | h << 16];
                let mut expected: [u32; 8] = codes;
                conversion.convert(&mut expected, &mut []);
                let got = bits::convert_eight(words, signed, &steps);
                let got = std::array::from_fn(|i| (got >> (4 * i)) & 15);
                assert_eq!(got, expected.map(|code| code & 15), "{from}, {codes:x?}, {options:?}");
            }
        }
    }
}
