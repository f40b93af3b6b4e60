//! Reads one string as one number, in the bits of a 64-bit word.

use std::cmp::Ordering;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::literal::{Literal, power_of_two, scan};

/// Why a string cannot be read as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not a literal.
    Invalid,
    /// It is a literal, but no 64-bit integer has its value.
    OutOfRange,
}

/// The value as binary32 bits, rounded once. NaN becomes the canonical NaN.
pub(super) fn f32_bits(literal: &str) -> Result<u64, Fault> {
    let value: f32 = float(literal)?;
    if value.is_nan() {
        return Ok(0x7fc0_0000 | u64::from(literal.starts_with('-')) << 31);
    }
    Ok(value.to_bits().into())
}

/// The value as binary64 bits, rounded once. NaN becomes the canonical NaN.
pub(super) fn f64_bits(literal: &str) -> Result<u64, Fault> {
    let value: f64 = float(literal)?;
    if value.is_nan() {
        return Ok(0x7ff8_0000_0000_0000 | u64::from(literal.starts_with('-')) << 63);
    }
    Ok(value.to_bits())
}

/// The value as binary64 bits **rounded to odd**. Rounding these once more, to a float of at most 16 bits, gives the
/// same result as rounding the exact decimal once.
pub(super) fn f64_bits_to_odd(literal: &str) -> Result<u64, Fault> {
    // Consider the floats of at most 16 bits, and the numbers halfway between two of them. They have at most 12
    // significant bits (for FLOAT16), so they are binary64 numbers whose last 41 bits are zero. Rounding to nearest
    // never crosses a binary64 number. So unless the result is such a number itself, the decimal lies on the same side
    // of all such numbers as the result, and the result can be used as it is. Except for zero, the magnitudes of these
    // numbers lie inside `RANGE`.
    const CUT: u64 = (1 << 41) - 1;
    const RANGE: RangeInclusive<f64> = power_of_two(-160)..=power_of_two(140);
    if literal.len() > LONG {
        return f64_bits_to_odd(&shortened(literal)?);
    }
    let bits = f64_bits(literal)?;
    let rounded = f64::from_bits(bits);
    let between = rounded != 0.0 && !RANGE.contains(&rounded.abs());
    if bits & CUT != 0 || between || literal.len() <= 15 && has_few_digits(rounded) {
        return Ok(bits);
    }
    let Some(Literal::Decimal(decimal)) = scan(literal) else { return Err(Fault::Invalid) };
    Ok(match decimal.compare(rounded) {
        Ordering::Less => bits - 1,
        Ordering::Equal => bits,
        Ordering::Greater => bits | 1,
    })
}

/// Whether a number is not zero, is below 10^8 and is a multiple of 1/128. Such a number has at most 15 decimal digits.
/// No two decimals of 15 digits round to the same binary64 number. So a literal of at most 15 bytes that rounds to this
/// number is equal to it.
fn has_few_digits(value: f64) -> bool {
    let parts = value * 128.0;
    value != 0.0 && value.abs() < 1e8 && parts as i64 as f64 == parts
}

/// The integer part in two's complement, if it fits in 64 bits, signed or unsigned.
pub(super) fn integer(literal: &str) -> Result<u64, Fault> {
    if let Ok(value) = literal.parse::<i64>() {
        return Ok(value as u64);
    }
    let decimal = match scan(literal) {
        None => return Err(Fault::Invalid),
        Some(Literal::NotFinite) => return Err(Fault::OutOfRange),
        Some(Literal::Decimal(decimal)) => decimal,
    };
    let magnitude = decimal.truncated().and_then(|magnitude| u64::try_from(magnitude).ok()).ok_or(Fault::OutOfRange)?;
    match decimal.negative {
        false => Ok(magnitude),
        true if magnitude <= 1 << 63 => Ok(magnitude.wrapping_neg()),
        true => Err(Fault::OutOfRange),
    }
}

/// A truth value as 0 or 1. It is decided on the digits, because a literal that rounds to zero need not be zero.
pub(super) fn truth(literal: &str) -> Result<u64, Fault> {
    match scan(literal) {
        Some(Literal::Decimal(decimal)) => Ok((!decimal.is_zero()).into()),
        Some(Literal::NotFinite) => Ok(1),
        None if literal.eq_ignore_ascii_case("true") => Ok(1),
        None if literal.eq_ignore_ascii_case("false") => Ok(0),
        None => Err(Fault::Invalid),
    }
}

/// The longest literal that the standard library reads correctly. It stops counting exponents not far above 65,536,
/// which makes a difference only for literals with as many digits.
const LONG: usize = 4096;

fn float<F: FromStr>(literal: &str) -> Result<F, Fault> {
    if literal.len() <= LONG {
        return literal.parse().map_err(|_| Fault::Invalid);
    }
    shortened(literal)?.parse().map_err(|_| Fault::Invalid)
}

/// A short literal that rounds to the same float.
fn shortened(literal: &str) -> Result<String, Fault> {
    match scan(literal) {
        Some(Literal::Decimal(decimal)) => Ok(decimal.shortened()),
        _ => Err(Fault::Invalid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::element::{ElementType, Kind};

    /// The number of digits of long literals. Miri takes minutes for a million of them.
    const MANY: usize = if cfg!(miri) { 1_000 } else { 1_000_000 };

    /// The decimal minus one unit of its last digit. The decimal must have several digits.
    fn less(decimal: &str) -> String {
        let mut bytes = decimal.as_bytes().to_vec();
        for byte in bytes.iter_mut().rev().filter(|byte| byte.is_ascii_digit()) {
            if *byte != b'0' {
                *byte -= 1;
                break;
            }
            *byte = b'9';
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn rounding_to_odd_tells_sides_of_every_number_and_halfway_point() {
        for element_type in ElementType::ALL {
            let Kind::Float(format) = element_type.kind() else { continue };
            if !format.is_signed() || format.bits() > 16 {
                continue;
            }
            let step = if format.bits() == 16 { 37 } else { 1 };
            for code in (1..=2 * format.max() + 1).step_by(step) {
                // With one more significand bit, even codes are numbers and odd codes are the points halfway between
                // them.
                let man = format.man_bits + 1;
                let (field, fraction) = ((code >> man).max(1), code & ((1 << man) - 1));
                let significand = if code >> man == 0 { fraction } else { fraction | 1 << man };
                let value = significand as f64 * power_of_two(field as i64 - i64::from(format.bias) - i64::from(man));
                let bits = value.to_bits();
                let exact = format!("{value:.150}");
                assert_eq!(f64_bits_to_odd(&exact), Ok(bits), "{exact}");
                assert_eq!(f64_bits_to_odd(&format!("{value:.150e}")), Ok(bits), "{value:e}");
                for above in [format!("{exact}1"), format!("{exact}{}1", "0".repeat(9_000)), format!("-{exact}01")] {
                    let sign = u64::from(above.starts_with('-')) << 63;
                    assert_eq!(f64_bits_to_odd(&above), Ok(bits | 1 | sign), "{above}");
                }
                assert_eq!(f64_bits_to_odd(&less(&exact)), Ok(bits - 1), "{exact}");
            }
        }
    }

    #[test]
    fn rounding_to_odd_at_the_ends() {
        for (literal, bits) in [
            ("0", 0),
            ("-0e99999999999", 1 << 63),
            ("1e-400", 1),
            ("-1e-99999999999999999999", 1 << 63 | 1),
            ("1e400", 0x7ff0_0000_0000_0000),
            ("-inf", 0xfff0_0000_0000_0000),
            ("-nan", 0xfff8_0000_0000_0000),
            ("2049", 2049f64.to_bits()),
            ("2049.0000000000000000000000000001", 2049f64.to_bits() + 1),
            ("2048.9999999999999999999999999999", 2049f64.to_bits() - 1),
            ("4.94e-324", 1),
        ] {
            assert_eq!(f64_bits_to_odd(literal), Ok(bits), "{literal}");
        }
        // A digit far behind the others, but before the decimal point.
        let above = format!("2049{}1e-201", "0".repeat(200));
        assert_eq!(f64_bits_to_odd(&above), Ok(2049f64.to_bits() + 1));
    }

    #[test]
    fn integers_are_exact() {
        for (literal, value) in [
            ("100.5", Ok(100)),
            ("1e3", Ok(1000)),
            ("-0.9", Ok(0)),
            ("12345e-2", Ok(123)),
            ("-1", Ok(u64::MAX)),
            ("+.5e1", Ok(5)),
            ("18446744073709551615.99", Ok(u64::MAX)),
            ("18446744073709551616", Err(Fault::OutOfRange)),
            ("1844674407370955161599e-2", Ok(u64::MAX)),
            ("-9223372036854775808.9", Ok(1 << 63)),
            ("-9223372036854775809", Err(Fault::OutOfRange)),
            ("-18446744073709551615", Err(Fault::OutOfRange)),
            ("0.00000000000000000000000000018446744073709551615e46", Ok(1844674407370955161)),
            ("1e1000000000", Err(Fault::OutOfRange)),
            ("0e999999999999999999999999", Ok(0)),
            ("9e-999999999999999999999999", Ok(0)),
            ("100000000000000000000", Err(Fault::OutOfRange)),
            ("nan", Err(Fault::OutOfRange)),
            ("-Infinity", Err(Fault::OutOfRange)),
            ("1_000", Err(Fault::Invalid)),
            ("", Err(Fault::Invalid)),
        ] {
            assert_eq!(integer(literal), value, "{literal}");
        }
        let zeros = "0".repeat(MANY);
        assert_eq!(integer(&format!("0.{zeros}1e{}", MANY + 1)), Ok(1));
        assert_eq!(integer(&format!("7{zeros}e-{MANY}")), Ok(7));
    }

    #[test]
    fn truth_is_decided_on_the_digits() {
        for (literal, value) in [
            ("TRUE", Ok(1)),
            ("False", Ok(0)),
            ("1e-99999", Ok(1)),
            ("-0.000e5", Ok(0)),
            ("-nan", Ok(1)),
            ("inf", Ok(1)),
            ("yes", Err(Fault::Invalid)),
            ("", Err(Fault::Invalid)),
        ] {
            assert_eq!(truth(literal), value, "{literal}");
        }
    }

    #[test]
    fn long_literals_are_exact() {
        let zeros = "0".repeat(MANY);
        for (literal, value) in [
            (format!("0.{zeros}1e{}", MANY + 1), 1.0),
            (format!("-1{zeros}e-{MANY}"), -1.0),
            (format!("{zeros}1.5{zeros}"), 1.5),
            (format!("-0.{zeros}"), -0.0),
            (format!("9007199254740993{zeros}e-{MANY}"), 9007199254740992.0),
            (format!("9007199254740993{zeros}1e-{}", MANY + 1), 9007199254740994.0),
            (format!("1{zeros}"), f64::INFINITY),
            (format!("-.{zeros}1"), -0.0),
            // Halfway between 1 and the next number, and just above that.
            (format!("1.00000000000000011102230246251565404236316680908203125{zeros}"), 1.0),
            (format!("1.00000000000000011102230246251565404236316680908203125{zeros}1"), 1.0f64.next_up()),
        ] {
            assert_eq!(f64_bits(&literal), Ok(value.to_bits()));
        }
        assert_eq!(f32_bits(&format!("1.000000059604644775390625{zeros}1")), Ok(0x3f80_0001));
        for literal in [format!("{zeros}x"), format!("1e{zeros}_"), format!("inf{zeros}"), format!(".e{zeros}")] {
            assert_eq!(f64_bits(&literal), Err(Fault::Invalid));
        }
        assert_eq!(f64_bits(&format!("1e{zeros}2")), Ok(100f64.to_bits()));
    }

    #[test]
    fn nan_is_canonical() {
        assert_eq!(["nan", "-NaN", "+nan"].map(f32_bits), [Ok(0x7fc0_0000), Ok(0xffc0_0000), Ok(0x7fc0_0000)]);
    }
}
