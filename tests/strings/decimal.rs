//! Exact decimals, and what each float type must make of them.
//!
//! A decimal and a midpoint between two floats are compared as integers of any length, and the target's code is found
//! by binary search over all midpoints. There is neither a rounding nor a sticky bit on the way. What becomes of zeros,
//! infinities and overflows is asked of the oracle for numeric casts, as a cast from `double`.

use std::cmp::Ordering;
use std::sync::LazyLock;

use num_bigint::BigUint;
use support::oracle;
use wgpu_cast::{CastOptions, ElementType, RoundMode};

/// `digits * 10^exponent`, nonnegative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    pub digits: BigUint,
    pub exponent: i64,
}

impl Decimal {
    pub fn new(digits: impl Into<BigUint>, exponent: i64) -> Self {
        Decimal { digits: digits.into(), exponent }
    }

    /// The exact value of a binary number.
    pub fn of(binary: Binary) -> Self {
        match u64::try_from(binary.exponent) {
            Ok(twos) => Self::new(BigUint::from(binary.significand) << twos, 0),
            // 2^-n = 5^n * 10^-n
            Err(_) => Self::new(power_of_5(binary.exponent.unsigned_abs()) * binary.significand, binary.exponent),
        }
    }

    /// Reads a finite literal, which has to be one: the sign, and the magnitude. Powers of ten far out of every type's
    /// range are brought nearer, without a change of sides.
    pub fn read(text: &str) -> (bool, Self) {
        let text = text.trim_matches(crate::WHITE_SPACE);
        let (negative, text) = match (text.strip_prefix('-'), text.strip_prefix('+')) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => (false, text),
        };
        let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let power: i128 = power.parse().unwrap();
        let digits = format!("{whole}{fraction}");
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() {
            return (negative, Self::new(0u8, 0));
        }
        let exponent = power - fraction.len() as i128;
        let decimal = match exponent + digits.len() as i128 {
            ..-1000 => Self::new(1u8, -1000),
            1000.. => Self::new(1u8, 1000),
            _ => Self::new(digits.parse::<BigUint>().unwrap(), exponent as i64),
        };
        (negative, decimal)
    }

    pub fn is_zero(&self) -> bool {
        self.digits == BigUint::ZERO
    }

    /// How it compares with another, and the sum of the two.
    pub fn compare_and_add(&self, other: &Decimal) -> (Ordering, Self) {
        let exponent = self.exponent.min(other.exponent);
        let scaled = |d: &Decimal| &d.digits * BigUint::from(10u8).pow((d.exponent - exponent) as u32);
        let (left, right) = (scaled(self), scaled(other));
        (left.cmp(&right), Self::new(left + right, exponent))
    }
}

fn power_of_5(exponent: u64) -> BigUint {
    static POWERS: LazyLock<Vec<BigUint>> = LazyLock::new(|| {
        let next = |power: &BigUint| Some(power * 5u8);
        std::iter::successors(Some(BigUint::from(1u8)), next).take(2048).collect()
    });
    POWERS.get(exponent as usize).cloned().unwrap_or_else(|| BigUint::from(5u8).pow(exponent as u32))
}

/// `significand * 2^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binary {
    pub significand: u64,
    pub exponent: i64,
}

impl Binary {
    pub fn of(x: f64) -> Self {
        assert!(x.is_finite() && x.is_sign_positive());
        let (exponent, fraction) = (x.to_bits() >> 52, x.to_bits() % (1 << 52));
        match exponent {
            0 => Binary { significand: fraction, exponent: -1074 },
            _ => Binary { significand: fraction | 1 << 52, exponent: exponent as i64 - 1075 },
        }
    }

    /// Halfway between two neighbours.
    fn between(low: Binary, high: Binary) -> Self {
        let least = if low.significand == 0 { high.exponent } else { low.exponent.min(high.exponent) };
        let units = |b: Binary| if b.significand == 0 { 0 } else { b.significand << (b.exponent - least) };
        Binary { significand: units(low) + units(high), exponent: least - 1 }
    }

    /// What follows on `self` at the distance that lies between `before` and `self`.
    fn beyond(self, before: Binary) -> Self {
        let least = self.exponent.min(before.exponent);
        let units = |b: Binary| b.significand << (b.exponent - least);
        Binary { significand: 2 * units(self) - units(before), exponent: least }
    }
}

/// A decimal made ready to be compared with many binary numbers: `numerator / denominator * 2^exponent`.
pub struct Exact {
    numerator: BigUint,
    denominator: BigUint,
    exponent: i64,
}

impl Exact {
    pub fn new(decimal: &Decimal) -> Self {
        let power = power_of_5(decimal.exponent.unsigned_abs());
        let one = BigUint::from(1u8);
        let (factor, denominator) = if decimal.exponent < 0 { (one, power) } else { (power, one) };
        Exact { numerator: &decimal.digits * factor, denominator, exponent: decimal.exponent }
    }

    pub fn cmp(&self, other: Binary) -> Ordering {
        if other.significand == 0 || self.numerator == BigUint::ZERO {
            return (self.numerator != BigUint::ZERO).cmp(&(other.significand != 0));
        }
        // Most comparisons are decided by the lengths alone: a product is as long as its factors together, or by one
        // bit shorter.
        let bits = |n: &BigUint| n.bits() as i64;
        let left = bits(&self.numerator) + self.exponent;
        let right = bits(&self.denominator) + 64 - i64::from(other.significand.leading_zeros()) + other.exponent;
        if left > right {
            return Ordering::Greater;
        }
        if left < right - 1 {
            return Ordering::Less;
        }
        let product = &self.denominator * other.significand;
        let shift = self.exponent - other.exponent;
        match u64::try_from(shift) {
            Ok(shift) => (&self.numerator << shift).cmp(&product),
            Err(_) => self.numerator.cmp(&(product << shift.unsigned_abs())),
        }
    }
}

/// The nonnegative finite values of a float type; their codes ascend with them, from 0.
pub struct Values {
    pub element_type: ElementType,
    /// The code of the greatest.
    pub greatest: u64,
    /// Each of them, for types of at most 16 bits.
    few: Vec<Binary>,
}

impl Values {
    pub fn new(element_type: ElementType) -> Self {
        let sign = 1u64 << (element_type.bits().unwrap() - 1);
        let finite = match element_type {
            ElementType::DOUBLE => f64::MAX.to_bits() + 1,
            ElementType::FLOAT => u64::from(f32::MAX.to_bits()) + 1,
            ElementType::FLOAT8E8M0 => 0xff,
            _ => sign,
        };
        let mut few = Vec::new();
        if finite <= 1 << 16 {
            let oracle = oracle(element_type, ElementType::DOUBLE, &CastOptions::default());
            let value = |code| f64::from_bits(oracle.expected(code));
            few.extend((0..finite).map(value).take_while(|x| x.is_finite()).map(Binary::of));
        }
        let greatest = if few.is_empty() { finite } else { few.len() as u64 } - 1;
        Values { element_type, greatest, few }
    }

    /// The value of a code.
    pub fn value(&self, code: u64) -> Binary {
        match self.element_type {
            ElementType::DOUBLE => Binary::of(f64::from_bits(code)),
            ElementType::FLOAT => Binary::of(f32::from_bits(code as u32).into()),
            _ => self.few[code as usize],
        }
    }

    /// The point between a code and the next. After the greatest value comes, for this purpose, the one that would
    /// follow were the exponent unbounded.
    pub fn midpoint(&self, code: u64) -> Binary {
        let low = self.value(code);
        let next = if code < self.greatest { self.value(code + 1) } else { low.beyond(self.value(code - 1)) };
        Binary::between(low, next)
    }

    /// The code of the nearest value, of two the even one; `None` beyond the greatest.
    fn nearest(&self, x: &Exact) -> Option<u64> {
        let below = first(self.greatest + 1, |code| x.cmp(self.midpoint(code)) != Ordering::Greater);
        let tie = below <= self.greatest && x.cmp(self.midpoint(below)) == Ordering::Equal;
        let code = if tie { below + below % 2 } else { below };
        (code <= self.greatest).then_some(code)
    }

    /// Whether a decimal becomes this code, which is neither 0 nor E8M0's.
    pub fn rounds_to(&self, decimal: &Decimal, code: u64) -> bool {
        let x = Exact::new(decimal);
        let (low, high) = (x.cmp(self.midpoint(code - 1)), x.cmp(self.midpoint(code)));
        let inside = low == Ordering::Greater && high == Ordering::Less;
        inside || code.is_multiple_of(2) && (low == Ordering::Equal || high == Ordering::Equal)
    }
}

/// The first of `0..count` for which something holds that holds for all after it; `count` where there is none.
fn first(count: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut from, mut to) = (0, count);
    while from < to {
        let middle = from + (to - from) / 2;
        if holds(middle) { to = middle } else { from = middle + 1 }
    }
    from
}

/// The oracle of finite literals cast to one float type under some options.
pub struct Oracle<'a> {
    values: &'a Values,
    round_mode: RoundMode,
    sign: u64,
    /// Without and with a minus sign; so are the infinities.
    zeros: [u64; 2],
    infinities: [u64; 2],
}

impl<'a> Oracle<'a> {
    pub fn new(values: &'a Values, options: &CastOptions) -> Self {
        let to = values.element_type;
        let oracle = oracle(ElementType::DOUBLE, to, options);
        let expected = |x: f64| oracle.expected(x.to_bits());
        Oracle {
            values,
            round_mode: options.round_mode,
            sign: 1 << (to.bits().unwrap() - 1),
            zeros: [0.0, -0.0].map(expected),
            infinities: [f64::INFINITY, f64::NEG_INFINITY].map(expected),
        }
    }

    /// The code that a finite literal must become.
    pub fn expected(&self, text: &str) -> u64 {
        let (negative, decimal) = Decimal::read(text);
        let (zero, infinity) = (self.zeros[usize::from(negative)], self.infinities[usize::from(negative)]);
        if decimal.is_zero() {
            return zero;
        }
        let x = Exact::new(&decimal);
        if self.values.element_type == ElementType::FLOAT8E8M0 {
            return self.scale(negative, &x);
        }
        match self.values.nearest(&x) {
            None => infinity,
            Some(0) => zero,
            Some(code) if negative => code | self.sign,
            Some(code) => code,
        }
    }

    /// E8M0 has powers of two only, neither zero nor sign: what is below the least counts as zero does.
    fn scale(&self, negative: bool, x: &Exact) -> u64 {
        let (below, above) = (self.zeros[0], self.infinities[0]);
        let power = |code: u64| self.values.value(code);
        if negative || x.cmp(power(0)) == Ordering::Less {
            return below;
        }
        if x.cmp(power(self.values.greatest)) == Ordering::Greater {
            return above;
        }
        let code = first(self.values.greatest, |code| x.cmp(power(code + 1)) == Ordering::Less);
        let up = match self.round_mode {
            RoundMode::Up => x.cmp(power(code)) == Ordering::Greater,
            RoundMode::Down => false,
            // One and a half times a power of two goes up.
            RoundMode::Nearest => code < self.values.greatest && x.cmp(self.values.midpoint(code)) != Ordering::Less,
            other => panic!("unknown round mode {other:?}"),
        };
        code + u64::from(up)
    }
}
