//! An independent oracle of every numeric cast: given a source code, the one code that the target
//! must hold.
//!
//! It shares nothing with the crate, neither code nor method. Every source code is decoded to an exact dyadic number.
//! The result follows from that number only:
//!
//! * to a float of at most 16 bits, by binary search over the exact midpoints of all finite values of the target, which
//!   are enumerated once;
//! * to `float` and `double`, by exact division with remainder;
//! * to an integer, by exact truncation in `i128`.
//!
//! Sources of the rules: the ONNX operators Cast and CastLike (19 for the `saturate` tables of the
//! 8-bit floats, 24 for E8M0 and its `round_mode`, 28 for the 6-bit floats), IEEE 754, and the OCP
//! specifications for the 8-bit (OFP8) and microscaling (MX) formats. Where these leave a result
//! open, the rule is stated in words next to the code.

/// The `round_mode` attribute (ONNX Cast 24), which only E8M0 looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    Up,
    Down,
    Nearest,
}

/// What a cast depends on in addition to the two types and the value.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The `saturate` attribute.
    pub saturate: bool,
    pub round_mode: Round,
    /// ONNX Cast 21 and 23: a float out of the range of int4 or uint4 is clamped to it.
    pub int4_clamp: bool,
    /// ONNX Cast 23: NaN becomes +6 in float4e2m1.
    pub float4_nan_max: bool,
}

/// The numeric ONNX element types, one in each row. The numbers of the floats are those of IEEE 754, OFP8 and MX:
/// widths of the exponent and of the mantissa, bias, and the codes with a meaning of their own.
const TYPES: &[(&str, Kind)] = &[
    ("bool", Kind::Bool),
    ("int2", int(2, true)),
    ("int4", int(4, true)),
    ("int8", int(8, true)),
    ("int16", int(16, true)),
    ("int32", int(32, true)),
    ("int64", int(64, true)),
    ("uint2", int(2, false)),
    ("uint4", int(4, false)),
    ("uint8", int(8, false)),
    ("uint16", int(16, false)),
    ("uint32", int(32, false)),
    ("uint64", int(64, false)),
    ("float16", float(5, 10, 15, Special::Ieee)),
    ("bfloat16", float(8, 7, 127, Special::Ieee)),
    ("float", float(8, 23, 127, Special::Ieee)),
    ("double", float(11, 52, 1023, Special::Ieee)),
    ("float8e4m3fn", float(4, 3, 7, Special::TopIsNan)),
    ("float8e4m3fnuz", float(4, 3, 8, Special::NegativeZeroIsNan)),
    ("float8e5m2", float(5, 2, 15, Special::Ieee)),
    ("float8e5m2fnuz", float(5, 2, 16, Special::NegativeZeroIsNan)),
    ("float8e8m0", Kind::Scale),
    ("float6e2m3", float(2, 3, 1, Special::Nothing)),
    ("float6e3m2", float(3, 2, 3, Special::Nothing)),
    ("float4e2m1", float(2, 1, 1, Special::Nothing)),
];

const fn int(bits: u32, signed: bool) -> Kind {
    Kind::Int { bits, signed }
}

const fn float(exponent: u32, mantissa: u32, bias: i32, special: Special) -> Kind {
    Kind::Float(Format { exponent, mantissa, bias, special })
}

/// The names of the numeric ONNX element types.
pub fn names() -> impl Iterator<Item = &'static str> {
    TYPES.iter().map(|(name, _)| *name)
}

/// The width of one code of the type; a bool is a byte.
pub fn bits(name: &str) -> u32 {
    kind(name).bits()
}

/// The oracle of one pair of types under one set of rules.
pub struct Oracle {
    from: Kind,
    target: Target,
}

impl Oracle {
    pub fn new(from: &str, to: &str, rules: Rules) -> Self {
        let target = if from == to {
            Target::Same { saturate: rules.saturate }
        } else {
            match kind(to) {
                Kind::Bool => Target::Bool,
                Kind::Int { bits, signed } => Target::Int { bits, signed, clamp: rules.int4_clamp },
                Kind::Scale => Target::Scale { saturate: rules.saturate, round: rules.round_mode },
                Kind::Float(format) => Target::Float(FloatTarget::new(format, rules)),
            }
        };
        Oracle { from: kind(from), target }
    }

    /// The code (in the low bits) that casting `code` must give. Bits of `code` above the width of
    /// the source type are ignored.
    pub fn expected(&self, code: u64) -> u64 {
        let code = low_bits(code, self.from.bits());
        match &self.target {
            Target::Same { saturate } => same_type(self.from, code, *saturate),
            Target::Bool => u64::from(self.from.decode(code).size != Size::Zero),
            Target::Int { bits, signed, clamp } => {
                let x = self.from.decode(code);
                match self.from {
                    // Integers, and bool as 0 or 1: higher bits are discarded.
                    Kind::Bool | Kind::Int { .. } => low_bits(truncated(x) as u64, *bits),
                    _ => float_to_int(x, *bits, *signed, *clamp),
                }
            }
            Target::Scale { saturate, round } => to_scale(self.from.decode(code), *saturate, *round),
            Target::Float(target) => target.encode(self.from.decode(code)),
        }
    }
}

enum Target {
    Same { saturate: bool },
    Bool,
    Int { bits: u32, signed: bool, clamp: bool },
    Scale { saturate: bool, round: Round },
    Float(FloatTarget),
}

fn low_bits(code: u64, bits: u32) -> u64 {
    code & (u64::MAX >> (64 - bits))
}

// ---- Exact numbers ----

/// The exact value `significand * 2^(log2 - 63)`, where the top bit of the significand is set. So `log2` is the floor
/// of the binary logarithm, and the derived order is the order of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Dyadic {
    log2: i32,
    significand: u64,
}

impl Dyadic {
    /// `integer * 2^exponent` of a nonzero integer.
    fn new(integer: u64, exponent: i32) -> Self {
        let zeros = integer.leading_zeros();
        Dyadic { log2: exponent + 63 - zeros as i32, significand: integer << zeros }
    }

    /// The value divided by `2^exponent`, which must be a small integer.
    fn units(self, exponent: i32) -> u64 {
        let units = (u128::from(self.significand) << (self.log2 - exponent)) >> 63;
        assert_eq!(Dyadic::new(units as u64, exponent), self);
        units as u64
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Zero,
    Finite(Dyadic),
    Infinite,
    Nan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Number {
    negative: bool,
    size: Size,
}

impl Number {
    fn finite(negative: bool, integer: u64, exponent: i32) -> Self {
        let size = match integer {
            0 => Size::Zero,
            _ => Size::Finite(Dyadic::new(integer, exponent)),
        };
        Number { negative, size }
    }
}

// ---- Types ----

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Int {
        bits: u32,
        signed: bool,
    },
    /// E8M0 of OCP MX: `2^(code - 127)`, `ff` is NaN; neither sign nor zero nor infinity.
    Scale,
    Float(Format),
}

/// A float type with sign, exponent and mantissa fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    exponent: u32,
    mantissa: u32,
    bias: i32,
    special: Special,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Special {
    /// The topmost exponent holds infinity and NaNs.
    Ieee,
    /// No infinity; only the topmost magnitude is NaN ("fn").
    TopIsNan,
    /// No infinity, no negative zero; the code of negative zero is the only NaN ("fnuz").
    NegativeZeroIsNan,
    /// Finite numbers only.
    Nothing,
}

pub fn kind(name: &str) -> Kind {
    let row = TYPES.iter().find(|row| row.0 == name);
    row.unwrap_or_else(|| panic!("no numeric type is called {name}: add its row to TYPES in {}", file!())).1
}

impl Kind {
    fn bits(self) -> u32 {
        match self {
            Kind::Bool | Kind::Scale => 8,
            Kind::Int { bits, .. } => bits,
            Kind::Float(format) => format.sign_bit() + 1,
        }
    }

    fn decode(self, code: u64) -> Number {
        match self {
            Kind::Bool => Number::finite(false, u64::from(code != 0), 0),
            Kind::Int { bits, signed } => {
                let weight = 1i128 << bits;
                let value = i128::from(code);
                let negative = signed && 2 * value >= weight;
                let value = if negative { value - weight } else { value };
                Number::finite(negative, value.unsigned_abs() as u64, 0)
            }
            Kind::Scale if code == 0xff => Number { negative: false, size: Size::Nan },
            Kind::Scale => Number::finite(false, 1, code as i32 - 127),
            Kind::Float(format) => format.decode(code),
        }
    }
}

impl Format {
    fn sign_bit(self) -> u32 {
        self.exponent + self.mantissa
    }

    /// The exponent of the unit in the last place of the subnormals.
    fn least_unit(self) -> i32 {
        1 - self.bias - self.mantissa as i32
    }

    fn decode(self, code: u64) -> Number {
        let sign = 1u64 << self.sign_bit();
        let negative = code >= sign;
        let magnitude = code % sign;
        let implicit_one = 1u64 << self.mantissa;
        let exponent = magnitude / implicit_one;
        let fraction = magnitude % implicit_one;
        let top_exponent = (1u64 << self.exponent) - 1;
        let size = match self.special {
            Special::Ieee if exponent == top_exponent && fraction == 0 => Size::Infinite,
            Special::Ieee if exponent == top_exponent => Size::Nan,
            Special::TopIsNan if magnitude == sign - 1 => Size::Nan,
            // This NaN has its sign bit set, and counts as negative.
            Special::NegativeZeroIsNan if code == sign => Size::Nan,
            _ if exponent == 0 => return Number::finite(negative, fraction, self.least_unit()),
            _ => {
                let unit = self.least_unit() + exponent as i32 - 1;
                return Number::finite(negative, implicit_one + fraction, unit);
            }
        };
        Number { negative, size }
    }
}

// ---- Floats as targets ----

/// The code of NaN in a target.
enum NanCode {
    /// This magnitude with the sign of the source: a quiet NaN whose payload is dropped.
    Signed(u64),
    /// A format without NaN holds zero with the *inverted* sign, as official test data has it since
    /// ONNX 1.19.
    InvertedZero,
    /// This code, whatever the sign is.
    Always(u64),
}

struct FloatTarget {
    format: Format,
    nan: NanCode,
    /// The code for infinity and for each number that rounds beyond the greatest finite value, without its sign.
    overflow: u64,
    /// `None` for the types that are too wide to enumerate.
    nearest: Option<Nearest>,
}

impl FloatTarget {
    fn new(format: Format, rules: Rules) -> Self {
        let sign = 1u64 << format.sign_bit();
        let infinity = ((1u64 << format.exponent) - 1) << format.mantissa;
        let quiet = 1u64 << (format.mantissa - 1);
        // Only the 8-bit floats look at `saturate`.
        let saturate = rules.saturate && format.sign_bit() == 7;
        let (greatest, unbounded, nan) = match format.special {
            Special::Ieee => (infinity - 1, infinity, NanCode::Signed(infinity + quiet)),
            Special::TopIsNan => (sign - 2, sign - 1, NanCode::Signed(sign - 1)),
            Special::NegativeZeroIsNan => (sign - 1, sign, NanCode::Always(sign)),
            // No code is left for infinity, so these saturate in any case.
            Special::Nothing if format.sign_bit() == 3 && rules.float4_nan_max => {
                (sign - 1, sign - 1, NanCode::Always(sign - 1))
            }
            Special::Nothing => (sign - 1, sign - 1, NanCode::InvertedZero),
        };
        FloatTarget {
            format,
            nan,
            overflow: if saturate { greatest } else { unbounded },
            nearest: (format.sign_bit() < 16).then(|| Nearest::new(format, greatest)),
        }
    }

    fn encode(&self, x: Number) -> u64 {
        let sign = 1u64 << self.format.sign_bit();
        let magnitude = match x.size {
            Size::Nan => match self.nan {
                NanCode::Signed(magnitude) => magnitude,
                NanCode::InvertedZero => return if x.negative { 0 } else { sign },
                NanCode::Always(code) => return code,
            },
            Size::Infinite => self.overflow,
            Size::Zero => 0,
            Size::Finite(size) => match &self.nearest {
                Some(nearest) => nearest.find(size),
                None => divide(self.format, size),
            }
            .unwrap_or(self.overflow),
        };
        let unsigned_zero = self.format.special == Special::NegativeZeroIsNan;
        if x.negative && !(magnitude == 0 && unsigned_zero) {
            // An overflow to the NaN of a "fnuz" type has this bit already.
            magnitude | sign
        } else {
            magnitude
        }
    }
}

/// All nonnegative finite values of a small format, for rounding to the nearest of them. Their
/// codes ascend with the values, from 0.
struct Nearest {
    /// The exact midpoint of the values of codes `i` and `i + 1`. For this purpose, the greatest value is followed by
    /// the value that would be next with an unbounded exponent: a number overflows when its rounding with the mantissa
    /// width of the target exceeds the greatest finite value.
    midpoints: Vec<Dyadic>,
    /// The midpoints of each binade, from the binade of the first midpoint on.
    binades: Vec<std::ops::Range<usize>>,
}

impl Nearest {
    fn new(format: Format, greatest: u64) -> Self {
        let value = |code| match format.decode(code) {
            Number { negative: false, size: Size::Finite(value) } => value,
            other => panic!("code {code:x} of {format:?} is {other:?}"),
        };
        // Neighbours are added in units of the last place of the lesser one. In these units, both are small integers.
        let mut midpoints = vec![Dyadic::new(1, format.least_unit() - 1)];
        for code in 1..=greatest {
            let low = value(code);
            let unit = low.log2 - format.mantissa as i32;
            let unit = unit.max(format.least_unit());
            let next = if code < greatest { value(code + 1).units(unit) } else { low.units(unit) + 1 };
            midpoints.push(Dyadic::new(low.units(unit) + next, unit - 1));
        }
        assert!(midpoints.is_sorted_by(|a, b| a < b));
        let first = midpoints[0].log2;
        let binades = (first..=midpoints[midpoints.len() - 1].log2)
            .map(|log2| {
                let from = midpoints.partition_point(|m| m.log2 < log2);
                from..midpoints.partition_point(|m| m.log2 <= log2)
            })
            .collect();
        Nearest { midpoints, binades }
    }

    /// The code of the nearest value, or the even code of two that are equally near; `None` beyond the greatest value.
    fn find(&self, size: Dyadic) -> Option<u64> {
        let above_first = size.log2 - self.midpoints[0].log2;
        if above_first < 0 {
            return Some(0);
        }
        let binade = self.binades.get(above_first as usize)?.clone();
        let below = self.midpoints[binade.clone()].partition_point(|m| *m < size);
        let code = binade.start + below;
        let tie = self.midpoints.get(code) == Some(&size);
        // The last bit of a code is that of its mantissa.
        let code = if tie && code % 2 == 1 { code + 1 } else { code };
        (code < self.midpoints.len()).then_some(code as u64)
    }
}

/// The code of the nearest value of a wide IEEE 754 format, or the even code of two that are equally near; `None`
/// beyond the greatest value.
fn divide(format: Format, size: Dyadic) -> Option<u64> {
    let implicit_one = 1u128 << format.mantissa;
    let mut unit = (size.log2 - format.mantissa as i32).max(format.least_unit());
    // size = significand * 2^(log2 - 63) = significand / divisor * 2^unit
    let shift = unit - (size.log2 - 63);
    // Numbers below half the least unit round to 0, whatever their distance to it.
    if shift > 65 {
        return Some(0);
    }
    let divisor = 1u128 << shift;
    let significand = u128::from(size.significand);
    let mut quotient = significand / divisor;
    let twice_remainder = 2 * (significand % divisor);
    if twice_remainder > divisor || (twice_remainder == divisor && quotient % 2 == 1) {
        quotient += 1;
    }
    if quotient == 2 * implicit_one {
        quotient = implicit_one;
        unit += 1;
    }
    if quotient < implicit_one {
        return Some(quotient as u64);
    }
    let exponent = (unit - format.least_unit() + 1) as u64;
    let fraction = (quotient - implicit_one) as u64;
    let infinite = exponent >= (1u64 << format.exponent) - 1;
    (!infinite).then_some((exponent << format.mantissa) + fraction)
}

/// ONNX Cast 24, the table of E8M0, line by line.
fn to_scale(x: Number, saturate: bool, round: Round) -> u64 {
    let (least, greatest) = (Dyadic::new(1, -127), Dyadic::new(1, 127));
    let (below, above) = if saturate { (0, 0xfe) } else { (0xff, 0xff) };
    let size = match x.size {
        Size::Nan => return 0xff,
        // Numbers that are not positive are below the least value, too.
        _ if x.negative => return below,
        Size::Zero => return below,
        Size::Infinite => return above,
        Size::Finite(size) if size < least => return below,
        // The table compares the number itself, not its rounding.
        Size::Finite(size) if size > greatest => return above,
        Size::Finite(size) => size,
    };
    let power = Dyadic::new(1, size.log2);
    let midpoint = Dyadic::new(3, size.log2 - 1);
    let up = match round {
        Round::Up => size != power,
        Round::Down => false,
        Round::Nearest => size >= midpoint,
    };
    (size.log2 + 127 + i32::from(up)) as u64
}

// ---- Integers as targets ----

/// A finite number without its fraction. A number beyond the range of every integer type becomes an integer that is
/// beyond them, too, with the same sign.
fn truncated(x: Number) -> i128 {
    let Size::Finite(size) = x.size else {
        assert_eq!(x.size, Size::Zero);
        return 0;
    };
    let size = match size.log2 {
        ..0 => 0,
        log2 @ 0..=64 => ((u128::from(size.significand) << log2) >> 63) as i128,
        _ => 1 << 100,
    };
    if x.negative { -size } else { size }
}

/// A float is truncated towards zero. ONNX leaves open what a float out of range becomes. The rule here is that of
/// ONNX's own test data for the types of 2 and 4 bits, and of the reference implementation and ONNX Runtime on x86-64
/// for the others.
fn float_to_int(x: Number, bits: u32, signed: bool, clamp: bool) -> u64 {
    let (two_31, two_63, two_64) = (1i128 << 31, 1i128 << 63, 1i128 << 64);
    let whole = match x.size {
        Size::Nan => None,
        Size::Infinite if x.negative => Some(-two_64),
        Size::Infinite => Some(two_64),
        _ => Some(truncated(x)),
    };
    let result = match (bits, signed, whole) {
        (4, true, Some(whole)) if clamp => whole.clamp(-8, 7),
        (4, false, Some(whole)) if clamp => whole.clamp(0, 15),
        // The low bits of a value in the range of int32, and 0 for all others.
        (..=16, _, Some(whole)) if (-two_31..two_31).contains(&whole) => whole,
        (..=16, _, _) => 0,
        // The least value stands for all values out of range.
        (32, true, Some(whole)) if (-two_31..two_31).contains(&whole) => whole,
        (32, true, _) => -two_31,
        (64, true, Some(whole)) if (-two_63..two_63).contains(&whole) => whole,
        (64, true, _) => -two_63,
        // The low bits of a value in the range of int64, and 0 for all others.
        (32, false, Some(whole)) if (-two_63..two_63).contains(&whole) => whole,
        (32, false, _) => 0,
        // The low bits of a value from −2^63 up to the range of uint64, and 0 above it. Below −2^63, and for NaN, the
        // result is 2^63.
        (64, false, Some(whole)) if (-two_63..two_64).contains(&whole) => whole,
        (64, false, Some(whole)) if whole > 0 => 0,
        (64, false, _) => two_63,
        _ => unreachable!("no integer type has {bits} bits"),
    };
    low_bits(result as u64, bits)
}

// ---- The same type ----

/// The bits are copied, NaN payloads included, with two exceptions.
fn same_type(kind: Kind, code: u64, saturate: bool) -> u64 {
    let infinite = kind.decode(code).size == Size::Infinite;
    match kind {
        // Each nonzero byte is true.
        Kind::Bool => u64::from(code != 0),
        // The `saturate` table of E5M2 (ONNX Cast 19) makes infinity the greatest finite value.
        _ if kind.bits() == 8 && infinite && saturate => code - 1,
        _ => code,
    }
}
