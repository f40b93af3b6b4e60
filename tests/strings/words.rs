//! Infinities, NaN and truth values.

use support::assert_fault;
use support::numeric;
use support::options::{all_options, variants};
use support::random::Random;
use wgpu_cast::{CastOptions, ElementType};

use crate::rules::{check_refused, code};
use crate::{integers, parse, parse_with, print};

/// A word with other letters in upper case each time, by the bits of `upper`.
fn in_case(word: &str, upper: u32) -> String {
    let letter = |(i, c): (usize, char)| if upper >> i & 1 == 1 { c.to_ascii_uppercase() } else { c };
    word.chars().enumerate().map(letter).collect()
}

/// Every code of the word's letters in upper or lower case, with each sign, under all options.
#[test]
fn infinities_and_nan_are_read_in_any_case() {
    let mut random = Random::new(5);
    for (word, x) in [("inf", f64::INFINITY), ("infinity", f64::INFINITY), ("nan", f64::NAN)] {
        for upper in 0..1 << word.len() {
            let text = in_case(word, upper);
            let texts = [text.clone(), format!("+{text}"), format!("-{text}"), format!(" {text}\n")];
            let values = [x, x, -x, x];
            for to in numeric().filter(|_| upper == 0 || random.one_in(4)) {
                for options in if upper == 0 { all_options() } else { variants(to) } {
                    if integers().any(|(t, ..)| t == to) {
                        let errors = texts.iter().map(|text| parse_with(&[text], to, &options).unwrap_err());
                        for (error, literal) in errors.zip(texts.clone()) {
                            assert_fault!(
                                error,
                                [ElementType::STRING, to],
                                Literal { index: 0, literal, is_number: true }
                            );
                        }
                        continue;
                    }
                    let expected = values.map(|x| code(x, to, &options));
                    let got = parse_with(&texts, to, &options).unwrap();
                    assert_eq!(got, expected, "{texts:?} to {to} {options:?}");
                }
            }
        }
    }
}

/// The codes themselves, without an oracle.
#[test]
fn special_values_have_the_codes_of_their_type() {
    let texts = ["nan", "-nan", "inf", "-inf", "1e999", "-1e999", "0", "-0"];
    let open = CastOptions::default().with_saturate(false);
    let saturate = CastOptions::default();
    for (to, options, expected) in [
        (ElementType::FLOAT16, saturate, [0x7e00, 0xfe00, 0x7c00, 0xfc00, 0x7c00, 0xfc00, 0, 0x8000]),
        (ElementType::BFLOAT16, saturate, [0x7fc0, 0xffc0, 0x7f80, 0xff80, 0x7f80, 0xff80, 0, 0x8000]),
        (
            ElementType::FLOAT,
            saturate,
            [0x7fc0_0000, 0xffc0_0000, 0x7f80_0000, 0xff80_0000, 0x7f80_0000, 0xff80_0000, 0, 0x8000_0000],
        ),
        (
            ElementType::DOUBLE,
            saturate,
            [0x7ff8, 0xfff8, 0x7ff0, 0xfff0, 0x7ff0, 0xfff0, 0, 0x8000].map(|top: u64| top << 48),
        ),
        (ElementType::FLOAT8E4M3FN, saturate, [0x7f, 0xff, 0x7e, 0xfe, 0x7e, 0xfe, 0, 0x80]),
        (ElementType::FLOAT8E4M3FN, open, [0x7f, 0xff, 0x7f, 0xff, 0x7f, 0xff, 0, 0x80]),
        (ElementType::FLOAT8E4M3FNUZ, saturate, [0x80, 0x80, 0x7f, 0xff, 0x7f, 0xff, 0, 0]),
        (ElementType::FLOAT8E4M3FNUZ, open, [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0]),
        (ElementType::FLOAT8E5M2, saturate, [0x7e, 0xfe, 0x7b, 0xfb, 0x7b, 0xfb, 0, 0x80]),
        (ElementType::FLOAT8E5M2, open, [0x7e, 0xfe, 0x7c, 0xfc, 0x7c, 0xfc, 0, 0x80]),
        (ElementType::FLOAT8E5M2FNUZ, saturate, [0x80, 0x80, 0x7f, 0xff, 0x7f, 0xff, 0, 0]),
        (ElementType::FLOAT8E5M2FNUZ, open, [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0]),
        (ElementType::FLOAT8E8M0, saturate, [0xff, 0xff, 0xfe, 0, 0xfe, 0, 0, 0]),
        (ElementType::FLOAT8E8M0, open, [0xff; 8]),
        (ElementType::FLOAT6E2M3, saturate, [0x20, 0, 0x1f, 0x3f, 0x1f, 0x3f, 0, 0x20]),
        (ElementType::FLOAT6E3M2, open, [0x20, 0, 0x1f, 0x3f, 0x1f, 0x3f, 0, 0x20]),
        (ElementType::FLOAT4E2M1, saturate, [8, 0, 7, 15, 7, 15, 0, 8]),
        (ElementType::BOOL, saturate, [1, 1, 1, 1, 1, 1, 0, 0]),
    ] {
        assert_eq!(parse_with(&texts, to, &options), Ok(expected.to_vec()), "{to} {options:?}");
    }
}

/// Words for truth values are BOOL's alone.
#[test]
fn bool_reads_true_and_false_in_any_case() {
    for (word, expected) in [("true", 1), ("false", 0)] {
        let texts: Vec<String> = (0..1 << word.len()).map(|upper| in_case(word, upper)).collect();
        assert_eq!(parse(&texts, ElementType::BOOL), Ok(vec![expected; texts.len()]));
        check_refused(&texts, numeric().filter(|t| *t != ElementType::BOOL));
    }
}

#[test]
fn bool_reads_numbers_as_true_unless_zero() {
    let zeros = ["0", "-0", "+0", "0.0", "-0.0", ".0", "0.", "0e5", "-0e-5", "0e99999999999999999999", " 0 ", "000"];
    assert_eq!(parse(&zeros, ElementType::BOOL), Ok(vec![0; zeros.len()]));
    let others = [
        "1",
        "-1",
        "0.5",
        "1e-400",
        "-1e-99999999999",
        "1e400",
        "nan",
        "-NaN",
        "INF",
        "-inf",
        "2",
        "256",
        ".1",
        " 9\t",
    ];
    assert_eq!(parse(&others, ElementType::BOOL), Ok(vec![1; others.len()]));
}

#[test]
fn bool_prints_as_true_and_false_with_a_capital() {
    assert_eq!(print(ElementType::BOOL, &[0, 1, 2, 0xff, 0x80]), ["False", "True", "True", "True", "True"]);
}
