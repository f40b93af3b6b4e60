//! Hard decimals to every float type, and to BOOL.
//!
//! They lie on, just beside, or a hair's breadth from values of the type and the midpoints between them, with all
//! digits that these have or with few, and are written in every way that the grammar allows.

use num_bigint::BigUint;
use support::cases;
use support::options::variants;
use support::random::Random;
use support::tier::count;
use wgpu_cast::{CastOptions, ElementType, Kind};

use crate::decimal::{Binary, Decimal, Oracle, Values};
use crate::{floats, none_wrong, parse, parse_with, shown};

/// Literals for each width.
fn width_count() -> usize {
    count(50_000, 2_000)
}

/// Codes worth literals: random ones, those of moderate size, subnormals, and the ends of the range.
fn code(random: &mut Random, values: &Values, codes: &[u64]) -> u64 {
    let greatest = values.greatest;
    match random.below(8) {
        0 => random.next() % (greatest + 1),
        1 => greatest - random.next() % greatest.min(4),
        2 => random.next() % greatest.min(4),
        // Powers of two and their neighbours.
        3 => {
            let mantissa = match values.element_type.kind() {
                Kind::Float(format) => format.man_bits,
                kind => panic!("{kind:?} is no float"),
            };
            let power = ((random.next() % (greatest + 1)) >> mantissa) << mantissa;
            (power + random.next() % 3).saturating_sub(1)
        }
        // Every length of the code: with its top bits clear a float is subnormal or small.
        4 => greatest >> random.below(64 - greatest.leading_zeros() as usize),
        _ => codes[random.below(codes.len())] % (greatest + 1),
    }
    .min(greatest)
}

/// A decimal near a value of the type or a midpoint.
fn hard(random: &mut Random, values: &Values, codes: &[u64]) -> Decimal {
    let code = code(random, values, codes);
    let point = if random.one_in(3) { values.value(code) } else { values.midpoint(code) };
    near(random, point)
}

fn near(random: &mut Random, point: Binary) -> Decimal {
    let exact = Decimal::of(point);
    let one = BigUint::from(1u8);
    let below = |digits: &BigUint| if *digits == BigUint::ZERO { BigUint::ZERO } else { digits - &one };
    // Far beyond the last digit, mostly not too far.
    let far = if random.one_in(16) { 700 + random.below(120) } else { 1 + random.below(40) };
    let scale = |far: usize| BigUint::from(10u8).pow(far as u32);
    let further = |digits: BigUint| Decimal::new(digits, exact.exponent - far as i64);
    match random.below(11) {
        0 => exact,
        1 => Decimal::new(&exact.digits + one, exact.exponent),
        2 => Decimal::new(below(&exact.digits), exact.exponent),
        3 | 4 => further(&exact.digits * scale(far) + one),
        5 | 6 => further(below(&(&exact.digits * scale(far)))),
        kind => {
            // Cut after some digits, as it is, one up, or with other digits on.
            let digits = exact.digits.to_string();
            let kept = if random.one_in(3) { 1 + random.below(17) } else { 17 + random.below(24) };
            let cut = digits.len().saturating_sub(kept);
            let exponent = exact.exponent + cut as i64;
            let head: BigUint = digits[..digits.len() - cut].parse().unwrap();
            match kind {
                7 => Decimal::new(head, exponent),
                8 | 9 => Decimal::new(head + one, exponent),
                _ => Decimal::new(head * scale(9) + random.next() % 1_000_000_000, exponent - 9),
            }
        }
    }
}

/// Some way to write a decimal.
pub fn written(random: &mut Random, decimal: &Decimal, signs: &[&str]) -> String {
    let mut digits = decimal.digits.to_string();
    let mut exponent = decimal.exponent;
    if random.one_in(4) {
        // Zeros at the end change nothing.
        let zeros = if random.one_in(32) { 800 } else { random.below(8) };
        digits.extend(std::iter::repeat_n('0', zeros));
        exponent -= zeros as i64;
    }
    let plain = random.one_in(3);
    if plain && exponent > 0 {
        digits.extend(std::iter::repeat_n('0', exponent as usize));
        exponent = 0;
    }
    let point = if plain { exponent.unsigned_abs() as usize } else { random.below(digits.len() + 4) };
    exponent += point as i64;
    if random.one_in(4) {
        let zeros = if random.one_in(32) { 900 } else { random.below(6) };
        digits.insert_str(0, &"0".repeat(zeros));
    }
    if digits.len() < point {
        digits.insert_str(0, &"0".repeat(point - digits.len()));
    }
    // "12." and ".12" are literals too, "." is none.
    let whole = digits.len() - point;
    if point > 0 || random.one_in(4) {
        digits.insert(whole, '.');
    }
    if whole == 0 && random.one_in(2) {
        digits.insert(0, '0');
    }
    let mut text = format!("{}{digits}", random.pick(signs));
    if exponent != 0 || random.one_in(8) {
        let plus = if exponent >= 0 { *random.pick(&["", "+"]) } else { "-" };
        let zeros = "0".repeat(if random.one_in(8) { random.below(30) } else { 0 });
        text += &format!("{}{plus}{zeros}{}", random.pick(&["e", "E"]), exponent.unsigned_abs());
    }
    if random.one_in(16) {
        let mut space = || random.pick(&["", " ", "\t", "\n", "\x0b", "\x0c", "\r", " \r\n"]);
        text = format!("{}{text}{}", space(), space());
    }
    text
}

/// Literals hard for a type; a seed gives always the same.
fn literals(values: &Values, count: usize, seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut codes = cases::random(values.element_type, 4096, seed);
    codes.extend(cases::codes(values.element_type).iter().step_by(7));
    let signs: &[&str] = match values.element_type {
        // Negative numbers are all the same to a type without sign.
        ElementType::FLOAT8E8M0 => &["", "", "", "", "", "", "+", "-"],
        _ => &["", "", "+", "-"],
    };
    (0..count)
        .map(|_| {
            let decimal = hard(&mut random, values, &codes);
            written(&mut random, &decimal, signs)
        })
        .collect()
}

/// Casts the literals to a type under all options that it looks at, and lists what the oracle says otherwise.
fn check(texts: &[String], values: &Values, wrong: &mut Vec<String>) {
    let to = values.element_type;
    for options in variants(to) {
        let oracle = Oracle::new(values, &options);
        let got = parse_with(texts, to, &options).unwrap();
        for (text, got) in texts.iter().zip(got) {
            let expected = oracle.expected(text);
            if got != expected {
                wrong.push(format!("{} to {to} {options:?}: {got:x}, expected {expected:x}", shown(text)));
            }
        }
    }
}

/// As many literals for a width as for each other, shared out to its types; each type gets all of them.
fn check_width(bits: u32) {
    let types: Vec<Values> = floats().filter(|t| t.bits() == Some(bits)).map(Values::new).collect();
    let each = width_count() / types.len();
    let texts: Vec<String> = (0..).zip(&types).flat_map(|(seed, values)| literals(values, each, seed + 1)).collect();
    assert_eq!(texts.len(), width_count());
    let mut wrong = Vec::new();
    types.iter().for_each(|values| check(&texts, values, &mut wrong));
    none_wrong(&wrong);
}

#[test]
fn hard_literals_round_once_to_double() {
    check_width(64);
}

#[test]
fn hard_literals_round_once_to_float() {
    check_width(32);
}

/// Twice as many literals as elsewhere: these two have little in common.
#[test]
fn hard_literals_round_once_to_float16_and_bfloat16() {
    let mut wrong = Vec::new();
    for to in [ElementType::FLOAT16, ElementType::BFLOAT16] {
        let values = Values::new(to);
        check(&literals(&values, width_count(), 16), &values, &mut wrong);
    }
    none_wrong(&wrong);
}

#[test]
fn hard_literals_round_once_to_floats_of_8_bits() {
    check_width(8);
}

#[test]
fn hard_literals_round_once_to_floats_of_6_bits() {
    check_width(6);
}

#[test]
fn hard_literals_round_once_to_the_float_of_4_bits() {
    check_width(4);
}

/// Every value and every midpoint of the small types, exactly and with a difference far beyond the last digit.
#[test]
fn values_and_midpoints_of_small_floats_are_thresholds() {
    let mut wrong = Vec::new();
    for to in floats().filter(|t| t.bits() <= Some(8)) {
        let values = Values::new(to);
        let mut texts = Vec::new();
        for code in 0..=values.greatest {
            for point in [values.value(code), values.midpoint(code)] {
                let Decimal { digits, exponent } = Decimal::of(point);
                for sign in ["", "-"] {
                    texts.push(format!("{sign}{digits}e{exponent}"));
                    texts.push(format!("{sign}{digits}.{}1e{exponent}", "0".repeat(800)));
                    if digits != BigUint::ZERO {
                        texts.push(format!("{sign}{}.{}e{exponent}", &digits - 1u8, "9".repeat(800)));
                    }
                }
            }
        }
        check(&texts, &values, &mut wrong);
    }
    none_wrong(&wrong);
}

/// The oracle itself, against the standard library, which has its own exact reading of decimals.
#[test]
fn the_oracle_agrees_with_the_standard_library() {
    let options = CastOptions::default();
    let mut wrong = Vec::new();
    let mut check = |text: &str, expected: u64, std: u64| {
        if expected != std {
            wrong.push(format!("{}: the oracle says {expected:x}, the standard library {std:x}", shown(text)));
        }
    };
    let double = Values::new(ElementType::DOUBLE);
    let doubles = Oracle::new(&double, &options);
    for text in literals(&double, 10_000, 3) {
        check(&text, doubles.expected(&text), text.trim_matches(crate::WHITE_SPACE).parse::<f64>().unwrap().to_bits());
    }
    let float = Values::new(ElementType::FLOAT);
    let singles = Oracle::new(&float, &options);
    for text in literals(&float, 10_000, 3) {
        let std = text.trim_matches(crate::WHITE_SPACE).parse::<f32>().unwrap().to_bits();
        check(&text, singles.expected(&text), std.into());
    }
    none_wrong(&wrong);
}

/// False for zeros alone, however they are written, and however small the others are.
#[test]
fn hard_literals_are_true_unless_zero() {
    let double = Values::new(ElementType::DOUBLE);
    let mut texts = literals(&double, width_count(), 9);
    let mut random = Random::new(9);
    texts.extend((0..1000).map(|_| {
        let zero = Decimal::new(0u8, random.below(2000) as i64 - 1000);
        written(&mut random, &zero, &["", "+", "-"])
    }));
    let got = parse(&texts, ElementType::BOOL).unwrap();
    let mut wrong = Vec::new();
    for (text, got) in texts.iter().zip(got) {
        let expected = u64::from(!Decimal::read(text).1.is_zero());
        if got != expected {
            wrong.push(format!("{} to bool: {got:x}, expected {expected:x}", shown(text)));
        }
    }
    none_wrong(&wrong);
}
