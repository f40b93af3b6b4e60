//! What a cast loses: the values of the source that the destination type cannot hold.
//!
//! Casts keep the order of values. So values of one sign that are lost in the same way are neighbours, and so are their
//! codes. [`LostCodes`] is such a range of codes. Counting needs the source codes only. If the result's codes are
//! shorter and tell the same ([`LostResults`]), reading those is faster.

mod counts;

#[cfg(test)]
mod tests;

use crate::bits::format::{FloatFormat, Specials};
use crate::types::conversion::Conversion;
use crate::types::element::Kind;

pub(crate) use counts::Loss;
pub use counts::LossCounts;

/// The codes whose bits under `mask` are a number from `first` to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeRange {
    pub mask: u64,
    pub first: u64,
    pub last: u64,
}

/// Source codes that are lost in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LostCodes {
    pub loss: Loss,
    pub codes: CodeRange,
}

/// The codes that a range of lost source codes becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LostResults {
    pub codes: CodeRange,
    pub others: Others,
}

/// The source codes outside the lost range that become the same codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    None,
    /// One magnitude, with either sign.
    One(CodeRange),
    Many,
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
    let of_sign = |negative| {
        let Some(top) = source.top(negative) else { return Vec::new() };
        let phase = |magnitude| source.phase(magnitude, negative, &to);
        let mut ranges: Vec<(Loss, [u64; 2])> = Vec::new();
        let mut first = 0;
        loop {
            // Phases are in order, so bisection finds the end of this one.
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
    };
    let mut lost: Vec<LostCodes> = of_sign(false);
    match (&source, &to) {
        // The sign makes no difference, so one comparison serves both signs.
        (Source::Float(from), Destination::Float { format, .. }) if from.is_signed() && format.is_signed() => {
            lost.iter_mut().for_each(|lost| lost.codes.mask = from.magnitude_mask());
        }
        _ => lost.extend(of_sign(true)),
    }
    lost.extend(if to.has_nan() { None } else { source.nans() });
    lost
}

/// The last number from `first` to `last` for which `holds` is true. `holds` must be true for `first`, and false for
/// every number after the first false one.
fn last_where(first: u64, last: u64, holds: impl Fn(u64) -> bool) -> u64 {
    if holds(last) {
        return last;
    }
    let (mut yes, mut no) = (first, last);
    while no - yes > 1 {
        let middle = yes + (no - yes) / 2;
        if holds(middle) {
            yes = middle;
        } else {
            no = middle;
        }
    }
    yes
}

/// What becomes of a magnitude, in the order of magnitudes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Below the least number of a type that has no zero.
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
    /// The largest magnitude of one sign, ∞ included; `None` if the type lacks that sign. A float's magnitude codes are
    /// in the order of the magnitudes.
    fn top(&self, negative: bool) -> Option<u64> {
        match (self, negative) {
            // Casts read every code other than 0 as 1, which every type holds.
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
            // Rounding a large integer to binary64 does not take it past a limit: the limits of floats are below 2^53
            // or above all integers.
            (_, Destination::Float { .. }) => to.phase(magnitude as f64, false, negative),
        }
    }

    /// The codes of a range of magnitudes.
    fn codes(&self, loss: Loss, [first, last]: [u64; 2], negative: bool) -> LostCodes {
        let (mask, first, last) = match self {
            Source::Bool => (0xff, first, last),
            // Two's complement. 0 is not negative, so negative magnitudes start at 1.
            Source::Int { bits, .. } if negative => {
                let mask = u64::MAX >> (64 - bits);
                (mask, last.wrapping_neg() & mask, first.max(1).wrapping_neg() & mask)
            }
            Source::Int { bits, .. } => (u64::MAX >> (64 - bits), first, last),
            Source::Float(format) => {
                let sign = if negative { format.sign_code() } else { 0 };
                // The code that would be −0 is NaN in some formats. It is counted there; zero itself loses nothing
                // else.
                let first = if negative && format.specials == Specials::NegativeZeroNan { first.max(1) } else { first };
                (format.sign_code() | format.magnitude_mask(), first | sign, last | sign)
            }
        };
        LostCodes { loss, codes: CodeRange { mask, first, last } }
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
        Some(LostCodes { loss: Loss::NanToNumber, codes: CodeRange { mask, first, last } })
    }
}

impl CodeRange {
    pub(crate) fn contains(&self, code: u64) -> bool {
        (self.first..=self.last).contains(&(code & self.mask))
    }
}

impl LostCodes {
    /// The codes that these source codes become, if they are a range too and shorter. This is so for floats of either
    /// sign whose destination is a signed float with fewer bits, and at least 8.
    pub(crate) fn results(&self, conversion: &Conversion) -> Option<LostResults> {
        let (Kind::Float(from), Kind::Float(to)) = (conversion.from.kind(), conversion.to.kind()) else { return None };
        let CodeRange { mask, first, last } = self.codes;
        let is_shorter = (8..from.bits()).contains(&to.bits());
        if !is_shorter || !to.is_signed() || mask != from.magnitude_mask() || self.loss == Loss::NanToNumber {
            return None;
        }
        let result = |code: u64| {
            let (mut low, mut high) = ([code as u32], [(code >> 32) as u32]);
            conversion.convert(&mut low, &mut high);
            u64::from(low[0]) & to.magnitude_mask()
        };
        // Casts keep the order of magnitudes. NaNs are above them.
        let codes = CodeRange { mask: to.magnitude_mask(), first: result(first), last: result(last) };
        let is_other = |code: &u64| *code <= mask && !self.codes.contains(*code) && codes.contains(result(*code));
        let below = [first.checked_sub(1), first.checked_sub(2)].map(|code| code.filter(is_other));
        let above = [last + 1, last + 2].map(|code| Some(code).filter(is_other));
        let others = match (below, above) {
            // The largest code is a NaN in most types, and need not be next to the range.
            _ if is_other(&mask) => Others::Many,
            ([None, _], [None, _]) => Others::None,
            ([Some(other), None], [None, _]) | ([None, _], [Some(other), None]) => {
                Others::One(CodeRange { mask, first: other, last: other })
            }
            _ => Others::Many,
        };
        Some(LostResults { codes, others })
    }
}

/// The value of a float's magnitude code; binary64 always holds it exactly.
fn value(format: &FloatFormat, magnitude: u64) -> f64 {
    // The formats with fewer than 64 bits have no power of two that is subnormal in binary64.
    let power = |exponent: i32| f64::from_bits(((exponent + 1023) as u64) << 52);
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
    /// For zero and above, magnitudes of at most `most`; below zero, of at most `least`.
    Int {
        most: u64,
        least: u64,
        clamps: bool,
    },
    Float {
        format: FloatFormat,
        saturates: bool,
        limits: Limits,
    },
}

/// The magnitudes at which the results of a float type change their kind.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// The least magnitude that does not become 0. In a type without zero, the least that is not too small.
    nonzero: f64,
    /// The least magnitude that does not become subnormal.
    normal: f64,
    /// The least magnitude beyond the largest number: it would round to a larger number if there were one.
    beyond: f64,
}

impl Limits {
    fn new(format: &FloatFormat) -> Self {
        let max = value(format, format.max());
        if !format.is_signed() {
            let least = value(format, 0);
            return Self { nonzero: least, normal: least, beyond: max.next_up() };
        }
        let least = value(format, 1);
        let below = value(format, format.max() - 1);
        let tie = max + (max - below) / 2.0;
        Self {
            // The tie rounds to zero, which is even.
            nonzero: (least / 2.0).next_up(),
            normal: value(format, 1 << format.man_bits) - least / 2.0,
            // The tie rounds to the even significand. That is the largest number itself if its last bit is 0.
            beyond: if format.max() & 1 == 0 { tie.next_up() } else { tie },
        }
    }
}

impl Destination {
    /// `None` if no value is ever counted.
    fn new(conversion: &Conversion) -> Option<Self> {
        let bits = conversion.to.code_bits();
        match conversion.to.kind() {
            Kind::Bool | Kind::String => None,
            // binary64 holds every value of every type, except that it rounds large integers.
            Kind::Float(_) if bits == 64 => None,
            Kind::Float(format) => {
                let limits = Limits::new(&format);
                Some(Self::Float { format, saturates: conversion.saturates(), limits })
            }
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
            // A limit of 64 bits is not exact in binary64. But such a limit is a power of two, or one less, so the
            // rounded sides compare like the exact ones.
            Destination::Int { least, .. } if negative => within(value.trunc() <= *least as f64),
            Destination::Int { most, .. } => within(value.trunc() < (u128::from(*most) + 1) as f64),
            Destination::Float { format, limits, .. } if !format.is_signed() => {
                if negative || value < limits.nonzero {
                    Phase::Below
                } else {
                    within(value < limits.beyond)
                }
            }
            Destination::Float { limits, .. } => {
                if value == 0.0 {
                    Phase::IsZero
                } else if value < limits.nonzero {
                    Phase::ToZero
                } else if value < limits.normal {
                    if is_subnormal { Phase::IsSubnormal } else { Phase::ToSubnormal }
                } else {
                    within(value < limits.beyond)
                }
            }
        }
    }

    /// The loss of a phase, if it is one.
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
