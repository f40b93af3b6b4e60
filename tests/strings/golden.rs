//! Texts that Python and numpy made (`tests/golden/make_strings.py`), without any arithmetic of this crate between.

use support::golden::{STRINGS, sections};
use wgpu_cast::ElementType;

use crate::{none_wrong, parse, print, shown};

/// The rows of a section: a code and its text.
fn section(name: &str) -> Vec<(u64, &'static str)> {
    sections(STRINGS).into_iter().find(|section| section.name == name).unwrap().rows
}

/// The layout of `123e-5`: no exponent, always a fraction.
fn positional(short: &str) -> String {
    let (digits, exponent) = short.split_once('e').unwrap();
    let exponent: i32 = exponent.parse().unwrap();
    if exponent >= 0 {
        return format!("{digits}{}.0", "0".repeat(exponent as usize));
    }
    let places = exponent.unsigned_abs() as usize;
    let digits = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    format!("{whole}.{fraction}")
}

fn check_printed_and_read(t: ElementType) {
    let rows = section(t.name());
    assert_eq!(rows.len(), 2000);
    let sign = 1u64 << (t.bits().unwrap() - 1);
    let codes: Vec<u64> = rows.iter().flat_map(|row| [row.0, row.0 | sign]).collect();
    let expected: Vec<String> =
        rows.iter().map(|row| positional(row.1)).flat_map(|text| [text.clone(), format!("-{text}")]).collect();
    let mut wrong = Vec::new();
    for ((code, got), expected) in codes.iter().zip(print(t, &codes)).zip(&expected) {
        if got != *expected {
            wrong.push(format!("{t} {code:x}: {}, expected {}", shown(&got), shown(expected)));
        }
    }
    none_wrong(&wrong);
    assert_eq!(parse(&expected, t), Ok(codes));
    let short: Vec<&str> = rows.iter().map(|row| row.1).collect();
    assert_eq!(parse(&short, t), Ok(rows.iter().map(|row| row.0).collect()));
}

#[test]
fn doubles_print_with_the_digits_of_python() {
    check_printed_and_read(ElementType::DOUBLE);
}

#[test]
fn floats_print_with_the_digits_of_numpy() {
    check_printed_and_read(ElementType::FLOAT);
}

#[test]
fn float16s_print_as_in_numpy() {
    let blocks = section("float16");
    assert_eq!(blocks.len(), 31, "every exponent but the topmost");
    for (first, hash) in blocks {
        let codes: Vec<u64> = (first..first + 1024).collect();
        let texts = print(ElementType::FLOAT16, &codes);
        // FNV-1a of 64 bits.
        let fnv = texts
            .iter()
            .flat_map(|text| text.bytes().chain([b'\n']))
            .fold(0xcbf2_9ce4_8422_2325, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        assert_eq!(format!("{fnv:016x}"), hash, "from {first:04x} on, which prints as {}", texts[0]);
        let negative = print(ElementType::FLOAT16, &codes.iter().map(|code| code | 0x8000).collect::<Vec<_>>());
        assert!(negative.iter().zip(&texts).all(|(negative, text)| *negative == format!("-{text}")));
    }
}
