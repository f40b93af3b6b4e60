//! Decimals to integers and back, against integers of any length.

use num_bigint::BigUint;
use support::cases;
use support::options::all_options;
use support::random::Random;
use support::tier::count;
use support::{cast_error, variant};
use wgpu_cast::{CastFault, ElementType, Error};

use crate::decimal::Decimal;
use crate::literals::written;
use crate::{integers, none_wrong, parse, parse_with, print, shown};

/// The low bits of what is left of a literal without its fraction; `None` where no 64-bit integer is that.
fn expected(text: &str, bits: u32) -> Option<u64> {
    let (negative, Decimal { digits, exponent }) = Decimal::read(text);
    let power = BigUint::from(10u8).pow(exponent.unsigned_abs() as u32);
    let whole = if exponent < 0 { digits / power } else { digits * power };
    let whole = i128::try_from(whole).ok()?;
    let whole = if negative { -whole } else { whole };
    let fits = (-(1i128 << 63)..1 << 64).contains(&whole);
    fits.then_some(whole as u64 & (u64::MAX >> (64 - bits)))
}

/// Decimals at and around the limits of the integer types, with and without a fraction.
fn decimal(random: &mut Random) -> Decimal {
    let power = BigUint::from(1u8) << random.below(66);
    let whole = match random.below(6) {
        0 => power,
        1 => power + random.below(3),
        2 => (power + 2u8) - random.below(3).min(2) - 1u8,
        3 => BigUint::from(random.next() >> random.below(64)),
        4 => BigUint::from(random.next()) * random.below(1000),
        _ => BigUint::from(random.below(300)),
    };
    let places = if random.one_in(20) { 400 } else { random.below(30) };
    let scale = BigUint::from(10u8).pow(places as u32);
    let fraction = match random.below(5) {
        0 => BigUint::ZERO,
        1 => &scale - 1u8,
        2 => BigUint::from(1u8) % &scale,
        3 => &scale / 2u8,
        _ => BigUint::from(random.next()) % &scale,
    };
    let power_of_10 = if random.one_in(4) { random.below(24) as i64 - 12 } else { 0 };
    Decimal::new(whole * scale + fraction, power_of_10 - places as i64)
}

/// In one tensor what is in range, one by one what is not.
#[test]
fn decimals_truncate_and_keep_their_low_bits() {
    let mut random = Random::new(64);
    let texts: Vec<String> = (0..count(50_000, 4_000))
        .map(|_| {
            let decimal = decimal(&mut random);
            written(&mut random, &decimal, &["", "", "+", "-"])
        })
        .collect();
    let mut wrong = Vec::new();
    for (to, bits, _) in integers() {
        let (fit, beyond): (Vec<&String>, Vec<&String>) = texts.iter().partition(|text| expected(text, bits).is_some());
        assert!(
            fit.len() > texts.len() * 2 / 5 && beyond.len() > texts.len() / 25,
            "{} in range, {} beyond",
            fit.len(),
            beyond.len()
        );
        match parse(&fit, to) {
            Ok(codes) => {
                for (text, got) in fit.iter().zip(codes) {
                    let expected = expected(text, bits).unwrap();
                    if got != expected {
                        wrong.push(format!("{} to {to}: {got:x}, expected {expected:x}", shown(text)));
                    }
                }
            }
            Err(error) => wrong.push(format!("{error}, but is in range")),
        }
        for text in beyond.into_iter().take(3_000) {
            let got = parse(&[text], to);
            if !matches!(got, Err(Error::Cast { cause: CastFault::Literal { index: 0, is_number: true, .. }, .. })) {
                wrong.push(format!("{} to {to}: {got:x?}, expected to be out of range", shown(text)));
            }
        }
    }
    none_wrong(&wrong);
}

#[test]
fn decimals_become_integers_as_written_here() {
    use ElementType::*;
    let (max, min) = (u64::MAX, 1u64 << 63);
    for (to, cases) in [
        (
            INT64,
            &[
                ("100.5", Some(100)),
                ("-100.5", Some(-100i64 as u64)),
                ("1e3", Some(1000)),
                ("12345e-2", Some(123)),
                ("-12345e-2", Some(-123i64 as u64)),
                ("-0.9", Some(0)),
                ("0.99999999999999999999999999", Some(0)),
                ("-0", Some(0)),
                ("9223372036854775807", Some(min - 1)),
                ("9223372036854775808", Some(min)),
                ("9007199254740993", Some(9007199254740993)),
                ("1234567890123456789", Some(1234567890123456789)),
                ("-9223372036854775808", Some(min)),
                ("-9223372036854775808.9", Some(min)),
                ("-9223372036854775809", None),
                ("-9.223372036854775809e18", None),
                ("18446744073709551615", Some(max)),
                ("18446744073709551615.99999999999999999999", Some(max)),
                ("18446744073709551616", None),
                ("1e20", None),
                ("-1e19", None),
                ("1e-400", Some(0)),
                ("1e400", None),
                ("-1e400", None),
                ("0e400", Some(0)),
                ("inf", None),
                ("-infinity", None),
                ("nan", None),
                ("-nan", None),
            ][..],
        ),
        (
            UINT64,
            &[
                ("-1", Some(max)),
                ("-1.9", Some(max)),
                ("-9223372036854775808.9", Some(min)),
                ("-9223372036854775809", None),
                ("18446744073709551615", Some(max)),
                ("1844674407370955161.5e1", Some(max)),
                ("1844674407370955161.6e1", None),
                ("184467440737095516159e-1", Some(max)),
                ("184467440737095516160e-1", None),
                ("0.00018446744073709551615e23", Some(max)),
                ("00018446744073709551615.", Some(max)),
                ("1.8446744073709551616e19", None),
                ("-0.9", Some(0)),
                ("NaN", None),
            ],
        ),
        (INT8, &[("128", Some(0x80)), ("-129", Some(0x7f)), ("255", Some(0xff)), ("256", Some(0)), ("1e20", None)]),
        (UINT8, &[("300", Some(44)), ("-1", Some(0xff)), ("18446744073709551615", Some(0xff)), ("-0.5", Some(0))]),
        (INT16, &[("32768", Some(0x8000)), ("65536.5", Some(0)), ("-1e0", Some(0xffff))]),
        (UINT16, &[("65535.9", Some(0xffff)), ("65536", Some(0)), ("-32769", Some(0x7fff))]),
        (INT32, &[("2147483648", Some(0x8000_0000)), ("4294967297", Some(1)), ("1e18", Some(0xa764_0000))]),
        (UINT32, &[("4294967296", Some(0)), ("-1", Some(0xffff_ffff)), ("9e19", None)]),
        (INT4, &[("8", Some(8)), ("-9", Some(7)), ("100", Some(4)), ("7.9", Some(7)), ("-8.9", Some(8))]),
        (UINT4, &[("16", Some(0)), ("-1", Some(15)), ("1e3", Some(8)), ("0.9", Some(0))]),
        (INT2, &[("2", Some(2)), ("-3", Some(1)), ("1.999", Some(1)), ("18446744073709551616", None)]),
        (UINT2, &[("4", Some(0)), ("7", Some(3)), ("-1", Some(3)), ("inf", None)]),
    ] {
        for &(text, expected) in cases {
            for options in all_options() {
                let expected = match expected {
                    Some(code) => Ok(vec![code]),
                    None => {
                        let cause = variant!(Literal { index: 0, literal: text, is_number: true });
                        Err(cast_error([ElementType::STRING, to], cause))
                    }
                };
                let got = parse_with(&[text], to, &options).map_err(|error| format!("{error:?}"));
                assert_eq!(got, expected, "{text:?} to {to}");
            }
        }
    }
}

#[test]
fn integers_print_as_plain_decimals() {
    for (from, bits, signed) in integers() {
        let mut codes = cases::codes(from);
        codes.extend(cases::random(from, 20_000, 3));
        let texts = print(from, &codes);
        for (&code, text) in codes.iter().zip(&texts) {
            let value = i128::from(code);
            let value = if signed && value >> (bits - 1) == 1 { value - (1 << bits) } else { value };
            assert_eq!(*text, value.to_string(), "{from} {code:x}");
        }
    }
    let texts = print(ElementType::INT64, &[0, 1 << 63, u64::MAX, (1 << 63) - 1]);
    assert_eq!(texts, ["0", "-9223372036854775808", "-1", "9223372036854775807"]);
    assert_eq!(print(ElementType::UINT64, &[u64::MAX, 1000]), ["18446744073709551615", "1000"]);
    assert_eq!(print(ElementType::INT4, &[7, 8, 15]), ["7", "-8", "-1"]);
    assert_eq!(print(ElementType::INT2, &[0, 1, 2, 3]), ["0", "1", "-2", "-1"]);
    assert_eq!(print(ElementType::UINT2, &[0, 1, 2, 3]), ["0", "1", "2", "3"]);
}
