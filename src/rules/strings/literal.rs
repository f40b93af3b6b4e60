//! Parses what ONNX calls a numeric literal into its parts, without computing its value.

use std::cmp::Ordering;

use super::natural::{FIVES, Natural, word};

/// A literal with its sign.
#[derive(Clone, Copy, Debug)]
pub(super) enum Literal<'a> {
    /// An infinity or NaN.
    NotFinite,
    Decimal(Decimal<'a>),
}

/// The magnitude `whole.fraction` · 10^`exponent`, and its sign.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal<'a> {
    pub negative: bool,
    /// ASCII digits; the first one is not 0.
    whole: &'a [u8],
    /// ASCII digits; the last one is not 0.
    fraction: &'a [u8],
    exponent: i64,
}

/// Removes ASCII white space at both ends. `str::trim_ascii` would keep the vertical tab.
pub(super) fn trim(text: &str) -> &str {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    if text.as_bytes().first().is_some_and(blank) || text.as_bytes().last().is_some_and(blank) {
        return text.trim_matches(|c| matches!(c, ' ' | '\t'..='\r'));
    }
    text
}

/// `[+-]? (d+ [. d*] | . d+) ([eE] [+-]? d+)?` or `[+-]? (inf|infinity|nan)` in any case; `None` for anything else.
pub(super) fn scan(text: &str) -> Option<Literal<'_>> {
    let (negative, unsigned) = signed(text.as_bytes());
    let (whole, rest) = digits(unsigned);
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => digits(rest),
        _ => (&[][..], rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        let is = |word: &&str| unsigned.eq_ignore_ascii_case(word.as_bytes());
        return ["inf", "infinity", "nan"].iter().any(is).then_some(Literal::NotFinite);
    }
    let exponent = match rest {
        [] => 0,
        [b'e' | b'E', rest @ ..] => exponent(rest)?,
        _ => return None,
    };
    let first = leading(whole, |digit| digit == b'0');
    let last = fraction.iter().rposition(|&digit| digit != b'0').map_or(0, |last| last + 1);
    Some(Literal::Decimal(Decimal { negative, whole: &whole[first..], fraction: &fraction[..last], exponent }))
}

/// The number of bytes before the first byte for which `is` is false.
fn leading(bytes: &[u8], is: impl Fn(u8) -> bool) -> usize {
    // The number of bytes that vector instructions test together.
    const TOGETHER: usize = 32;
    let all = |chunk: &&[u8]| chunk.iter().fold(true, |all, &byte| all & is(byte));
    let chunks = TOGETHER * bytes.chunks_exact(TOGETHER).take_while(all).count();
    chunks + bytes[chunks..].iter().take_while(|&&byte| is(byte)).count()
}

fn signed(bytes: &[u8]) -> (bool, &[u8]) {
    match bytes {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, bytes),
    }
}

fn digits(bytes: &[u8]) -> (&[u8], &[u8]) {
    bytes.split_at(leading(bytes, |byte| byte.is_ascii_digit()))
}

fn exponent(bytes: &[u8]) -> Option<i64> {
    // Exponents are counted up to this number. It is so large that no text has enough digits to compensate it, and so
    // small that adding a text's length does not overflow.
    const FAR: i64 = 1 << 56;
    let (negative, unsigned) = signed(bytes);
    let (digits, rest) = digits(unsigned);
    if digits.is_empty() || !rest.is_empty() {
        return None;
    }
    let digits = &digits[leading(digits, |digit| digit == b'0')..];
    let magnitude = digits.iter().fold(0, |sum, digit| (sum * 10 + i64::from(digit - b'0')).min(FAR));
    Some(if negative { -magnitude } else { magnitude })
}

impl Decimal<'_> {
    /// The position of the decimal point, counted from the first digit that is not 0; `None` for zero, which has no
    /// such digit.
    pub(super) fn point(&self) -> Option<i64> {
        if !self.whole.is_empty() {
            return Some(self.whole.len() as i64 + self.exponent);
        }
        let zeros = leading(self.fraction, |digit| digit == b'0');
        (zeros < self.fraction.len()).then_some(self.exponent - zeros as i64)
    }

    pub(super) fn is_zero(&self) -> bool {
        self.point().is_none()
    }

    /// At most `most` ASCII digits from the first digit that is not 0, in two parts; and whether any digit after them
    /// is not 0.
    fn digits(&self, most: usize) -> ([&[u8]; 2], bool) {
        let zeros = if self.whole.is_empty() { leading(self.fraction, |digit| digit == b'0') } else { 0 };
        let (whole, other) = self.whole.split_at(self.whole.len().min(most));
        let fraction = &self.fraction[zeros..];
        let (fraction, rest) = fraction.split_at(fraction.len().min(most - whole.len()));
        // `fraction` does not end in 0, so a rest of it has a digit that is not 0.
        ([whole, fraction], !rest.is_empty() || leading(other, |digit| digit == b'0') < other.len())
    }

    /// The integer part of the magnitude; `None` from 10^20 on.
    pub(super) fn truncated(&self) -> Option<u128> {
        let Some(point) = self.point() else { return Some(0) };
        if point > 20 {
            return None;
        }
        let places = point.max(0) as usize;
        let (digits, _) = self.digits(places);
        let digits = digits.into_iter().flatten().chain(std::iter::repeat(&b'0')).take(places);
        Some(digits.fold(0, |sum, digit| sum * 10 + u128::from(digit - b'0')))
    }

    /// A literal of fewer than a thousand bytes that rounds to the same float as this one, in every format.
    pub(super) fn shortened(&self) -> String {
        // A number halfway between two binary64 floats has at most 768 digits. Later digits only decide whether the
        // value is greater than the number that the earlier digits give, so one digit 1 stands for all of them.
        const DIGITS: usize = 800;
        // No float has an exponent beyond this one, so larger exponents are cut to it.
        const FAR: i64 = 5_000;
        let (digits, any_other) = self.digits(DIGITS);
        let mut text = String::from(if self.negative { "-." } else { "." });
        text.extend(digits.into_iter().flatten().copied().map(char::from));
        if any_other {
            text.push('1');
        }
        let point = self.point().unwrap_or_default().clamp(-FAR, FAR);
        text.push_str(&format!("0e{point}"));
        text
    }

    /// Compares the magnitude with that of a binary64 to which it rounds. `rounded` must be 0, or be between 2^-160 and
    /// 2^140 and have at most 12 significant bits.
    pub(super) fn compare(&self, rounded: f64) -> Ordering {
        if self.is_zero() || rounded == 0.0 {
            return if self.is_zero() { Ordering::Equal } else { Ordering::Greater };
        }
        // More digits than any of these floats has. The digits that are cut off therefore matter only if the others are
        // equal to the float.
        const DIGITS: usize = 140;
        let (digits, any_other) = self.digits(DIGITS);
        let len: usize = digits.iter().map(|digits| digits.len()).sum();
        // Compares digits · 10^power with significand · 2^exponent.
        let power = self.point().unwrap_or_default() - len as i64;
        let float = parts(rounded);
        let order = compare_words(digits, power, float).unwrap_or_else(|| compare_naturals(digits, power, float));
        order.then(any_other.cmp(&false))
    }
}

/// A fast comparison of digits · 10^power with a float, for at most 38 digits. `None` if two words are too small for
/// it.
fn compare_words(digits: [&[u8]; 2], power: i64, (significand, exponent): (u64, i64)) -> Option<Ordering> {
    let [whole, fraction] = digits;
    if whole.len() + fraction.len() > 38 {
        return None;
    }
    let digits = number(whole) * ten(fraction.len()) + number(fraction);
    // A power of five multiplies one side, so that both sides stay integers.
    let (mut ours, mut theirs) = (digits, u128::from(significand));
    let more = if power >= 0 { &mut ours } else { &mut theirs };
    *more = more.checked_mul(five(power.unsigned_abs())?).filter(|product| product >> 127 == 0)?;
    // A power of two remains. The sides differ by less than 2^-52 of their size. So if one side is below 2^127, the
    // other one fits in 128 bits after its shift.
    let shift = exponent - power;
    if shift >= 0 {
        theirs <<= shift;
    } else {
        ours <<= -shift;
    }
    Some(ours.cmp(&theirs))
}

/// The value of at most 38 digits.
fn number(digits: &[u8]) -> u128 {
    // A word holds 19 digits.
    let (high, low) = digits.split_at(digits.len().saturating_sub(19));
    u128::from(word(high)) * ten(low.len()) + u128::from(word(low))
}

/// 10^power, for a power of at most 38.
fn ten(power: usize) -> u128 {
    let half = power / 2;
    (u128::from(FIVES[half]) * u128::from(FIVES[power - half])) << power
}

/// 5^power, if the table or one product of two of its entries has it.
fn five(power: u64) -> Option<u128> {
    let most = FIVES.len() - 1;
    let power = usize::try_from(power).ok()?;
    let rest = power.saturating_sub(most);
    Some(u128::from(FIVES[power - rest]) * u128::from(*FIVES.get(rest)?))
}

/// The comparison for any number of digits.
fn compare_naturals(digits: [&[u8]; 2], power: i64, (significand, exponent): (u64, i64)) -> Ordering {
    let (mut ours, mut theirs) = (Natural::new(0), Natural::new(significand));
    digits.iter().for_each(|digits| ours.push_digits(digits));
    let more = if power >= 0 { &mut ours } else { &mut theirs };
    more.multiply_fives(power.unsigned_abs() as usize);
    let shift = exponent - power;
    let more = if shift >= 0 { &mut theirs } else { &mut ours };
    more.shift_left(shift.unsigned_abs() as u32);
    ours.cmp(&theirs)
}

/// 2^exponent as a normal binary64 number. `powi` is not exact everywhere; in Miri it is not.
pub(super) const fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The odd significand of a normal binary64 number, and the exponent of its last bit.
fn parts(value: f64) -> (u64, i64) {
    let significand = value.to_bits() & ((1 << 52) - 1) | 1 << 52;
    let free = significand.trailing_zeros();
    (significand >> free, ((value.to_bits() >> 52) & 0x7ff) as i64 - 1075 + i64::from(free))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The standard library computes the floats, so it must accept the same grammar.
    #[test]
    fn the_grammar_is_that_of_std() {
        const ALPHABET: [char; 11] = ['0', '7', '.', 'e', 'E', '+', '-', '_', 'x', ' ', '１'];
        let mut texts = vec![String::new()];
        for length in 0..=5u32 {
            for text in &texts {
                assert_eq!(scan(text).is_some(), text.parse::<f64>().is_ok(), "{text:?}");
                assert_eq!(scan(text).is_some(), text.parse::<f32>().is_ok(), "{text:?}");
            }
            if length < 5 {
                texts = texts.iter().flat_map(|text| ALPHABET.map(|c| format!("{text}{c}"))).collect();
            }
        }
        for word in
            ["inf", "Infinity", "nAn", "infinit", "in", "n", "nan(1)", "1.5f", "1e5.0", "1e+5", "1e5e5", "infe5"]
        {
            for text in ["", "+", "-", "+-", ".", "0"].map(|sign| format!("{sign}{word}")) {
                assert_eq!(scan(&text).is_some(), text.parse::<f64>().is_ok(), "{text:?}");
            }
        }
    }

    #[test]
    fn every_ascii_blank_is_trimmed_and_no_other() {
        assert_eq!(trim(" \t\n\x0b\x0c\r1 2\r\x0c\x0b\n\t "), "1 2");
        assert_eq!(trim("\u{a0}1\u{85}"), "\u{a0}1\u{85}");
        assert_eq!([trim(""), trim(" "), trim("1 "), trim(" 1")], ["", "", "1", "1"]);
    }

    /// Digits whose product with a power of five fills 128 bits and rounds to a power of two.
    #[test]
    fn products_that_fill_two_words_are_compared_by_naturals() {
        for power in 1..13u32 {
            let digits = (u128::MAX / 5u128.pow(power)).to_string();
            let decimal = format!("{digits}e{power}");
            let Some(Literal::Decimal(decimal)) = scan(&decimal) else { panic!("{decimal} is a decimal") };
            let rounded = power_of_two(128 + i64::from(power));
            assert_eq!(decimal.compare(rounded), Ordering::Less, "{digits}e{power}");
        }
    }

    #[test]
    fn both_comparisons_agree() {
        let mut compared = 0;
        for significand in [1u64, 3, 5, 2047, 4095] {
            for exponent in -80..60 {
                let value = significand as f64 * power_of_two(exponent);
                let exact = format!("{value:.80}");
                let short = format!("{value:e}");
                for text in [&exact, &short, &format!("{exact}1"), &format!("{:.12e}", value)] {
                    let Some(Literal::Decimal(decimal)) = scan(text) else { panic!("{text} is a decimal") };
                    if text.parse() != Ok(value) {
                        continue;
                    }
                    let (digits, any_other) = decimal.digits(38);
                    let len = digits[0].len() + digits[1].len();
                    let (power, float) = (decimal.point().unwrap() - len as i64, parts(value));
                    if let (false, Some(order)) = (any_other, compare_words(digits, power, float)) {
                        assert_eq!(order, compare_naturals(digits, power, float), "{text}");
                        compared += 1;
                    }
                }
            }
        }
        assert!(compared > 500, "{compared}");
    }

    #[test]
    fn exponents_of_any_length_are_counted_no_further_than_they_matter() {
        for text in ["1e99999999999999999999999999", "-1e-99999999999999999999999999", "0e99999999999999999999999999"] {
            let Some(Literal::Decimal(decimal)) = scan(text) else { panic!("{text} is a decimal") };
            assert_eq!(decimal.shortened().parse::<f64>().unwrap(), text.parse::<f64>().unwrap(), "{text}");
        }
    }
}
