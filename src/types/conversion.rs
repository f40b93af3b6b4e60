//! The rule for a pair of element types and a set of options: one decode and one encode, with their parameters.
//!
//! The CPU path and the kernels are both made from this rule. Code below this layer does not look at element types or
//! options to find out what a code means.

mod codes;
mod convert;

use crate::bits::format::{FloatFormat, Specials};
use crate::bits::reference::{self, DecodeFloat, EncodeE8m0, EncodeFloat, EncodeInt, Hub, Integer, Thresholds};
use crate::types::element::{ElementType, Kind};
use crate::types::error::{CastFault, Error};
use crate::types::options::{CastOptions, Float4Nan, Int4Overflow, RoundMode};

/// From source code to value. The value is carried as an integer of one or two words, as binary32 bits, as binary64
/// bits, or, with `Own`, as the source's own code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Decode {
    Bool,
    Int {
        bits: u32,
        signed: bool,
    },
    Int64 {
        signed: bool,
    },
    Float(DecodeFloat),
    E8m0 {
        nan: u32,
    },
    F32,
    F64,
    /// A float of at most 16 bits that is its own hub.
    Own,
}

/// From value to destination code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Encode {
    /// The source's code, unchanged: for the same type, or for integers of the same width.
    Copy,
    /// The source's code, with ±∞ replaced by ±max: E5M2 to itself with `saturate`.
    ClampInfinity {
        infinity: u32,
        bits: u32,
    },
    Float(EncodeFloat),
    E8m0(EncodeE8m0),
    F32,
    F64,
    Int(EncodeInt),
    Int64 {
        signed: bool,
    },
    Bool,
}

/// How the decoded value is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Carrier {
    Int { signed: bool },
    Int64 { signed: bool },
    F32,
    F64,
}

/// The rule for one pair and one set of options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Conversion {
    pub from: ElementType,
    pub to: ElementType,
    pub decode: Decode,
    pub encode: Encode,
}

/// Whether there is a GPU kernel for `from` to `to`. This is true for every pair of numeric element types; strings are
/// cast on the CPU, which casts every pair of element types. The ONNX types that Cast does not support (UNDEFINED and the
/// complex types) are not in [`ElementType`].
pub const fn has_kernel(from: ElementType, to: ElementType) -> bool {
    from.is_numeric() && to.is_numeric()
}

impl Conversion {
    /// An error of this cast.
    pub(crate) fn error(&self, cause: CastFault) -> Error {
        Error::cast(self.from, self.to, cause)
    }

    /// The rule for `from` to `to`.
    ///
    /// # Errors
    /// [`CastFault::NoKernel`] where [`has_kernel`] is false.
    pub(crate) fn new(from: ElementType, to: ElementType, options: &CastOptions) -> Result<Self, Error> {
        let strings = || Error::cast(from, to, CastFault::NoKernel);
        let decode = match (from.kind(), from.code_bits()) {
            (Kind::Bool, _) => Decode::Bool,
            (Kind::Int { signed }, 64) => Decode::Int64 { signed },
            (Kind::Int { signed }, bits) => Decode::Int { bits, signed },
            (Kind::Float(format), _) if !format.is_signed() => Decode::E8m0 { nan: nan(&format) },
            (Kind::Float(_), 32) => Decode::F32,
            (Kind::Float(_), 64) => Decode::F64,
            (Kind::Float(format), _) if within(&format, to) => Decode::Own,
            (Kind::Float(format), _) => Decode::Float(DecodeFloat::new(&format, needs_subnormals(&format, to))),
            (Kind::String, _) => return Err(strings()),
        };
        let encode = match (to.kind(), to.code_bits()) {
            _ if from == to && from.kind() != Kind::Bool => same_type(to, options),
            (Kind::Int { .. }, bits) if matches!(from.kind(), Kind::Int { .. }) && from.code_bits() == bits => {
                Encode::Copy
            }
            (Kind::Bool, _) => Encode::Bool,
            (Kind::Int { signed }, 64) => Encode::Int64 { signed },
            (Kind::Int { signed }, bits) => Encode::Int(float_to_int(bits, signed, options)),
            (Kind::Float(format), _) if !format.is_signed() => Encode::E8m0(to_e8m0(&format, options)),
            (Kind::Float(_), 32) => Encode::F32,
            (Kind::Float(_), 64) => Encode::F64,
            (Kind::Float(format), _) => {
                let hub = match from.kind() {
                    Kind::Float(own) if decode == Decode::Own => Hub::new(&own),
                    _ if decode == Decode::F64 => Hub::F64_HIGH_WORD,
                    _ => Hub::F32,
                };
                let mut to = to_float(&format, hub, options);
                // Only integer and BOOL sources read `integers`. Computing it takes longer than the rest of this
                // function.
                if !matches!(from.kind(), Kind::Float(_)) {
                    to.integers = integers(&to);
                }
                Encode::Float(to)
            }
            (Kind::String, _) => return Err(strings()),
        };
        Ok(Self { from, to, decode, encode })
    }

    /// How the value is carried between decode and encode.
    pub(crate) fn carrier(&self) -> Carrier {
        match self.decode {
            Decode::Bool => Carrier::Int { signed: false },
            Decode::Int { signed, .. } => Carrier::Int { signed },
            Decode::Int64 { signed } => Carrier::Int64 { signed },
            Decode::Float(_) | Decode::E8m0 { .. } | Decode::F32 | Decode::Own => Carrier::F32,
            Decode::F64 => Carrier::F64,
        }
    }

    /// Whether the destination codes are the source codes.
    pub(crate) fn is_copy(&self) -> bool {
        self.encode == Encode::Copy
    }

    /// Whether the destination's codes are the source's, apart from ±∞ where `ClampInfinity` replaces it.
    pub(crate) fn keeps_codes(&self) -> bool {
        matches!(self.encode, Encode::Copy | Encode::ClampInfinity { .. })
    }

    /// Whether a number beyond the destination's range becomes the destination's largest or least number.
    pub(crate) fn saturates(&self) -> bool {
        match self.encode {
            Encode::ClampInfinity { .. } => true,
            Encode::Float(to) => to.overflow == to.max,
            Encode::E8m0(to) => to.high != to.nan,
            Encode::Int(to) => to.clamp.is_some() && matches!(self.from.kind(), Kind::Float(_)),
            Encode::Copy | Encode::F32 | Encode::F64 | Encode::Int64 { .. } | Encode::Bool => false,
        }
    }

    /// Whether a 16-bit float is converted to an integer, to E8M0 or to BOOL without binary32 in between. BFLOAT16 is
    /// excluded: it is the upper half of a binary32, so decoding it is one shift.
    pub(crate) fn is_direct(&self) -> bool {
        let Decode::Float(from) = self.decode else { return false };
        let suits = from.bits == 16 && from.ieee && from.bias != Hub::F32.bias;
        suits && matches!(self.encode, Encode::Int(_) | Encode::E8m0(_) | Encode::Bool)
    }

    /// The thresholds between the codes of the destination, with which kernels convert eight codes at once. They exist
    /// if the source has 16 bits and the destination has 4 bits whose eight magnitudes are all numbers.
    pub(crate) fn thresholds(&self) -> Option<Thresholds> {
        let Encode::Float(to) = self.encode else { return None };
        if self.from.code_bits() != 16 || to.bits != 4 || [to.max, to.overflow] != [7; 2] {
            return None;
        }
        // `code` never falls as the magnitude rises. A NaN's code is that of the largest number here; kernels replace
        // it.
        let (code, least_nan): (&dyn Fn(u32) -> u32, _) = match (self.decode, self.from.kind()) {
            (Decode::Own, Kind::Float(format)) => {
                let top = format.top() as u32;
                (&move |magnitude: u32| to.encode(magnitude.min(top)), top + 1)
            }
            (Decode::Int { .. }, _) => {
                (&|magnitude| reference::integer_to_float(Integer { sign: 0, low: magnitude, high: 0 }, &to), 0)
            }
            _ => return None,
        };
        // Finds, bit by bit, the largest magnitude below 2^15 whose code is at most `index`.
        let short = |magnitude, index| code(magnitude) <= index as u32;
        let highest =
            |index| (0..15).rev().map(|bit| 1 << bit).fold(0, |m, bit| m | if short(m | bit, index) { bit } else { 0 });
        let least = std::array::from_fn(|index| highest(index) + 1);
        // `split_lanes` halves magnitudes from 2^15 on, so every threshold must be at most 2^14.
        let within = self.carrier() != Carrier::Int { signed: false } || least[6] <= 1 << 14;
        within.then_some(Thresholds { least, least_nan, nan_flip: to.nan_flip != 0 })
    }
}

/// Whether any subnormal of a source format makes a difference in the result. None does for an integer. None does for a
/// float either if half of that float's least subnormal is at least the source's least normal number: then all
/// subnormals round to zero.
pub(crate) fn needs_subnormals(from: &FloatFormat, to: ElementType) -> bool {
    match to.kind() {
        Kind::Int { .. } => false,
        Kind::Float(format) if format.is_signed() => format.bias + format.man_bits >= from.bias,
        _ => true,
    }
}

/// Whether a float is rounded to a destination float from its own format, without binary32 in between. The source must
/// have 16 bits, or fewer and no special codes. The destination's significand must be shorter. Its subnormals must all
/// come from normal numbers of the source, or its least exponent must be the source's or at most two lower.
fn within(from: &FloatFormat, to: ElementType) -> bool {
    let Kind::Float(format) = to.kind() else { return false };
    let narrows = format.is_signed() && format.man_bits < from.man_bits;
    let plain = from.bits() == 16 || from.specials == Specials::Finite;
    let aligned = (from.bias..=from.bias + 2).contains(&format.bias);
    narrows && plain && (aligned || format.bias < from.bias && !needs_subnormals(from, to))
}

/// The codes are copied. The exception is FLOAT8E5M2 with `saturate`: by Cast's table ±∞ becomes ±max from every float,
/// including FLOAT8E5M2.
fn same_type(to: ElementType, options: &CastOptions) -> Encode {
    match to.kind() {
        Kind::Float(format) if options.saturate && looks_at_saturate(&format) => match format.infinity() {
            Some(infinity) => Encode::ClampInfinity { infinity: infinity as u32, bits: format.bits() },
            None => Encode::Copy,
        },
        _ => Encode::Copy,
    }
}

/// Cast's `saturate` applies to the signed eight-bit floats that have a NaN. For E8M0, see `to_e8m0`.
fn looks_at_saturate(format: &FloatFormat) -> bool {
    format.bits() == 8 && format.is_signed() && format.has_nan()
}

fn to_float(format: &FloatFormat, hub: Hub, options: &CastOptions) -> EncodeFloat {
    let sign_code = format.sign_code() as u32;
    let max = format.max() as u32;
    let saturates = format.specials == Specials::Finite || options.saturate && looks_at_saturate(format);
    // Without saturation, a value out of range becomes infinity if the format has one, else NaN.
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
        integers: 0,
    }
}

/// The codes of 0 to 7, four bits each, if every larger integer has the code of 7; otherwise 0.
fn integers(to: &EncodeFloat) -> u32 {
    let code = |low| reference::integer_to_float(Integer { sign: 0, low, high: 0 }, to);
    if to.bits == 4 && code(7) == code(u32::MAX) { (0..8).map(|i| code(i) << (4 * i)).sum() } else { 0 }
}

/// The canonical NaN of a format that has one.
fn nan(format: &FloatFormat) -> u32 {
    format.nan().unwrap_or_default() as u32
}

fn to_e8m0(format: &FloatFormat, options: &CastOptions) -> EncodeE8m0 {
    let nan = nan(format);
    EncodeE8m0 {
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
    use std::cmp::Ordering;

    use super::*;
    use crate::bits::reference::FloatMethod;
    use crate::types::element::{BINARY32, BINARY64};

    /// The properties that the functions and hubs assume of every row. A row without them needs its own functions.
    #[test]
    fn float_rows_are_of_a_kind_that_the_functions_support() {
        for t in ElementType::ALL {
            let Kind::Float(format) = t.kind() else { continue };
            match (format.is_signed(), format.bits()) {
                (false, _) => assert_eq!([format.exp_bits, format.man_bits, format.bias], [8, 0, 127], "{t}"),
                (true, 32) => assert_eq!(format, BINARY32, "{t}"),
                (true, 64) => assert_eq!(format, BINARY64, "{t}"),
                (true, bits) => {
                    assert!(bits <= 16 && format.man_bits <= 10, "{t}");
                    assert!((1..=127).contains(&format.bias), "{t}");
                    assert!(format.bias < 127 || (format.exp_bits, format.specials) == (8, Specials::Ieee), "{t}");
                }
            }
        }
        assert_eq!(Hub::F32, Hub::new(&BINARY32));
        let Hub { bits, man, bias, top } = Hub::F64_HIGH_WORD;
        assert_eq!((bits, man, bias), (32, BINARY64.man_bits - 32, BINARY64.bias));
        assert_eq!(u64::from(top), BINARY64.top() >> 32);
    }

    /// Where a shorter function for a lower bias is exact, the longer ones give the same results. So the results do not
    /// show which function is taken.
    #[test]
    fn floats_are_rounded_by_the_shortest_function() {
        use ElementType::{BFLOAT16, DOUBLE, FLOAT16};
        let floats = || ElementType::ALL.iter().copied().filter(|t| matches!(t.kind(), Kind::Float(_)));
        for (from, to) in floats().flat_map(|from| floats().map(move |to| (from, to))) {
            let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
            let Encode::Float(encode) = conversion.encode else { continue };
            let expected = match (encode.bias.cmp(&encode.hub.bias), from, to) {
                (Ordering::Equal, _, _) => FloatMethod::SameBias,
                (Ordering::Greater, _, _) => FloatMethod::HigherBias,
                // FLOAT16's significand of 11 bits does not fit in a word with that of binary32 or binary64.
                (_, _, FLOAT16) => FloatMethod::LowerBiasSticky,
                (_, DOUBLE, BFLOAT16) => FloatMethod::LowerBiasApart,
                _ => FloatMethod::LowerBias,
            };
            assert_eq!(encode.method(), expected, "{from} to {to}");
        }
    }

    /// Eight codes converted at once give the results of single conversions, for each code in each lane.
    #[test]
    fn eight_codes_at_once_are_what_they_are_one_by_one() {
        let of_bits = |bits| ElementType::ALL.iter().copied().filter(move |t| t.code_bits() == bits);
        let mut pairs = 0;
        for (from, to) in of_bits(16).flat_map(|from| of_bits(4).map(move |to| (from, to))) {
            for options in [Float4Nan::Zero, Float4Nan::Max].map(|nan| CastOptions::default().with_float4_nan(nan)) {
                let conversion = Conversion::new(from, to, &options).unwrap();
                let Some(thresholds) = conversion.thresholds() else { continue };
                pairs += 1;
                let signed = conversion.carrier() == Carrier::Int { signed: true };
                for code in 0..=0xffff {
                    let codes = std::array::from_fn(|i| (code + 0x2345 * i as u32) & 0xffff);
                    let [a, b, c, d, e, f, g, h] = codes;
                    let words = [a | b << 16, c | d << 16, e | f << 16, g | h << 16];
                    let mut expected: [u32; 8] = codes;
                    conversion.convert(&mut expected, &mut []);
                    let got = reference::convert_eight(words, signed, &thresholds);
                    let got = std::array::from_fn(|i| (got >> (4 * i)) & 15);
                    assert_eq!(got, expected.map(|code| code & 15), "{from}, {codes:x?}, {options:?}");
                }
            }
        }
        assert!(pairs >= 8, "float16, bfloat16, int16 and uint16 to float4e2m1, {pairs} sets in all");
    }

    #[test]
    fn what_keeps_its_codes_and_what_thresholds_decide() {
        use ElementType::*;
        let of = |from, to| Conversion::new(from, to, &CastOptions::default()).unwrap();
        for (from, to, keeps) in [(INT8, UINT8, true), (FLOAT8E5M2, FLOAT8E5M2, true), (INT8, INT16, false)] {
            assert_eq!(of(from, to).keeps_codes(), keeps, "{from} to {to}");
        }
        for from in [INT8, INT32, FLOAT6E2M3] {
            assert_eq!(of(from, FLOAT4E2M1).thresholds(), None, "{from}");
        }
    }
}
