//! The oracle on single values, each with its rule.

use support::oracle::*;

const PLAIN: Rules = Rules { saturate: true, round_mode: Round::Up, int4_clamp: false, float4_nan_max: false };
const OPEN: Rules = Rules { saturate: false, ..PLAIN };

/// Checks `(from, to, source code, expected code)` and lists all failures.
fn check(rules: Rules, cases: &[(&str, &str, u64, u64)]) {
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|&(from, to, code, expected)| {
            let got = Oracle::new(from, to, rules).expected(code);
            (got != expected).then(|| format!("{from} {code:x} -> {to}: {got:x}, not {expected:x}"))
        })
        .collect();
    assert!(failures.is_empty(), "{rules:?}\n{}", failures.join("\n"));
}

fn float(x: f32) -> u64 {
    u64::from(x.to_bits())
}

fn int(x: i64) -> u64 {
    x as u64
}

#[test]
fn names_are_distinct_types() {
    let names: Vec<_> = names().collect();
    for (i, name) in names.iter().enumerate() {
        assert!((2..=64).contains(&bits(name)));
        assert!(names[..i].iter().all(|other| kind(other) != kind(name)));
    }
    let widths = ["bool", "float", "float6e3m2", "float4e2m1", "uint2"].map(bits);
    assert_eq!(widths, [8, 32, 6, 4, 2]);
}

#[test]
fn greatest_and_least_values() {
    for (name, greatest, code, least) in [
        ("float8e4m3fn", 448.0, 0x7e, -9),
        ("float8e4m3fnuz", 240.0, 0x7f, -10),
        ("float8e5m2", 57344.0, 0x7b, -16),
        ("float8e5m2fnuz", 57344.0, 0x7f, -17),
        ("float4e2m1", 6.0, 7, -1),
        ("float6e2m3", 7.5, 0x1f, -3),
        ("float6e3m2", 28.0, 0x1f, -4),
        ("float16", 65504.0, 0x7bff, -24),
    ] {
        let to_double = Oracle::new(name, "double", PLAIN);
        assert_eq!(f64::from_bits(to_double.expected(code)), greatest, "{name}");
        let got = f64::from_bits(to_double.expected(1));
        assert_eq!(got, f64::powi(2.0, least), "{name}");
    }
    check(
        PLAIN,
        &[
            ("bfloat16", "double", 1, f64::powi(2.0, -133).to_bits()),
            ("float", "double", 1, f64::powi(2.0, -149).to_bits()),
            ("double", "double", 1, 1),
        ],
    );
}

#[test]
fn overflow_thresholds() {
    // The least float that overflows, and the result of the float below it.
    for (to, least, infinite, finite) in [
        ("float16", 0x477f_f000, 0x7c00, 0x7bff),
        ("bfloat16", 0x7f7f_8000, 0x7f80, 0x7f7f),
        ("float8e4m3fn", float(464.0) + 1, 0x7f, 0x7e),
        ("float8e4m3fnuz", float(248.0), 0x80, 0x7f),
        ("float8e5m2", float(61440.0), 0x7c, 0x7b),
        ("float8e5m2fnuz", float(61440.0), 0x80, 0x7f),
    ] {
        let infinity = ("float", to, 0x7f80_0000, infinite);
        check(OPEN, &[infinity, ("float", to, least, infinite)]);
        check(OPEN, &[("float", to, least - 1, finite)]);
        // `saturate` does not apply to 16-bit floats.
        let saturated = if bits(to) == 8 { finite } else { infinite };
        check(PLAIN, &[("float", to, least, saturated)]);
    }
    let limit = f64::powi(2.0, 128) - f64::powi(2.0, 103);
    check(
        PLAIN,
        &[
            ("double", "float", limit.to_bits(), 0x7f80_0000),
            ("double", "float", limit.to_bits() - 1, 0x7f7f_ffff),
            ("int32", "float16", 65519, 0x7bff),
            ("int32", "float16", 65520, 0x7c00),
            ("int32", "float16", int(-65520), 0xfc00),
        ],
    );
}

#[test]
fn single_rounding_of_wide_sources() {
    let x = 1.0 + f64::powi(2.0, -8) + f64::powi(2.0, -40);
    let cases = [
        ("double", "bfloat16", x.to_bits(), 0x3f81),
        ("int64", "bfloat16", 0x101_0001, 0x4b81),
        ("double", "float8e4m3fn", 464f64.to_bits() + 1, 0x7f),
        ("double", "float8e4m3fn", 464f64.to_bits(), 0x7e),
    ];
    check(OPEN, &cases);
    let x = 1.0 + f64::powi(2.0, -40);
    check(PLAIN, &[("double", "float8e8m0", x.to_bits(), 0x80)]);
}

#[test]
fn special_values_of_8_bit_floats() {
    let (zero, minus_zero, tiny) = (0, 1 << 31, float(-1e-30));
    let (nan, minus_nan) = (0x7f80_0001, 0xffc1_2345);
    let (infinity, minus_infinity) = (0x7f80_0000, 0xff80_0000);
    let sources = [zero, minus_zero, tiny, nan, minus_nan];
    let overflows = [infinity, minus_infinity, float(1e9), float(-1e9)];
    for (to, special, saturated, open) in [
        ("float8e4m3fn", [0, 0x80, 0x80, 0x7f, 0xff], [0x7e, 0xfe], [0x7f, 0xff]),
        ("float8e4m3fnuz", [0, 0, 0, 0x80, 0x80], [0x7f, 0xff], [0x80, 0x80]),
        ("float8e5m2", [0, 0x80, 0x80, 0x7e, 0xfe], [0x7b, 0xfb], [0x7c, 0xfc]),
        ("float8e5m2fnuz", [0, 0, 0, 0x80, 0x80], [0x7f, 0xff], [0x80, 0x80]),
    ] {
        for (i, source) in sources.into_iter().enumerate() {
            check(PLAIN, &[("float", to, source, special[i])]);
            check(OPEN, &[("float", to, source, special[i])]);
        }
        for (i, source) in overflows.into_iter().enumerate() {
            check(PLAIN, &[("float", to, source, saturated[i % 2])]);
            check(OPEN, &[("float", to, source, open[i % 2])]);
        }
    }
    check(PLAIN, &[("int32", "float8e4m3fn", 500, 0x7e)]);
    check(OPEN, &[("int32", "float8e4m3fn", 500, 0x7f)]);
    check(PLAIN, &[("float", "float8e4m3fnuz", float(-1e-7), 0)]);
}

#[test]
fn ties_and_limits_of_the_smallest_floats() {
    let to = "float4e2m1";
    for (tie, even) in [
        (0.25, 0),
        (0.75, 2), // the code of 1
        (1.25, 2),
        (1.75, 4), // the code of 2
        (2.5, 4),
        (3.5, 6), // the code of 4
        (5.0, 6),
    ] {
        check(PLAIN, &[("float", to, float(tie), even)]);
        check(PLAIN, &[("float", to, float(-tie), even | 8)]);
    }
    let (nan, minus_nan) = (0x7fc0_0000, 0xffc0_0000);
    let cases = [
        ("float", to, float(-0.0), 8),
        ("float", to, float(-0.1), 8),
        ("float", to, float(1e30), 7),
        ("float", to, float(f32::NEG_INFINITY), 15),
        ("float", "float6e2m3", float(f32::INFINITY), 0x1f),
        ("float", "float6e3m2", float(-29.0), 0x3f),
        ("int64", to, int(i64::MIN), 15),
        ("bool", to, 1, 2),
        ("float", to, nan, 8),
        ("float", to, minus_nan, 0),
        ("float", "float6e2m3", nan, 0x20),
        ("float", "float6e3m2", minus_nan, 0),
        ("float8e8m0", to, 0xff, 8),
        ("float8e4m3fnuz", to, 0x80, 0),
    ];
    check(PLAIN, &cases);
    check(OPEN, &cases);
    let rules = Rules { float4_nan_max: true, ..PLAIN };
    let cases = [("float", to, nan, 7), ("float", to, minus_nan, 7), ("float", "float6e2m3", nan, 0x20)];
    check(rules, &cases);
}

#[test]
fn e8m0_table() {
    let least = f64::powi(2.0, -127);
    let greatest = f64::powi(2.0, 127);
    // Columns: up, down, nearest; saturate 1 and 0 only differ out of range.
    let in_range = [
        (least, [0, 0, 0]),
        (1.25 * least, [1, 0, 0]),
        (1.5 * least, [1, 0, 1]),
        (0.124, [0x7c, 0x7b, 0x7c]),
        (0.25, [0x7d; 3]),
        (1.0, [0x7f; 3]),
        (1.1, [0x80, 0x7f, 0x7f]),
        (f64::from_bits(1.5f64.to_bits() - 1), [0x80, 0x7f, 0x7f]),
        (1.5, [0x80, 0x7f, 0x80]),
        (3.0, [0x81, 0x80, 0x81]),
        (8.0, [0x82; 3]),
        (greatest * 0.999, [0xfe, 0xfd, 0xfe]),
        (greatest, [0xfe; 3]),
    ];
    let below = [0.0, -0.0, -1.0, f64::NEG_INFINITY, -f64::MAX, least * 0.999];
    let above = [greatest * 1.001, greatest * 1.7, f64::INFINITY, f64::MAX];
    for (mode, round_mode) in [Round::Up, Round::Down, Round::Nearest].into_iter().enumerate() {
        for (saturate, under, over) in [(true, 0, 0xfe), (false, 0xff, 0xff)] {
            let rules = Rules { saturate, round_mode, ..PLAIN };
            let mut cases = vec![(f64::NAN, 0xff), (-f64::NAN, 0xff)];
            cases.extend(in_range.iter().map(|(x, codes)| (*x, codes[mode])));
            cases.extend(below.iter().map(|x| (*x, under)));
            cases.extend(above.iter().map(|x| (*x, over)));
            for (x, code) in cases {
                check(rules, &[("double", "float8e8m0", x.to_bits(), code)]);
            }
            let cases = [
                ("bool", "float8e8m0", 1, 0x7f),
                ("bool", "float8e8m0", 0, under),
                ("int8", "float8e8m0", int(-3), under),
                ("uint8", "float8e8m0", 64, 0x85),
                ("float8e8m0", "float8e8m0", 0, 0),
                ("float8e8m0", "float8e8m0", 0xff, 0xff),
            ];
            check(rules, &cases);
        }
    }
}

#[test]
fn e8m0_as_a_source() {
    let from = "float8e8m0";
    let cases = [
        (from, "float", 0, 0x40_0000),
        (from, "bfloat16", 0, 0x40),
        (from, "float", 0xff, 0x7fc0_0000),
        (from, "float16", 143, 0x7c00),
        (from, "float16", 142, 0x7800),
        (from, "float16", 103, 1),
        (from, "float16", 102, 0),
        (from, "int8", 126, 0),
        (from, "int8", 134, 0x80),
        (from, "int32", 0xff, 0x8000_0000),
        (from, "uint64", 0xff, 1 << 63),
        (from, "bool", 0, 1),
        (from, "bool", 0xff, 1),
    ];
    check(PLAIN, &cases);
}

#[test]
fn nan_is_quiet_and_keeps_its_sign() {
    let cases = [
        ("float", "float16", 0x7f80_0001, 0x7e00),
        ("float", "bfloat16", 0xff80_0001, 0xffc0),
        ("float", "double", 0xffff_ffff, 0xfff8 << 48),
        ("double", "float", 0x7ff0_0000_0000_0001, 0x7fc0_0000),
        ("float16", "float", 0x7c01, 0x7fc0_0000),
        ("float8e4m3fn", "float", 0xff, 0xffc0_0000),
        ("float8e4m3fnuz", "float", 0x80, 0xffc0_0000),
        ("float8e5m2fnuz", "float16", 0x80, 0xfe00),
        ("float8e4m3fnuz", "float8e4m3fn", 0x80, 0xff),
        ("float8e5m2", "float8e8m0", 0xfd, 0xff),
    ];
    check(PLAIN, &cases);
    check(OPEN, &cases);
}

#[test]
fn same_type_copies() {
    let is_infinite = |value| matches!(value, Some(0x7f80_0000 | 0xff80_0000));
    let rows = super::decoded().filter(|&(_, _, value)| is_infinite(value));
    let infinities: Vec<_> = rows.map(|(name, code, _)| (name, code)).collect();
    assert!(infinities.contains(&("float8e5m2", 0x7c)) && infinities.contains(&("float8e5m2", 0xfc)));
    for name in names() {
        let width = bits(name).min(16);
        for saturate in [true, false] {
            let oracle = Oracle::new(name, name, Rules { saturate, ..PLAIN });
            for low in 0..1u64 << width {
                let code = low << (bits(name) - width);
                let expected = match name {
                    "bool" => code.min(1),
                    // ONNX has one float of 8 bits with infinity, E5M2.
                    _ if saturate && infinities.contains(&(name, code)) => code - 1,
                    _ => code,
                };
                assert_eq!(oracle.expected(code), expected, "{name} {saturate}");
            }
        }
    }
    // The other 8-bit floats, being other types, saturate as well as E5M2 itself.
    check(PLAIN, &[("float8e5m2", "float8e5m2fnuz", 0x7c, 0x7f)]);
    check(OPEN, &[("float8e5m2", "float8e5m2fnuz", 0x7c, 0x80)]);
}

#[test]
fn integers_wrap() {
    let cases = [
        ("int16", "int8", 200, int(-56) & 0xff),
        ("int8", "uint4", 0xff, 15),
        ("int32", "int64", 0xffff_ffff, u64::MAX),
        ("uint32", "int64", 0xffff_ffff, 0xffff_ffff),
        ("int4", "uint8", 8, 0xf8),
        ("bool", "int2", 0x80, 1),
        ("int64", "bool", int(i64::MIN), 1),
        ("int2", "bool", 0, 0),
    ];
    check(PLAIN, &cases);
    // The clamp of opsets 21 and 23 does not apply to integer sources.
    let rules = Rules { int4_clamp: true, ..PLAIN };
    check(rules, &cases);
}

#[test]
fn floats_truncate_and_leave_the_range_by_the_table() {
    let double = |x: f64, to, expected: i64| {
        let code = int(expected) & (u64::MAX >> (64 - bits(to)));
        check(PLAIN, &[("double", to, x.to_bits(), code)]);
    };
    double(2.9999999999999996, "int4", 2);
    double(-0.9, "uint8", 0);
    double(-1.9, "int8", -1);
    double(8.0, "int4", -8);
    double(-9.0, "int4", 7);
    double(-1.0, "uint4", 15);
    double(2147483647.5, "int2", -1);
    double(2147483648.0, "int16", 0);
    double(-2147483648.9, "uint16", 0);
    double(-2147483649.0, "uint16", 0);
    double(-2147483647.0, "uint16", 1);
    double(2147483647.5, "int32", 2147483647);
    double(2147483648.0, "int32", i64::from(i32::MIN));
    double(-3e9, "uint32", 0x4d2f_a200);
    double(5e9, "uint32", 0x2a05_f200);
    double(-9223372036854775808.0, "uint32", 0);
    double(9223372036854775808.0, "uint32", 0);
    double(9223372036854774784.0, "int64", 9223372036854774784);
    double(9223372036854775808.0, "int64", i64::MIN);
    double(-1e300, "int64", i64::MIN);
    double(-1.0, "uint64", -1);
    double(18446744073709549568.0, "uint64", -2048);
    double(18446744073709551616.0, "uint64", 0);
    double(-1e19, "uint64", i64::MIN);
    for to in names().filter(|name| name.contains("int")) {
        let (nan, below, above) = match to {
            "int32" => (i64::from(i32::MIN), i64::from(i32::MIN), i64::from(i32::MIN)),
            "int64" => (i64::MIN, i64::MIN, i64::MIN),
            "uint64" => (i64::MIN, i64::MIN, 0),
            _ => (0, 0, 0),
        };
        double(f64::NAN, to, nan);
        double(f64::NEG_INFINITY, to, below);
        double(f64::INFINITY, to, above);
    }
}

#[test]
fn four_bit_integers_clamp_on_request() {
    let rules = Rules { int4_clamp: true, ..PLAIN };
    let cases = [
        ("float", "int4", float(8.0), 7),
        ("float", "int4", float(-9.0), 8),
        ("float", "int4", float(-8.9), 8),
        ("float", "uint4", float(-1.0), 0),
        ("float", "uint4", float(f32::INFINITY), 15),
        ("float", "int4", float(f32::NEG_INFINITY), 8),
        ("float", "int4", float(f32::NAN), 0),
        ("float", "uint4", float(1e30), 15),
        ("float", "int2", float(2.0), 2),
        ("float", "int8", float(128.0), 0x80),
    ];
    check(rules, &cases);
}

#[test]
fn only_zero_is_false() {
    let cases = [
        ("float", "bool", 0, 0),
        ("float", "bool", 1 << 31, 0),
        ("float", "bool", 1, 1),
        ("float", "bool", 0x7fc0_0000, 1),
        ("float8e4m3fn", "bool", 0x80, 0),
        ("float8e4m3fnuz", "bool", 0x80, 1),
        ("float4e2m1", "bool", 8, 0),
        ("bool", "double", 7, 1f64.to_bits()),
    ];
    check(PLAIN, &cases);
}
