//! Which element an error names, and how.

use support::assert_fault;
use support::numeric;
use support::random::Random;
use support::tier::count;
use wgpu_cast::ElementType::{self, STRING};

use crate::{cut, integers, parse};

/// Elements that go to several threads.
fn long() -> usize {
    count(300_000, 70_000)
}

/// Enough elements for every thread, bad ones at some places: the error is that of the first.
#[test]
fn the_first_of_many_bad_elements_is_named() {
    let mut random = Random::new(1);
    let mut texts: Vec<String> = (0..long()).map(|i| (i % 7).to_string()).collect();
    for to in numeric() {
        for bad in 0..8 {
            let mut places: Vec<usize> = match bad {
                0 => vec![long() - 1],
                1 => vec![0, long() - 1],
                2 => (long() / 2 - 5..long()).collect(),
                3 => vec![long() / 2, long() / 2 - 1, long() / 2 + 1],
                _ => (0..1 + random.below(200)).map(|_| random.below(long())).collect(),
            };
            places.sort_unstable();
            for &place in &places {
                texts[place] = format!("no. {place}");
            }
            let index = places[0];
            let literal = format!("no. {index}");
            assert_fault!(parse(&texts, to).unwrap_err(), [STRING, to], Literal { index, literal, is_number: false });
            for place in places {
                texts[place] = "1".to_owned();
            }
        }
    }
    let all_bad = vec!["?"; long()];
    for to in numeric() {
        assert_fault!(
            parse(&all_bad, to).unwrap_err(),
            [STRING, to],
            Literal { index: 0, literal: "?", is_number: false }
        );
    }
}

/// A number of no integer and no number at all are the same to the order.
#[test]
fn the_first_error_of_either_kind_is_named() {
    for (to, ..) in integers() {
        for (index, other) in [
            (5, 6),
            (5, long() - 1),
            (long() / 2, long() / 2 + 1),
            (long() - 2, long() - 1),
            (long() / 3, long() / 6 * 5),
        ] {
            let mut texts = vec!["-12.5e1"; long()];
            (texts[index], texts[other]) = ("x1", "1e20");
            assert_fault!(
                parse(&texts, to).unwrap_err(),
                [STRING, to],
                Literal { index, literal: "x1", is_number: false }
            );
            (texts[index], texts[other]) = ("1e20", "x1");
            assert_fault!(
                parse(&texts, to).unwrap_err(),
                [STRING, to],
                Literal { index, literal: "1e20", is_number: true }
            );
        }
    }
}

/// By characters, not bytes, and of the text as it was given, white space included.
#[test]
fn literals_are_cut_at_40_characters() {
    let ascii = |count: usize| (0..count).map(|i| (b'a' + (i % 26) as u8) as char).collect::<String>();
    for (text, literal) in [
        (ascii(39), ascii(39)),
        (ascii(40), ascii(40)),
        (ascii(41), ascii(40) + "…"),
        (ascii(100_000), ascii(40) + "…"),
        ("é".repeat(40), "é".repeat(40)),
        ("é".repeat(41), "é".repeat(40) + "…"),
        ("😀".repeat(1000), "😀".repeat(40) + "…"),
        (format!("{}é😀x", ascii(38)), format!("{}é😀…", ascii(38))),
        (format!("{}é😀x", ascii(39)), format!("{}é…", ascii(39))),
        (" x ".into(), " x ".into()),
        (format!("{}x", " ".repeat(40)), " ".repeat(40) + "…"),
        ("\t\n".into(), "\t\n".into()),
        ("\0".into(), "\0".into()),
    ] {
        for to in numeric() {
            assert_eq!(cut(&text), literal);
            let literal = literal.clone();
            assert_fault!(
                parse(&["1", &text, "?"], to).unwrap_err(),
                [STRING, to],
                Literal { index: 1, literal, is_number: false }
            );
        }
    }
    let digits = "1234567890".repeat(10);
    for (to, ..) in integers() {
        for text in [digits.clone(), format!("-{digits}"), format!(" {digits} "), "1e20".into(), " inf ".into()] {
            let literal = cut(&text);
            assert_fault!(
                parse(&["1", "2", &text], to).unwrap_err(),
                [STRING, to],
                Literal { index: 2, literal, is_number: true }
            );
        }
    }
}

#[test]
fn messages_name_the_type_the_element_and_the_text() {
    let message = |texts: &[&str], to| parse(texts, to).unwrap_err().to_string();
    assert_eq!(
        message(&["1", "Hello"], ElementType::FLOAT),
        "casting string to float: element 1 is not a number: \"Hello\""
    );
    assert_eq!(
        message(&["1_000"], ElementType::BOOL),
        "casting string to bool: element 0 is not a boolean or a number: \"1_000\""
    );
    assert_eq!(
        message(&["1", "1", "-inf"], ElementType::INT8),
        "casting string to int8: element 2 is out of range for 64-bit integers: \"-inf\""
    );
    for to in numeric() {
        let text = message(&["0", "0", "0", "1\n\"2"], to);
        assert!(text.contains(&format!("string to {to}:")), "{text}");
        assert!(text.contains("element 3 ") && text.ends_with(r#""1\n\"2""#), "{text}");
    }
}
