//! Tests of the oracle of `tests/support` against tables made by ml_dtypes and numpy, and against the conversions of
//! Rust itself.

mod examples;

use std::collections::HashSet;
use std::sync::LazyLock;

use support::golden::{DECODE, ENCODE, MAKE, codes, sections};
use support::oracle::{Oracle, Round, Rules, bits, names};
use support::tier::count;

/// The tables do not saturate.
const RULES: Rules = Rules { saturate: false, round_mode: Round::Up, int4_clamp: false, float4_nan_max: false };

/// Whether a code is NaN: from the text of IEEE 754 for the types of more than 8 bits, and from the table for others.
fn is_nan(name: &str, code: u64) -> bool {
    match name {
        "float" => code % (1 << 31) > 0x7f80_0000,
        "float16" => code % (1 << 15) > 0x7c00,
        "bfloat16" => code % (1 << 15) > 0x7f80,
        _ => nan_codes().contains(&(name, code)),
    }
}

/// The rows of the decode table: type, code and value, `None` for NaN.
fn decoded() -> impl Iterator<Item = (&'static str, u64, Option<u64>)> {
    sections(DECODE).into_iter().flat_map(|section| {
        section.rows.into_iter().map(move |row| {
            let (code, value) = codes(&row);
            (section.name, code, value)
        })
    })
}

/// The types and codes that are NaN in the decode table.
fn nan_codes() -> &'static HashSet<(&'static str, u64)> {
    static CODES: LazyLock<HashSet<(&str, u64)>> = LazyLock::new(|| {
        decoded().filter(|(_, _, value)| value.is_none()).map(|(name, code, _)| (name, code)).collect()
    });
    &CODES
}

/// The floats of at most `most` bits.
fn floats(most: u32) -> impl Iterator<Item = &'static str> {
    names().filter(move |name| name.contains("float") && bits(name) <= most)
}

/// Runs the casts and reports every difference.
#[derive(Default)]
struct Report {
    checked: usize,
    failures: Vec<String>,
    current: Option<(String, String, Oracle)>,
}

impl Report {
    /// `expected` is `None` for any NaN.
    fn check(&mut self, from: &str, to: &str, code: u64, expected: Option<u64>) {
        let prepared = matches!(&self.current, Some((f, t, _)) if f == from && t == to);
        if !prepared {
            let oracle = Oracle::new(from, to, RULES);
            self.current = Some((from.to_owned(), to.to_owned(), oracle));
        }
        let got = match &self.current {
            Some((_, _, oracle)) => oracle.expected(code),
            None => unreachable!(),
        };
        let right = match expected {
            Some(expected) => got == expected,
            None => is_nan(to, got),
        };
        self.checked += 1;
        if !right {
            let expected = expected.map_or("nan".to_owned(), |code| format!("{code:x}"));
            self.failures.push(format!("{from} {code:x} -> {to}: {got:x}, not {expected}"));
        }
    }

    fn finish(self, least: usize) {
        let Report { checked, failures, .. } = self;
        assert!(checked >= least, "only {checked} checks");
        assert!(failures.is_empty(), "{} of {checked} differ:\n{}", failures.len(), failures.join("\n"));
    }
}

fn sorted(mut names: Vec<&str>) -> Vec<&str> {
    names.sort_unstable();
    names
}

#[test]
fn decodes_as_the_table() {
    let mut report = Report::default();
    let sections = sections(DECODE);
    for section in &sections {
        for (code, pattern) in section.rows.iter().map(codes) {
            report.check(section.name, "float", code, pattern);
        }
    }
    let names: Vec<_> = sections.iter().map(|section| section.name).collect();
    assert_eq!(sorted(names), sorted(floats(8).collect()), "a table for every float of at most 8 bits: {MAKE}");
    let all: usize = sections.iter().map(|section| 1 << bits(section.name)).sum();
    assert_eq!(report.checked, all);
    report.finish(1424);
}

#[test]
fn encodes_as_the_table() {
    let mut report = Report::default();
    for section in sections(ENCODE) {
        let name = section.name;
        let float4_or_6 = bits(name) < 8;
        for (pattern, code) in section.rows.iter().map(codes) {
            match code {
                // For formats without NaN, the table has what ml_dtypes makes of NaN.
                None => assert!(!float4_or_6, "{name} has no NaN"),
                Some(code) => assert!(!is_nan(name, code)),
            }
            report.check("float", name, pattern, code);
        }
    }
    report.finish(11_000);
}

/// Each value of a narrow float comes back unchanged.
#[test]
fn narrow_floats_survive_a_round_trip() {
    let mut report = Report::default();
    for name in floats(16) {
        for wide in ["float", "double"] {
            let widen = Oracle::new(name, wide, RULES);
            for code in 0..1u64 << bits(name) {
                let expected = (!is_nan(name, code)).then_some(code);
                report.check(wide, name, widen.expected(code), expected);
            }
        }
    }
    report.finish(260_000);
}

/// Rust defines its numeric casts: to nearest even between floats and from integers, towards zero
/// to integers, low bits between integers. NaN and what is out of range are left out here.
#[test]
fn agrees_with_the_casts_of_rust() {
    let mut report = Report::default();
    let mut state = 1u64;
    for round in 0..count(200_000, 10_000) as u32 {
        // Knuth's linear congruential generator; only its upper bits are random enough.
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 32
        };
        let random = next() << 32 | next();
        // Exponents near the ranges of float32 and of the integers, and mantissas with long runs of zeros.
        let runs = random & (u64::MAX << (round % 53));
        let near = (random >> 63 << 63) | ((1023 - 160 + next() % 300) << 52) | (runs % (1 << 52));
        for double in [random, near, near | (1 << 28), near ^ (1 << 28) ^ 1] {
            let x = f64::from_bits(double);
            if !x.is_nan() {
                let expected = u64::from((x as f32).to_bits());
                report.check("double", "float", double, Some(expected));
            }
            if x.abs() < 9.2e18 {
                report.check("double", "int64", double, Some(x as i64 as u64));
            }
            if x > -1.0 && x < 1.8e19 {
                report.check("double", "uint64", double, Some(x as u64));
            }
        }
        for float in [random as u32, (random >> 32) as u32] {
            let x = f32::from_bits(float);
            if !x.is_nan() {
                report.check("float", "double", float.into(), Some(f64::from(x).to_bits()));
            }
            if x.abs() < 2147483648.0 {
                let low = x as i32;
                report.check("float", "int32", float.into(), Some(u64::from(low as u32)));
                report.check("float", "int8", float.into(), Some(u64::from(low as u8)));
            }
        }
        for x in [random, runs, runs >> (round % 64), u64::MAX << (round % 64)] {
            let signed = x as i64;
            let float = |x: f32| Some(u64::from(x.to_bits()));
            report.check("int64", "float", x, float(signed as f32));
            report.check("uint64", "float", x, float(x as f32));
            report.check("int64", "double", x, Some((signed as f64).to_bits()));
            report.check("uint64", "double", x, Some((x as f64).to_bits()));
            report.check("int64", "int16", x, Some(u64::from(x as u16)));
            let extended = i64::from(x as i32) as u64;
            report.check("int32", "int64", x & 0xffff_ffff, Some(extended));
            report.check("uint32", "uint64", x & 0xffff_ffff, Some(u64::from(x as u32)));
        }
    }
    report.finish(count(5_000_000, 250_000));
}
