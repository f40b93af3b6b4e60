//! What is a literal, and what it means, for all types.

use support::options::variants;
use support::{cast_error, numeric, oracle, variant};
use wgpu_cast::{CastFault, CastOptions, ElementType, Error};

use crate::{WHITE_SPACE, cut, integers, none_wrong, parse, parse_with, shown};

/// The code of a double, cast to a type.
pub(crate) fn code(x: f64, to: ElementType, options: &CastOptions) -> u64 {
    oracle(ElementType::DOUBLE, to, options).expected(x.to_bits())
}

/// Checks literals that are exactly a double against the oracle's cast of that, to all types under all their options.
/// What is beyond 64-bit integers has to be an error there.
pub(crate) fn check(cases: &[(&str, f64)]) {
    let mut wrong = Vec::new();
    for to in numeric() {
        let is_integer = integers().any(|(t, ..)| t == to);
        for options in variants(to) {
            for &(text, x) in cases {
                let got = parse_with(&[text], to, &options).map(|codes| codes[0]);
                let expected = if is_integer {
                    let low_bits = |whole: i128| whole as u64 & (u64::MAX >> (64 - to.bits().unwrap()));
                    let fits = x.is_finite() && x.trunc() >= -2f64.powi(63) && x < 2f64.powi(64);
                    fits.then(|| low_bits(x as i128))
                } else {
                    Some(code(x, to, &options))
                };
                let right = match (&got, expected) {
                    (Ok(got), Some(expected)) => *got == expected,
                    (Err(Error::Cast { cause: CastFault::Literal { is_number: true, .. }, .. }), None) => true,
                    _ => false,
                };
                if !right {
                    wrong.push(format!("{} to {to} {options:?}: {got:x?}, expected {expected:x?}", shown(text)));
                }
            }
        }
    }
    none_wrong(&wrong);
}

/// Checks that no type takes any of the texts.
pub(crate) fn check_refused(texts: &[String], to: impl Iterator<Item = ElementType>) {
    let mut wrong = Vec::new();
    for to in to {
        for text in texts {
            let literal = cut(text);
            let expected = variant!(Literal { index: 0, literal, is_number: false });
            let expected = cast_error([ElementType::STRING, to], expected);
            let got = parse(&[text], to);
            if got.as_ref().map_err(|error| format!("{error:?}")).err() != Some(expected.clone()) {
                wrong.push(format!("{} to {to}: {got:x?}, expected {expected:x?}", shown(text)));
            }
        }
    }
    none_wrong(&wrong);
}

#[test]
fn numbers_are_digits_with_point_sign_and_exponent_as_they_like() {
    check(&[
        ("1", 1.0),
        ("+1", 1.0),
        ("-1", -1.0),
        ("0", 0.0),
        ("+0", 0.0),
        ("1.", 1.0),
        ("+1.", 1.0),
        (".5", 0.5),
        ("-.5", -0.5),
        ("+.5", 0.5),
        ("0.5", 0.5),
        ("00.50", 0.5),
        ("007", 7.0),
        ("-007.0", -7.0),
        ("1.e1", 10.0),
        (".5e1", 5.0),
        ("-.5E+1", -5.0),
        ("5e-1", 0.5),
        ("1e2", 100.0),
        ("1E2", 100.0),
        ("1e+2", 100.0),
        ("1e-0", 1.0),
        ("1e+0", 1.0),
        ("1E0002", 100.0),
        ("25e-0002", 0.25),
        ("00000000000000000000000000000000000000000000000003", 3.0),
        ("3.00000000000000000000000000000000000000000000000000", 3.0),
        ("300000000000000000000000000000000000000000000e-44", 3.0),
        ("0.0000000000000000000000000000000000000000000003e46", 3.0),
        ("9007199254740992", 9007199254740992.0),
        ("-9223372036854775808", -9223372036854775808.0),
        ("18446744073709549568", 18446744073709549568.0),
        ("18446744073709551616", 18446744073709551616.0),
        ("448", 448.0),
        ("464", 464.0),
        ("465", 465.0),
        ("65519.99609375", 65519.99609375),
        ("65520", 65520.0),
        ("6", 6.0),
        ("-28", -28.0),
    ]);
}

#[test]
fn zeros_keep_their_sign() {
    check(&[
        ("0", 0.0),
        ("-0", -0.0),
        ("-0.0", -0.0),
        ("-.0", -0.0),
        ("-0.", -0.0),
        ("-000.000e5", -0.0),
        ("+0.0", 0.0),
    ]);
}

#[test]
fn what_rounds_to_zero_keeps_its_sign_and_is_true() {
    for text in ["1e-400", "0.1e-99999999999999999999", "+1e-5000", ".00000000000000000000000001e-500"] {
        for to in numeric() {
            for options in variants(to) {
                for (sign, zero) in [("", 0.0), ("-", -0.0)] {
                    let text = format!("{sign}{}", text.trim_start_matches('+'));
                    let expected = if to == ElementType::BOOL { 1 } else { code(zero, to, &options) };
                    assert_eq!(parse_with(&[&text], to, &options), Ok(vec![expected]), "{text} to {to} {options:?}");
                }
            }
        }
    }
}

/// Sign, saturation and rounding mode are the target's; the exponent is of any length, and no machine integer.
#[test]
fn huge_numbers_overflow_as_infinities_do() {
    let texts = [
        "1e400",
        "1e309",
        "2e308",
        "1e9999",
        "1e2147483647",
        "1e2147483648",
        "1e4294967296",
        "1e4294967297",
        "1e9223372036854775807",
        "1e9223372036854775808",
        "1e18446744073709551616",
        "1e99999999999999999999",
        "1e340282366920938463463374607431768211456",
        "0.0000000000000000000000000000001e99999999999999999999",
        "123456789012345678901234567890E+0000123456789012345678901234567890",
    ];
    for text in texts {
        check(&[(text, f64::INFINITY), (&format!("-{text}"), f64::NEG_INFINITY)]);
    }
}

/// Each of these is zero after it truncates or rounds; only its exponent is far out.
#[test]
fn exponents_far_below_zero_give_zero() {
    let tails = [
        "e-2147483648",
        "e-2147483649",
        "e-4294967296",
        "e-9223372036854775808",
        "e-9223372036854775809",
        "e-18446744073709551616",
        "e-99999999999999999999",
        "e-340282366920938463463374607431768211456",
    ];
    for tail in tails {
        for to in numeric() {
            for (sign, zero) in [("", 0.0), ("-", -0.0)] {
                let text = format!("{sign}1234567890123456789012345{tail}");
                let options = CastOptions::default();
                let expected = if to == ElementType::BOOL { 1 } else { code(zero, to, &options) };
                assert_eq!(parse(&[&text], to), Ok(vec![expected]), "{text} to {to}");
            }
        }
    }
}

#[test]
fn zero_stays_zero_under_any_exponent() {
    for tail in ["e999999999", "e-999999999", "e99999999999999999999", "e-99999999999999999999", ".000e4294967297"] {
        check(&[(&format!("0{tail}"), 0.0), (&format!("-0{tail}"), -0.0), (&format!("+00{tail}"), 0.0)]);
    }
}

#[test]
fn digits_and_exponent_cancel_out_at_any_length() {
    let zeros = "0".repeat(1_000_000);
    check(&[
        (&format!("0.{zeros}1e1000001"), 1.0),
        (&format!("-.{zeros}125e+1000001"), -1.25),
        (&format!("1{zeros}e-1000000"), 1.0),
        (&format!("25{zeros}.{zeros}e-1000001"), 2.5),
        (&format!("1{zeros}"), f64::INFINITY),
        (&format!("{zeros}7"), 7.0),
        (&format!("7.{zeros}"), 7.0),
        (&format!("0.{zeros}"), 0.0),
        (&format!("-{zeros}"), -0.0),
        (&format!("1e{zeros}1"), 10.0),
        (&format!("10e-{zeros}1"), 1.0),
    ]);
}

/// A digit a million places on decides a tie; to an integer it is cut off.
#[test]
fn the_last_of_a_million_digits_counts() {
    let zeros = "0".repeat(1_000_000);
    let nines = "9".repeat(1_000_000);
    for (text, to, expected) in [
        // Halfway between 1 and the next value of the type, and a hair above or below.
        (format!("1.00000005960464477539062500{zeros}"), ElementType::FLOAT, 0x3f80_0000),
        (format!("1.00000005960464477539062500{zeros}1"), ElementType::FLOAT, 0x3f80_0001),
        (format!("1.00000005960464477539062499{nines}"), ElementType::FLOAT, 0x3f80_0000),
        (format!("464.{zeros}"), ElementType::FLOAT8E4M3FN, 0x7e),
        (format!("2.5{zeros}"), ElementType::FLOAT4E2M1, 4),
        (format!("2.5{zeros}1"), ElementType::FLOAT4E2M1, 5),
        (format!("3.4{nines}"), ElementType::FLOAT4E2M1, 5),
        (format!("1.{zeros}1"), ElementType::FLOAT8E8M0, 0x80),
        (format!("1.{zeros}"), ElementType::FLOAT8E8M0, 0x7f),
        (format!("0.{nines}"), ElementType::FLOAT8E8M0, 0x7f),
        (format!("0.{nines}"), ElementType::UINT64, 0),
        (format!("18446744073709551615.{nines}"), ElementType::UINT64, u64::MAX),
        (format!("-9223372036854775808.{nines}"), ElementType::INT64, 1 << 63),
        (format!("0.{zeros}1"), ElementType::BOOL, 1),
        (format!("0.{zeros}0"), ElementType::BOOL, 0),
    ] {
        assert_eq!(parse(&[&text], to), Ok(vec![expected]), "{} to {to}", shown(&text));
    }
    let unsaturated = CastOptions::default().with_saturate(false);
    for (text, expected) in [(format!("464.{zeros}"), 0x7e), (format!("464.{zeros}1"), 0x7f)] {
        let got = parse_with(&[&text], ElementType::FLOAT8E4M3FN, &unsaturated);
        assert_eq!(got, Ok(vec![expected]), "{}", shown(&text));
    }
}

/// Through a double, or a float, each of these would come out as its neighbour.
#[test]
fn decimals_round_once() {
    for (text, to, expected) in [
        ("1.00000005960464477539062500000000001", ElementType::FLOAT, 0x3f80_0001),
        ("1.000000059604644775390625", ElementType::FLOAT, 0x3f80_0000),
        ("1.00048828125000000000001", ElementType::FLOAT16, 0x3c01),
        ("1.00048828125", ElementType::FLOAT16, 0x3c00),
        ("1.00390625000000000000001", ElementType::BFLOAT16, 0x3f81),
        ("1.00390625", ElementType::BFLOAT16, 0x3f80),
        ("1.06250000000000000000001", ElementType::FLOAT8E4M3FN, 0x39),
        ("1.0625", ElementType::FLOAT8E4M3FN, 0x38),
        ("0.25000000000000000000001", ElementType::FLOAT4E2M1, 1),
        ("0.25", ElementType::FLOAT4E2M1, 0),
        ("1.00000000000000000000001", ElementType::FLOAT8E8M0, 0x80),
        ("65519.9999999999999999999", ElementType::FLOAT16, 0x7bff),
        ("0.60484552383422851", ElementType::FLOAT, 0x3f1a_d728),
        ("2.4703282292062327e-324", ElementType::DOUBLE, 0),
        ("2.4703282292062328e-324", ElementType::DOUBLE, 1),
        ("1.7976931348623158e308", ElementType::DOUBLE, 0x7fef_ffff_ffff_ffff),
        ("1.7976931348623158079e308", ElementType::DOUBLE, 0x7fef_ffff_ffff_ffff),
        ("1.797693134862315808e308", ElementType::DOUBLE, 0x7ff0_0000_0000_0000),
    ] {
        assert_eq!(parse(&[text], to), Ok(vec![expected]), "{text} to {to}");
    }
}

#[test]
fn white_space_around_a_literal_does_not_count() {
    let mut texts = Vec::new();
    for space in WHITE_SPACE {
        texts.extend([format!("{space}1"), format!("1{space}"), format!("{space}{space}1{space}")]);
    }
    let all: String = WHITE_SPACE.iter().collect();
    texts.push(format!("{all}+1.0e0{all}"));
    texts.push(format!("{}1{}", all.repeat(10_000), all.repeat(10_000)));
    for to in numeric() {
        let one = parse(&["1"], to).unwrap();
        assert_eq!(one, [oracle(ElementType::BOOL, to, &CastOptions::default()).expected(1)]);
        assert_eq!(parse(&texts, to), Ok(one.repeat(texts.len())), "{to}");
    }
    for space in WHITE_SPACE {
        let texts = [format!("{space}True{space}"), format!("{space}false"), format!("nan{space}")];
        assert_eq!(parse(&texts, ElementType::BOOL), Ok(vec![1, 0, 1]), "{space:?}");
    }
}

#[test]
fn other_white_space_is_garbage() {
    let others = "\0\u{1}\u{8}\u{1c}\u{1d}\u{1e}\u{1f}\u{7f}\u{85}\u{a0}\u{1680}\u{2003}\u{2028}\u{202f}\u{200b}\
                  \u{3000}\u{feff}";
    let texts: Vec<String> =
        others.chars().flat_map(|c| [format!("{c}1"), format!("1{c}"), format!(" {c} 1")]).collect();
    check_refused(&texts, numeric());
}

#[test]
fn what_is_no_literal_is_refused() {
    let texts = "Hello;1_000;0x10;0X1P3;0b1;0o7;1e;1E;1e+;1e-;1e1.5;1e5e5;e5;.e5;E1;1.5f;1.0d;1L;10u;nan(1);nan0;nans;\
                 nann;na;n;in;i;infi;infinit;infinityy;inff;inf inity;infinite;1.#INF;#NaN;１２;1２;٣;½;²;−1;1e−5;∞;-∞;\
                 ınf;ınfınıty;İNF;ＮａＮ;ﬁ;.;+.;-.;..;+;-;++1;--1;+-1;-+1;+ 1;- 1;1 2;1 .5;1. 5;1 e5;1e 5;1e+ 5;1.2.3;\
                 .1.;1..2;1,5;1,000;1'000;1/2;1%;$1;(1);\"1\";'1';1+1;1-;1+;1e5-;5.e;-e5;- inf;+-inf;--nan;1inf;inf1;\
                 1nan;inf.;.inf;nan.0;infe5;None;null;yes;no;t;f;on;off;tru;fals;truee;falsee;true1;0false;+true;\
                 -false;true false;tr ue;falſe;ｔｒｕｅ;ＴＲＵＥ;\u{661}\u{662};1\u{301};1\u{0};\u{0};\u{0}1;1\u{200b};é;😀;1😀";
    let mut texts: Vec<String> = texts.split(';').map(str::to_owned).collect();
    texts.extend(["", " ", "\t\n", ";", "1;", "1\n2", "1\r\n2"].map(str::to_owned));
    texts.push(format!("{}x", "1".repeat(100_000)));
    texts.push(format!("x{}", "1".repeat(100_000)));
    texts.push(format!("1e{}x", "1".repeat(100_000)));
    texts.push(" ".repeat(100_000));
    check_refused(&texts, numeric());
}
