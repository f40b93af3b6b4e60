//! What a cast loses: which values of the source the destination type cannot hold.
//!
//! Casts keep the order of values, so the values of one sign that are lost in one way are neighbours, and so are their
//! codes. [`Losses`] holds these ranges of codes. To count them, only the source codes are compared; the result is not
//! needed.

use crate::conversion::Conversion;
use crate::element::Kind;
use crate::format::{FloatFormat, Specials};

/// How many values a cast changed beyond rounding. An element is counted at most once.
///
/// Rounding to a neighbouring number is not counted, and neither is anything in a cast to BOOL, which is a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LossCounts {
    /// Finite values that became ±∞.
    pub infinite: u64,
    /// Numbers, ±∞ included, that became NaN.
    pub nan: u64,
    /// Values beyond the range of a float type, ±∞ included, that became its largest or least number.
    pub saturated: u64,
    /// Values beyond the range of an integer type, ±∞ included. ONNX leaves most of these results undefined; see
    /// [`docs::semantics`](crate::docs::semantics).
    pub out_of_range: u64,
    /// Values other than zero that became zero.
    pub zero: u64,
    /// Values that became subnormal and were not.
    pub subnormal: u64,
    /// NaNs that became numbers, because the type has no NaN.
    pub nan_to_number: u64,
}

impl LossCounts {
    /// The names and the counts, in the order of the fields.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let mut counts = *self;
        let counts: Vec<_> = counts.iter_mut().map(|(name, count)| (name, *count)).collect();
        counts.into_iter()
    }

    /// The number of values that are counted.
    pub fn total(&self) -> u64 {
        self.iter().map(|(_, count)| count).sum()
    }

    /// The number of values beyond the range of the type: those that became ±∞ or NaN, were saturated or are out of range.
    /// Infinities count where they did not stay infinite.
    pub fn overflowed(&self) -> u64 {
        self.infinite + self.nan + self.saturated + self.out_of_range
    }

    /// The names and the counts, in the order of the fields, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut u64)> {
        let Self { infinite, nan, saturated, out_of_range, zero, subnormal, nan_to_number } = self;
        let counts = [infinite, nan, saturated, out_of_range, zero, subnormal, nan_to_number];
        Loss::ALL.into_iter().map(Loss::name).zip(counts)
    }

    pub(crate) fn add(&mut self, loss: Loss, count: u64) {
        self.iter_mut().filter(|(name, _)| *name == loss.name()).for_each(|(_, field)| *field += count);
    }
}

impl std::ops::AddAssign for LossCounts {
    fn add_assign(&mut self, other: Self) {
        self.iter_mut().zip(other.iter()).for_each(|((_, count), (_, more))| *count += more);
    }
}

/// A way to lose a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    Infinite,
    Nan,
    Saturated,
    OutOfRange,
    Zero,
    Subnormal,
    NanToNumber,
}

impl Loss {
    const ALL: [Self; 7] =
        [Self::Infinite, Self::Nan, Self::Saturated, Self::OutOfRange, Self::Zero, Self::Subnormal, Self::NanToNumber];

    const fn name(self) -> &'static str {
        match self {
            Self::Infinite => "infinite",
            Self::Nan => "nan",
            Self::Saturated => "saturated",
            Self::OutOfRange => "out_of_range",
            Self::Zero => "zero",
            Self::Subnormal => "subnormal",
            Self::NanToNumber => "nan_to_number",
        }
    }
}

/// Source codes that are lost in one way: those whose bits of `mask` are from `first` to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LostCodes {
    pub loss: Loss,
    pub mask: u64,
    pub first: u64,
    pub last: u64,
}

/// The source codes that a cast loses; no code is in two ranges. There are none for casts to BOOL and for strings.
pub(crate) fn lost_codes(conversion: &Conversion) -> Vec<LostCodes> {
    let Some(to) = Destination::new(conversion) else { return Vec::new() };
    let source = match conversion.from.kind() {
        Kind::Float(format) => Source::Float(format),
        Kind::Int { signed } => Source::Int { bits: conversion.from.code_bits(), signed },
        Kind::Bool => Source::Bool,
        Kind::String => return Vec::new(),
    };
    let [positive, negative] = [false, true].map(|negative| {
        let Some(top) = source.top(negative) else { return Vec::new() };
        let phase = |magnitude| source.phase(magnitude, negative, &to);
        let mut ranges: Vec<(Loss, [u64; 2])> = Vec::new();
        let mut first = 0;
        loop {
            // Phases are in order, so the end of this one is found by bisection.
            let this = phase(first);
            let last = last_where(first, top, |magnitude| phase(magnitude) == this);
            match (to.loss(this), ranges.last_mut()) {
                (Some(loss), Some((before, [_, end]))) if loss == *before && *end + 1 == first => *end = last,
                (Some(loss), _) => ranges.push((loss, [first, last])),
                (None, _) => {}
            }
            if last == top {
                return ranges.into_iter().map(|(loss, range)| source.codes(loss, range, negative)).collect();
            }
            first = last + 1;
        }
    });
    let mut lost = positive;
    match source {
        // Where the sign makes no difference, one comparison serves both.
        Source::Float(format) if negative == lost.iter().map(|codes| codes.negated(&format)).collect::<Vec<_>>() => {
            lost.iter_mut().for_each(|codes| codes.mask = format.magnitude_mask());
        }
        _ => lost.extend(negative),
    }
    lost.extend(if to.has_nan() { None } else { source.nans() });
    lost
}

/// The last of the numbers from `first` to `last` for which `holds` holds; it holds for `first`, and not again after it
/// has failed.
fn last_where(first: u64, last: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut yes, mut beyond) = (first, u128::from(last) + 1);
    while beyond - u128::from(yes) > 1 {
        let middle = ((u128::from(yes) + beyond) / 2) as u64;
        if holds(middle) {
            yes = middle;
        } else {
            beyond = middle.into();
        }
    }
    yes
}

/// What becomes of a magnitude, from 0 upwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Below the least number of a type without zero.
    Below,
    /// Zero that stays zero.
    IsZero,
    ToZero,
    /// Subnormal before and after.
    IsSubnormal,
    ToSubnormal,
    Kept,
    Beyond,
    /// ±∞.
    Infinity,
}

/// The numbers of the source type.
#[derive(Clone, Copy, Debug)]
enum Source {
    Bool,
    Int { bits: u32, signed: bool },
    Float(FloatFormat),
}

impl Source {
    /// The largest magnitude of a sign, ∞ included, if the type has that sign. The codes of a float's magnitudes are in
    /// the order of the magnitudes.
    fn top(&self, negative: bool) -> Option<u64> {
        match (self, negative) {
            // Casts take every code other than 0 as 1, which every type holds.
            (Source::Bool, false) => Some(0),
            (Source::Int { bits, signed }, false) => Some(u64::MAX >> (64 - bits + u32::from(*signed))),
            (Source::Int { bits, signed: true }, true) => Some(1 << (bits - 1)),
            (Source::Float(format), false) => Some(format.top()),
            (Source::Float(format), true) if format.is_signed() => Some(format.top()),
            _ => None,
        }
    }

    fn phase(&self, magnitude: u64, negative: bool, to: &Destination) -> Phase {
        match (self, to) {
            (Source::Float(format), _) if format.infinity() == Some(magnitude) => Phase::Infinity,
            (Source::Float(format), _) => {
                let is_subnormal = format.is_signed() && magnitude >> format.man_bits == 0;
                to.phase(value(format, magnitude), is_subnormal, negative)
            }
            (_, Destination::Int { most, least, .. }) => {
                let limit = if negative { *least } else { *most };
                if magnitude > limit { Phase::Beyond } else { Phase::Kept }
            }
            // Rounding a large integer to binary64 does not take it past a limit: those of floats are below 2^53, or
            // above all integers.
            (_, Destination::Float { .. }) => to.phase(magnitude as f64, false, negative),
        }
    }

    /// The codes of a range of magnitudes.
    fn codes(&self, loss: Loss, [first, last]: [u64; 2], negative: bool) -> LostCodes {
        let (mask, first, last) = match self {
            Source::Bool => (0xff, first, last),
            // Two's complement. Of 0, which is not negative, nothing is lost.
            Source::Int { bits, .. } if negative => {
                let mask = u64::MAX >> (64 - bits);
                (mask, last.wrapping_neg() & mask, first.max(1).wrapping_neg() & mask)
            }
            Source::Int { bits, .. } => (u64::MAX >> (64 - bits), first, last),
            Source::Float(format) => {
                let sign = if negative { format.sign_code() } else { 0 };
                // The code that would be −0 is a NaN of some formats; nothing else is lost of a zero.
                let first = if negative && format.specials == Specials::NegativeZeroNan { first.max(1) } else { first };
                (format.sign_code() | format.magnitude_mask(), first | sign, last | sign)
            }
        };
        LostCodes { loss, mask, first, last }
    }

    /// The codes of NaNs, as a loss.
    fn nans(&self) -> Option<LostCodes> {
        let Source::Float(format) = self else { return None };
        let (mask, first) = match format.specials {
            Specials::Finite => return None,
            Specials::NegativeZeroNan => (format.sign_code() | format.magnitude_mask(), format.sign_code()),
            Specials::Ieee | Specials::TopCodeNan | Specials::Scale => (format.magnitude_mask(), format.top() + 1),
        };
        let last = if format.specials == Specials::NegativeZeroNan { first } else { mask };
        Some(LostCodes { loss: Loss::NanToNumber, mask, first, last })
    }
}

impl LostCodes {
    /// Whether a code is in the range.
    pub(crate) fn contains(&self, code: u64) -> bool {
        (self.first..=self.last).contains(&(code & self.mask))
    }

    /// The same range with the other sign.
    fn negated(&self, format: &FloatFormat) -> Self {
        Self { first: self.first | format.sign_code(), last: self.last | format.sign_code(), ..*self }
    }
}

/// The value of a magnitude code of a float, which binary64 always holds.
fn value(format: &FloatFormat, magnitude: u64) -> f64 {
    let power = |exponent: i32| 2f64.powi(exponent);
    let [man_bits, bias] = [format.man_bits, format.bias].map(|number| number as i32);
    if format.bits() == 64 {
        return f64::from_bits(magnitude);
    }
    let (exponent, significand) = ((magnitude >> man_bits) as i32, magnitude & ((1 << man_bits) - 1));
    match format.specials {
        Specials::Scale => power(exponent - bias),
        _ if exponent == 0 => significand as f64 * power(1 - bias - man_bits),
        _ => (significand | 1 << man_bits) as f64 * power(exponent - bias - man_bits),
    }
}

/// What the destination type holds.
#[derive(Clone, Copy, Debug)]
enum Destination {
    /// Magnitudes of at most `most`, or `least` below zero.
    Int {
        most: u64,
        least: u64,
        clamps: bool,
    },
    Float {
        format: FloatFormat,
        saturates: bool,
    },
}

impl Destination {
    /// `None` if nothing is ever counted.
    fn new(conversion: &Conversion) -> Option<Self> {
        let bits = conversion.to.code_bits();
        match conversion.to.kind() {
            Kind::Bool | Kind::String => None,
            // Every value of every type is one of binary64, but integers are rounded.
            Kind::Float(_) if bits == 64 => None,
            Kind::Float(format) => Some(Self::Float { format, saturates: conversion.saturates() }),
            Kind::Int { signed } => Some(Self::Int {
                most: u64::MAX >> (64 - bits + u32::from(signed)),
                least: if signed { 1 << (bits - 1) } else { 0 },
                clamps: conversion.saturates(),
            }),
        }
    }

    fn has_nan(&self) -> bool {
        matches!(self, Destination::Float { format, .. } if format.has_nan())
    }

    /// What becomes of a finite float.
    fn phase(&self, value: f64, is_subnormal: bool, negative: bool) -> Phase {
        match self {
            Destination::Int { .. } if value == 0.0 => Phase::IsZero,
            Destination::Int { .. } if value < 1.0 => Phase::ToZero,
            // Neither side is exact where the limit has 64 bits; then it is a power of two, or one less.
            Destination::Int { least, .. } if negative => within(value.trunc() <= *least as f64),
            Destination::Int { most, .. } => within(value.trunc() < (u128::from(*most) + 1) as f64),
            Destination::Float { format, .. } if !format.is_signed() => {
                if negative || value < self::value(format, 0) {
                    Phase::Below
                } else {
                    within(value <= self::value(format, format.max()))
                }
            }
            Destination::Float { format, .. } => {
                let least = self::value(format, 1);
                let normal = self::value(format, 1 << format.man_bits);
                if value == 0.0 {
                    Phase::IsZero
                } else if value <= least / 2.0 {
                    // The tie goes to zero, which is even.
                    Phase::ToZero
                } else if value < normal - least / 2.0 {
                    if is_subnormal { Phase::IsSubnormal } else { Phase::ToSubnormal }
                } else {
                    within(!overflows(format, value))
                }
            }
        }
    }

    /// The loss of a phase.
    fn loss(&self, phase: Phase) -> Option<Loss> {
        match (phase, self) {
            (Phase::IsZero | Phase::IsSubnormal | Phase::Kept, _) => None,
            (Phase::ToZero, _) => Some(Loss::Zero),
            (Phase::ToSubnormal, _) => Some(Loss::Subnormal),
            (_, Destination::Int { clamps: true, .. } | Destination::Float { saturates: true, .. }) => {
                Some(Loss::Saturated)
            }
            (_, Destination::Int { .. }) => Some(Loss::OutOfRange),
            (_, Destination::Float { format, .. }) if !format.has_infinity() => Some(Loss::Nan),
            (Phase::Infinity, _) => None,
            (Phase::Below | Phase::Beyond, _) => Some(Loss::Infinite),
        }
    }
}

fn within(is_within: bool) -> Phase {
    if is_within { Phase::Kept } else { Phase::Beyond }
}

/// Whether the value rounds, with an unbounded exponent, to a magnitude beyond the largest number.
fn overflows(format: &FloatFormat, value: f64) -> bool {
    let max = self::value(format, format.max());
    let below = self::value(format, format.max() - 1);
    let tie = max + (max - below) / 2.0;
    // The tie goes to the even significand, which is the largest number's own if its last bit is 0.
    if format.max() & 1 == 0 { value > tie } else { value >= tie }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ElementType;
    use crate::options::{CastOptions, Float4Nan, Int4Overflow, RoundMode};

    /// The loss of one code, from the code that the reference makes of it.
    fn loss_of(conversion: &Conversion, code: u64) -> Option<Loss> {
        let (mut low, mut high) = ([code as u32], [(code >> 32) as u32]);
        conversion.convert(&mut low, &mut high);
        let bits = conversion.to.code_bits();
        let result = (u64::from(low[0]) | u64::from(high[0]) << 32) & (u64::MAX >> (64 - bits));
        let source = number(conversion.from, code);
        let to = conversion.to.kind();
        let Some(x) = source else {
            return match to {
                Kind::Float(format) if format.has_nan() => None,
                Kind::Bool => None,
                _ => Some(Loss::NanToNumber),
            };
        };
        match to {
            Kind::Bool | Kind::String => None,
            Kind::Int { .. } => {
                let Some(y) = number(conversion.to, result) else { unreachable!("integers are numbers") };
                match x.trunc() == y {
                    true if y == 0.0 && x != 0.0 => Some(Loss::Zero),
                    true => None,
                    false if conversion.saturates() => Some(Loss::Saturated),
                    false => Some(Loss::OutOfRange),
                }
            }
            Kind::Float(format) => {
                let magnitude = result & format.magnitude_mask();
                let max = value(&format, format.max());
                match number(conversion.to, result) {
                    None => Some(Loss::Nan),
                    Some(y) if y.is_infinite() && x.is_finite() => Some(Loss::Infinite),
                    Some(y) if y.is_infinite() => None,
                    Some(_) if format.specials == Specials::Scale => {
                        (x < value(&format, 0) || x > max).then_some(Loss::Saturated)
                    }
                    // Beyond half a unit of the largest number's last place.
                    Some(y) if y.abs() == max && x.abs() - max > (max - value(&format, format.max() - 1)) / 2.0 => {
                        Some(Loss::Saturated)
                    }
                    // At half a unit, a number with an odd significand is no result of rounding.
                    Some(y)
                        if y.abs() == max
                            && format.max() & 1 == 1
                            && x.abs() - max == (max - value(&format, format.max() - 1)) / 2.0 =>
                    {
                        Some(Loss::Saturated)
                    }
                    Some(y) if y == 0.0 && x != 0.0 => Some(Loss::Zero),
                    Some(_)
                        if magnitude != 0
                            && magnitude >> format.man_bits == 0
                            && !is_subnormal(conversion.from, code) =>
                    {
                        Some(Loss::Subnormal)
                    }
                    Some(_) => None,
                }
            }
        }
    }

    fn is_subnormal(element_type: ElementType, code: u64) -> bool {
        let Kind::Float(format) = element_type.kind() else { return false };
        format.specials != Specials::Scale && (code & format.magnitude_mask()) >> format.man_bits == 0
    }

    /// The value of a code of at most 16 bits; `None` is NaN.
    fn number(element_type: ElementType, code: u64) -> Option<f64> {
        let bits = element_type.code_bits();
        match element_type.kind() {
            Kind::Bool => Some(f64::from(code != 0)),
            Kind::Int { signed } => {
                let shift = 64 - bits;
                Some(if signed { ((code << shift) as i64 >> shift) as f64 } else { code as f64 })
            }
            Kind::Float(format) => {
                let magnitude = code & format.magnitude_mask();
                let sign = if code & format.sign_code() != 0 && format.is_signed() { -1.0 } else { 1.0 };
                let is_nan = match format.specials {
                    Specials::NegativeZeroNan => code == format.sign_code(),
                    Specials::Finite => false,
                    _ => magnitude > format.top(),
                };
                match format.infinity() {
                    _ if is_nan => None,
                    Some(infinity) if magnitude == infinity => Some(sign * f64::INFINITY),
                    _ => Some(sign * value(&format, magnitude)),
                }
            }
            Kind::String => unreachable!("strings have no codes"),
        }
    }

    fn options() -> impl Iterator<Item = CastOptions> {
        let plain = CastOptions::default();
        [plain, plain.with_saturate(false), plain.with_float4_nan(Float4Nan::Max)].into_iter().chain([
            plain.with_round_mode(RoundMode::Down).with_saturate(false),
            plain.with_int4_overflow(Int4Overflow::Wrap),
        ])
    }

    /// Every code of every source of at most 16 bits, to every type, is in the range of its loss and in no other.
    #[test]
    fn every_code_is_counted_as_what_became_of_it() {
        let sources = || ElementType::ALL.iter().copied().filter(|t| t.is_numeric() && t.code_bits() <= 16);
        let mut lost = 0;
        for from in sources() {
            for &to in ElementType::ALL.iter().filter(|t| t.is_numeric()) {
                for options in options() {
                    let conversion = Conversion::new(from, to, &options).unwrap();
                    let ranges = lost_codes(&conversion);
                    for code in 0..1u64 << from.code_bits() {
                        let found: Vec<_> =
                            ranges.iter().filter(|range| range.contains(code)).map(|range| range.loss).collect();
                        let expected = loss_of(&conversion, code);
                        assert_eq!(
                            found,
                            Vec::from_iter(expected),
                            "{from} {code:#x} to {to}, {options:?}: {ranges:?}"
                        );
                        lost += u64::from(expected.is_some());
                    }
                }
            }
        }
        assert!(lost > 1_000_000, "{lost}");
    }

    /// The limits of wider sources, derived by hand.
    #[test]
    fn limits_of_wide_sources() {
        use ElementType::*;
        let ranges = |from, to| {
            let lost = lost_codes(&Conversion::new(from, to, &CastOptions::default()).unwrap());
            lost.into_iter().map(|lost| (lost.loss, lost.first, lost.last)).collect::<Vec<_>>()
        };
        // 2^-25 is the tie of 0 and the least subnormal; 65520 that of the largest number and ∞.
        let half = vec![
            (Loss::Zero, 1, 0x3300_0000),
            (Loss::Subnormal, 0x3300_0001, 0x387f_dfff),
            (Loss::Infinite, 0x477f_f000, 0x7f7f_ffff),
        ];
        assert_eq!(ranges(FLOAT, FLOAT16), half);
        assert_eq!(ranges(FLOAT, DOUBLE), []);
        let low = (Loss::Subnormal, 0x3690_0000_0000_0001, 0x380f_ffff_dfff_ffff);
        let single = vec![
            (Loss::Zero, 1, 0x3690_0000_0000_0000),
            low,
            (Loss::Infinite, 0x47ef_ffff_f000_0000, 0x7fef_ffff_ffff_ffff),
        ];
        assert_eq!(ranges(DOUBLE, FLOAT), single);
        assert_eq!(ranges(UINT64, INT64), [(Loss::OutOfRange, 1 << 63, u64::MAX)]);
        assert_eq!(ranges(INT64, UINT64), [(Loss::OutOfRange, 1 << 63, u64::MAX)]);
        assert_eq!(
            ranges(INT64, INT32),
            [(Loss::OutOfRange, 1 << 31, i64::MAX as u64), (Loss::OutOfRange, 1 << 63, (-(1i64 << 31) - 1) as u64)]
        );
        let int64 = vec![
            (Loss::Zero, 1, 0x3fef_ffff_ffff_ffff),
            (Loss::OutOfRange, 0x43e0_0000_0000_0000, 0x7ff0_0000_0000_0000),
            (Loss::Zero, 0x8000_0000_0000_0001, 0xbfef_ffff_ffff_ffff),
            // −2^63 is in range.
            (Loss::OutOfRange, 0xc3e0_0000_0000_0001, 0xfff0_0000_0000_0000),
            (Loss::NanToNumber, 0x7ff0_0000_0000_0001, 0x7fff_ffff_ffff_ffff),
        ];
        assert_eq!(ranges(DOUBLE, INT64), int64);
    }
}
