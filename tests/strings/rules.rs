//! What is a literal, and what it means, for all types.

use wgpu_cast::{CastOptions, ElementType, Error, Tensor, cpu};

use crate::common::{all_options, cases, numeric, oracle, variants};
use crate::{Random, WHITE_SPACE, cut, floats, integers, none_wrong, parse, parse_with, print, shown, strings};

/// The code of a double, cast to a type.
fn code(x: f64, to: ElementType, options: &CastOptions) -> u64 {
    oracle(ElementType::DOUBLE, to, options).expected(x.to_bits())
}

/// Checks literals that are exactly a double against the oracle's cast of that, to all types under all their options.
/// What is beyond 64-bit integers has to be an error there.
fn check(cases: &[(&str, f64)]) {
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
                    (Err(Error::LiteralOutOfRange { .. }), None) => true,
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
fn check_refused(texts: &[String], to: impl Iterator<Item = ElementType>) {
    let mut wrong = Vec::new();
    for to in to {
        for text in texts {
            let literal = cut(text);
            let expected = Err(Error::InvalidLiteral { to, index: 0, literal });
            let got = parse(&[text], to);
            if got != expected {
                wrong.push(format!("{} to {to}: {got:x?}, expected {expected:x?}", shown(text)));
            }
        }
    }
    none_wrong(&wrong);
}

/// A word with other letters in upper case each time, by the bits of `upper`.
fn in_case(word: &str, upper: u32) -> String {
    let letter = |(i, c): (usize, char)| if upper >> i & 1 == 1 { c.to_ascii_uppercase() } else { c };
    word.chars().enumerate().map(letter).collect()
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
                            assert_eq!(error, Error::LiteralOutOfRange { to, index: 0, literal });
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

#[test]
fn strings_to_strings_are_the_same() {
    let given = ["", " ", " 1 ", "Hello", "1_000", "nan", "ä😀\u{0}", "TRUE", "0x10", "-0"];
    for options in all_options() {
        for shape in [vec![given.len()], vec![2, 5], vec![1, 10, 1]] {
            let tensor = Tensor::from_strings(shape, given).unwrap();
            assert_eq!(cpu::cast(&tensor, ElementType::STRING, &options), Ok(tensor));
        }
    }
}

#[test]
fn scalars_and_empty_tensors_keep_their_shape() {
    for t in numeric() {
        for (shape, count) in
            [(vec![], 1), (vec![0], 0), (vec![3, 0, usize::MAX], 0), (vec![1, 3], 3), (vec![3, 1, 1], 3)]
        {
            let codes = Tensor::from_codes(t, shape.clone(), vec![1; count]).unwrap();
            let texts = Tensor::from_strings(shape.clone(), vec!["1"; count]).unwrap();
            let printed = cpu::cast(&codes, ElementType::STRING, &Default::default()).unwrap();
            let parsed = cpu::cast(&texts, t, &Default::default()).unwrap();
            let copied = cpu::cast(&texts, ElementType::STRING, &Default::default()).unwrap();
            assert_eq!(copied, texts);
            for (result, to) in [(printed, ElementType::STRING), (parsed, t)] {
                assert_eq!((result.element_type(), result.shape(), result.len()), (to, &shape[..], count), "{t}");
                let found = result.strings().map_or(result.codes().len(), |strings| strings.len());
                assert_eq!(found, count);
            }
        }
    }
}

/// Neighbours in a tensor have nothing to do with each other, whatever they look like in a row.
#[test]
fn elements_do_not_run_into_each_other() {
    let texts = ["1", "2", ".5", "3.", "4", "+5", "-6", "7e1", "0"];
    let expected = [1.0f32, 2.0, 0.5, 3.0, 4.0, 5.0, -6.0, 70.0, 0.0].map(|x| u64::from(x.to_bits()));
    assert_eq!(parse(&texts, ElementType::FLOAT), Ok(expected.to_vec()));
    for (texts, index) in [
        (&["1", "e5"][..], 1),
        (&["1e", "5"], 0),
        (&["-", "1"], 0),
        (&["1", "", "2"], 1),
        (&["1", "2", ""], 2),
        (&["", "1"], 0),
        (&["in", "f"], 0),
        (&["1", ".", "5"], 1),
    ] {
        for to in numeric() {
            let literal = texts[index].to_owned();
            assert_eq!(parse(texts, to), Err(Error::InvalidLiteral { to, index, literal }), "{texts:?}");
        }
    }
}

/// Text and back, for every type: every code of up to 16 bits, and many of the others. NaN comes back as the canonical
/// one, without its payload, and positive, as its text has no sign.
#[test]
fn printed_codes_read_back_as_the_same() {
    // E8M0's text is that of a float, and may lie a little beside the power of two, if not below the least of them.
    let options = CastOptions::default().with_saturate(false).with_round_mode(wgpu_cast::RoundMode::Nearest);
    let mut wrong = Vec::new();
    for t in numeric() {
        let mut codes = cases::codes(t);
        codes.extend(cases::random(t, 50_000, 11));
        let texts = print(t, &codes);
        let as_double = oracle(t, ElementType::DOUBLE, &options);
        let nan = code(f64::NAN, t, &options);
        for ((&given, text), got) in codes.iter().zip(&texts).zip(parse_with(&texts, t, &options).unwrap()) {
            let expected = match t {
                ElementType::BOOL => u64::from(given != 0),
                _ if floats().any(|f| f == t) && f64::from_bits(as_double.expected(given)).is_nan() => nan,
                _ => given,
            };
            if got != expected {
                wrong.push(format!("{t} {given:x} is {}, read as {got:x}, expected {expected:x}", shown(text)));
            }
        }
    }
    none_wrong(&wrong);
}

/// Many elements go with threads, few without; both ways, with texts of very different lengths.
#[test]
fn short_and_long_tensors_agree() {
    for t in numeric() {
        let codes = cases::random(t, 150_001, 7);
        let texts = print(t, &codes);
        let options = CastOptions::default();
        let parsed = parse(&texts, t).unwrap();
        let text_tensor = strings(&texts);
        assert_eq!(cpu::cast(&text_tensor, ElementType::STRING, &options), Ok(text_tensor));
        let mut wrong = Vec::new();
        for part in [1, 7, 500, 997, 20_011] {
            // Single elements take long, and their places do not matter.
            let starts = (0..codes.len()).step_by(part).take(1000);
            for range in starts.map(|start| start..(start + part).min(codes.len())) {
                let short = print(t, &codes[range.clone()]);
                let read = parse(&texts[range.clone()], t).unwrap();
                for (i, (short, read)) in range.clone().zip(short.iter().zip(read)) {
                    if *short != texts[i] || read != parsed[i] {
                        let (code, long, also) = (codes[i], shown(&texts[i]), parsed[i]);
                        let short = format!("{t} {code:x} among {part}: {}, read as {read:x}", shown(short));
                        wrong.push(format!("{short}; among many: {long}, read as {also:x}"));
                    }
                }
            }
        }
        none_wrong(&wrong);
    }
}

#[test]
fn options_that_a_destination_does_not_look_at_change_nothing() {
    let texts = ["1", "-7.5", "300", "1e10", "0", "-100", "1e-9", "12345678", "-0", "1.1", "6.4"];
    for t in numeric() {
        let codes = cases::random(t, 500, 13);
        let tensor = Tensor::from_codes(t, [codes.len()], codes).unwrap();
        let printed = cpu::cast(&tensor, ElementType::STRING, &CastOptions::default());
        let looked_at: std::collections::HashSet<_> =
            variants(t).iter().map(|options| parse_with(&texts, t, options).unwrap()).collect();
        for options in all_options() {
            assert_eq!(cpu::cast(&tensor, ElementType::STRING, &options), printed, "{t} {options:?}");
            assert!(looked_at.contains(&parse_with(&texts, t, &options).unwrap()), "{t} {options:?}");
        }
        // Only casts from floats clamp; a string's integer loses its high bits.
        if integers().any(|(integer, ..)| integer == t) {
            assert_eq!(looked_at.len(), 1, "{t}");
        }
    }
}
