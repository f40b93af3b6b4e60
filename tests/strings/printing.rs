//! Floats as text: the layout, and the proof that the digits are the fewest and then the closest.

use num_bigint::BigUint;
use support::cases;
use support::random::Random;
use support::tier::count;
use wgpu_cast::{CastOptions, ElementType, Tensor, cpu};

use crate::decimal::{Binary, Decimal, Exact, Values};
use crate::{floats, none_wrong, parse, print, shown};

fn check(from: ElementType, cases: &[(u64, &str)]) {
    let codes: Vec<u64> = cases.iter().map(|case| case.0).collect();
    let texts: Vec<&str> = cases.iter().map(|case| case.1).collect();
    assert_eq!(print(from, &codes), texts, "{from}");
}

/// `zeros(12)` is twelve zeros.
fn zeros(count: usize) -> String {
    "0".repeat(count)
}

#[test]
fn doubles_print_without_exponent_and_with_a_fraction() {
    let cases: Vec<(f64, String)> = vec![
        (0.0, "0.0".into()),
        (-0.0, "-0.0".into()),
        (1.0, "1.0".into()),
        (-1.0, "-1.0".into()),
        (100.0, "100.0".into()),
        (0.1, "0.1".into()),
        (-0.001, "-0.001".into()),
        (0.5, "0.5".into()),
        (314.15927, "314.15927".into()),
        (1e-5, "0.00001".into()),
        (1e-4, "0.0001".into()),
        (1e10, "10000000000.0".into()),
        (1e15, "1000000000000000.0".into()),
        (1e16, "10000000000000000.0".into()),
        (1e17, format!("1{}.0", zeros(17))),
        (1e22, format!("1{}.0", zeros(22))),
        (1e23, format!("1{}.0", zeros(23))),
        (9e22, format!("9{}.0", zeros(22))),
        (1.5e300, format!("15{}.0", zeros(299))),
        (1e-300, format!("0.{}1", zeros(299))),
        (0.1 + 0.2, "0.30000000000000004".into()),
        (1.0 / 3.0, "0.3333333333333333".into()),
        (2.0 / 3.0, "0.6666666666666666".into()),
        (123456789012345680.0, "123456789012345680.0".into()),
        (9007199254740992.0, "9007199254740992.0".into()),
        (9007199254740991.0, "9007199254740991.0".into()),
        (1234567.875, "1234567.875".into()),
        (12.5e-9, "0.0000000125".into()),
        // Two decimals are equally close: the one with the even digit.
        (1125899906842624.0 + 0.25, "1125899906842624.2".into()),
        (1125899906842624.0 + 0.75, "1125899906842624.8".into()),
        // A closer one of as many digits, ...801, does not come back: below a power of two, floats lie closer.
        (5.684341886080802e-14, "0.00000000000005684341886080802".into()),
        (5e-324, format!("0.{}5", zeros(323))),
        (-5e-324, format!("-0.{}5", zeros(323))),
        (f64::MIN_POSITIVE, format!("0.{}22250738585072014", zeros(307))),
        (f64::MAX, format!("17976931348623157{}.0", zeros(292))),
        (f64::MIN, format!("-17976931348623157{}.0", zeros(292))),
        (f64::INFINITY, "INF".into()),
        (f64::NEG_INFINITY, "-INF".into()),
        (f64::NAN, "NaN".into()),
        (-f64::NAN, "NaN".into()),
    ];
    let cases: Vec<(u64, &str)> = cases.iter().map(|(x, text)| (x.to_bits(), &text[..])).collect();
    check(ElementType::DOUBLE, &cases);
    check(ElementType::DOUBLE, &[(0x7ff0_0000_0000_0001, "NaN"), (u64::MAX, "NaN"), (1 << 63, "-0.0")]);
}

#[test]
fn floats_print_without_exponent_and_with_a_fraction() {
    let cases: Vec<(f32, String)> = vec![
        (0.0, "0.0".into()),
        (-0.0, "-0.0".into()),
        (1.0, "1.0".into()),
        (0.1, "0.1".into()),
        (1e6, "1000000.0".into()),
        (1e7, "10000000.0".into()),
        (1e-5, "0.00001".into()),
        (-1e-5, "-0.00001".into()),
        (1e10, "10000000000.0".into()),
        (1e21, format!("1{}.0", zeros(21))),
        (314.15927, "314.15927".into()),
        (0.6048455, "0.6048455".into()),
        (16777216.0, "16777216.0".into()),
        (33554432.0, "33554432.0".into()),
        (1.0 / 3.0, "0.33333334".into()),
        (2f32.powi(-20), "0.0000009536743".into()),
        (2097152.0 + 0.25, "2097152.2".into()),
        (2097152.0 + 0.75, "2097152.8".into()),
        (1e-45, format!("0.{}1", zeros(44))),
        (f32::MIN_POSITIVE, format!("0.{}11754944", zeros(37))),
        (f32::MAX, format!("34028235{}.0", zeros(31))),
        (f32::MIN, format!("-34028235{}.0", zeros(31))),
        (f32::INFINITY, "INF".into()),
        (f32::NEG_INFINITY, "-INF".into()),
        (f32::NAN, "NaN".into()),
        (-f32::NAN, "NaN".into()),
    ];
    let cases: Vec<(u64, &str)> = cases.iter().map(|(x, text)| (x.to_bits().into(), &text[..])).collect();
    check(ElementType::FLOAT, &cases);
    check(ElementType::FLOAT, &[(0x7f80_0001, "NaN"), (0xffff_ffff, "NaN"), (0x8000_0000, "-0.0")]);
}

#[test]
fn float16s_print_without_exponent_and_with_a_fraction() {
    check(
        ElementType::FLOAT16,
        &[
            (0, "0.0"),
            (0x8000, "-0.0"),
            (0x3c00, "1.0"),
            (0xbc00, "-1.0"),
            (0x3555, "0.3333"),
            (0x2e66, "0.1"),
            (0x6400, "1024.0"),
            (0x7bff, "65500.0"),
            (0xfbff, "-65500.0"),
            (0x7bfe, "65470.0"),
            (0x7000, "8190.0"),
            (0x5c01, "256.2"),
            (0x5c03, "256.8"),
            (0x0001, "0.00000006"),
            (0x8001, "-0.00000006"),
            (0x0400, "0.00006104"),
            (0x7c00, "INF"),
            (0xfc00, "-INF"),
            (0x7e00, "NaN"),
            (0xfe00, "NaN"),
            (0x7c01, "NaN"),
        ],
    );
}

#[test]
fn narrow_floats_print_as_floats() {
    check(
        ElementType::BFLOAT16,
        &[
            (0x3f80, "1.0"),
            (0x3dcd, "0.100097656"),
            (0x8000, "-0.0"),
            (0x7f7f, "338953140000000000000000000000000000000.0"),
            (0x0001, "0.000000000000000000000000000000000000000091835"),
            (0x7f80, "INF"),
            (0xff80, "-INF"),
            (0x7fc0, "NaN"),
            (0xffc0, "NaN"),
        ],
    );
    check(
        ElementType::FLOAT8E4M3FN,
        &[(0x38, "1.0"), (0x7e, "448.0"), (0x01, "0.001953125"), (0x80, "-0.0"), (0x7f, "NaN"), (0xff, "NaN")],
    );
    check(
        ElementType::FLOAT8E4M3FNUZ,
        &[(0x40, "1.0"), (0x7f, "240.0"), (0xff, "-240.0"), (0x01, "0.0009765625"), (0x80, "NaN")],
    );
    check(
        ElementType::FLOAT8E5M2,
        &[(0x3c, "1.0"), (0x7b, "57344.0"), (0x01, "0.000015258789"), (0x7c, "INF"), (0xfc, "-INF"), (0xfe, "NaN")],
    );
    check(ElementType::FLOAT8E5M2FNUZ, &[(0x40, "1.0"), (0x7f, "57344.0"), (0x01, "0.0000076293945"), (0x80, "NaN")]);
    check(
        ElementType::FLOAT8E8M0,
        &[
            (0x7f, "1.0"),
            (0x80, "2.0"),
            (0x7e, "0.5"),
            (0, "0.000000000000000000000000000000000000005877472"),
            (0xfe, "170141180000000000000000000000000000000.0"),
            (0xff, "NaN"),
        ],
    );
    check(ElementType::FLOAT6E2M3, &[(0, "0.0"), (0x20, "-0.0"), (1, "0.125"), (0x1f, "7.5"), (0x3f, "-7.5")]);
    check(ElementType::FLOAT6E3M2, &[(0, "0.0"), (0x20, "-0.0"), (1, "0.0625"), (0x1f, "28.0"), (0x3f, "-28.0")]);
    let float4 = ["0.0", "0.5", "1.0", "1.5", "2.0", "3.0", "4.0", "6.0"];
    let float4: Vec<String> = ["", "-"].iter().flat_map(|sign| float4.map(|text| format!("{sign}{text}"))).collect();
    assert_eq!(print(ElementType::FLOAT4E2M1, &(0..16).collect::<Vec<_>>()), float4);
}

/// Every code of the types that have no digits of their own, few at a time and many.
#[test]
fn types_without_digits_of_their_own_print_as_their_cast_to_float() {
    let own = [ElementType::FLOAT16, ElementType::FLOAT, ElementType::DOUBLE];
    for from in floats().filter(|t| !own.contains(t)) {
        let codes: Vec<u64> = (0..1 << from.bits().unwrap()).collect();
        let tensor = Tensor::from_codes(from, [codes.len()], codes.iter().copied()).unwrap();
        let widened = cpu::cast(&tensor, ElementType::FLOAT, &CastOptions::default()).unwrap();
        let expected = print(ElementType::FLOAT, &widened.codes().collect::<Vec<_>>());
        let mut wrong = Vec::new();
        for times in [1, 2, 3, (count(200_000, 2_000) / codes.len()).max(1)] {
            for (i, got) in print(from, &codes.repeat(times)).iter().enumerate() {
                let (code, expected) = (codes[i % codes.len()], &expected[i % codes.len()]);
                if got != expected {
                    wrong.push(format!("{from} {code:x}, all codes {times} times: {got:?}, expected {expected:?}"));
                }
            }
        }
        none_wrong(&wrong);
    }
}

/// What the text of a positive finite code breaks, if anything.
fn fault(values: &Values, code: u64, text: &str) -> Option<String> {
    let Some((whole, fraction)) = text.split_once('.') else {
        return Some("has no fraction".into());
    };
    let plain = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let no_useless_zeros = (whole == "0" || !whole.starts_with('0')) && (fraction == "0" || !fraction.ends_with('0'));
    if !plain(whole) || !plain(fraction) || !no_useless_zeros {
        return Some("is laid out otherwise".into());
    }
    let all = format!("{whole}{fraction}");
    let digits = all.trim_end_matches('0');
    let exponent = (all.len() - digits.len()) as i64 - fraction.len() as i64;
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some("is zero".into());
    }
    let printed = Decimal::new(digits.parse::<BigUint>().unwrap(), exponent);
    if !values.rounds_to(&printed, code) {
        return Some("does not come back".into());
    }
    let (x, one) = (values.value(code), BigUint::from(1u8));
    let mut others =
        vec![Decimal::new(&printed.digits - &one, exponent), Decimal::new(&printed.digits + &one, exponent)];
    if digits.len() > 1 {
        // With one digit fewer there is none on either side.
        let floor = floor(x, exponent + 1);
        for shorter in [&floor + &one, floor] {
            let shorter = Decimal::new(shorter, exponent + 1);
            if values.rounds_to(&shorter, code) {
                return Some(format!("has more digits than {shorter:?}"));
            }
        }
    } else {
        // The least subnormals are so far apart that many decimals of one digit come back.
        let near = exponent - 1..=exponent + 1;
        others = near.flat_map(|exponent| (1..=9u8).map(move |digit| Decimal::new(digit, exponent))).collect();
        others.retain(|other| *other != printed);
    }
    // Of as many digits, none that comes back is closer; as close only where the printed one is even.
    let odd = digits.ends_with(['1', '3', '5', '7', '9']);
    let twice = Binary { exponent: x.exponent + 1, ..x };
    for other in others {
        // The lesser of two is closer to `x` where their sum is more than twice `x`.
        let (order, sum) = other.compare_and_add(&printed);
        let side = Exact::new(&sum).cmp(twice);
        let closer = side == order.reverse() || side.is_eq() && odd && other.exponent == exponent;
        if closer && values.rounds_to(&other, code) {
            return Some(format!("is not as close as {other:?}"));
        }
    }
    None
}

/// How many whole times `10^exponent` goes into a number.
fn floor(x: Binary, exponent: i64) -> BigUint {
    let ten = |power: i64| BigUint::from(10u8).pow(power.max(0) as u32);
    let (numerator, denominator) = (ten(-exponent) * x.significand, ten(exponent));
    match u64::try_from(x.exponent) {
        Ok(twos) => (numerator << twos) / denominator,
        Err(_) => numerator / (denominator << x.exponent.unsigned_abs()),
    }
}

/// Proves texts of finite codes but zero; the sign is taken off first.
fn prove(from: ElementType, codes: &[u64]) {
    let values = Values::new(from);
    let sign = 1u64 << (from.bits().unwrap() - 1);
    let codes: Vec<u64> =
        codes.iter().copied().filter(|code| (1..=values.greatest).contains(&(code & !sign))).collect();
    assert!(codes.len() > count(10_000, 400));
    let texts = print(from, &codes);
    let mut wrong = Vec::new();
    for (&code, text) in codes.iter().zip(&texts) {
        let magnitude = if code & sign == 0 { Some(&text[..]) } else { text.strip_prefix('-') };
        let fault = match magnitude {
            Some(magnitude) => fault(&values, code & !sign, magnitude),
            None => Some("lacks its sign".into()),
        };
        wrong.extend(fault.map(|fault| format!("{from} {code:x} prints as {}, which {fault}", shown(text))));
    }
    none_wrong(&wrong);
}

#[test]
fn every_float16_prints_with_the_fewest_and_closest_digits() {
    prove(ElementType::FLOAT16, &(0..1 << 16).step_by(count(1, 7)).collect::<Vec<_>>());
}

/// Random codes, all powers of two with their neighbours, the least and the greatest.
fn codes(from: ElementType, count: usize, mantissa: u32) -> Vec<u64> {
    let finite = Values::new(from).greatest + 1;
    let mut codes = cases::random(from, count, 17);
    let powers = (0..finite.div_ceil(1 << mantissa)).map(|exponent| exponent << mantissa);
    codes.extend(powers.flat_map(|power| [power.saturating_sub(1), power, power + 1]));
    codes.extend((0..mantissa).map(|bit| 1 << bit));
    codes.extend((0..1000).flat_map(|i| [i, finite - 1 - i, finite / 2 + i]));
    codes
}

#[test]
fn floats_print_with_the_fewest_and_closest_digits() {
    prove(ElementType::FLOAT, &codes(ElementType::FLOAT, count(40_000, 1_000), 23));
}

#[test]
fn doubles_print_with_the_fewest_and_closest_digits() {
    prove(ElementType::DOUBLE, &codes(ElementType::DOUBLE, count(20_000, 1_000), 52));
    // Quarters where both neighbours in the tenths are equally close.
    let mut random = Random::new(4);
    let quarter = |random: &mut Random| (1u64 << 50) as f64 + (random.next() % (1 << 50)) as f64 + 0.25;
    let ties: Vec<u64> = (0..count(11_000, 500)).map(|_| quarter(&mut random).to_bits()).collect();
    prove(ElementType::DOUBLE, &ties);
}

#[test]
fn printed_floats_read_back_as_the_same() {
    for (t, mantissa) in [(ElementType::FLOAT, 23), (ElementType::DOUBLE, 52)] {
        let infinity = Values::new(t).greatest + 1;
        let sign = 1u64 << (t.bits().unwrap() - 1);
        let mut codes = codes(t, count(300_000, 10_000), mantissa);
        codes.retain(|code| code & !sign <= infinity);
        assert!(codes.len() > count(250_000, 8_000));
        let texts = print(t, &codes);
        let read = parse(&texts, t).unwrap();
        let wrong: Vec<String> = (codes.iter().zip(&texts).zip(&read))
            .filter(|((code, _), read)| code != read)
            .map(|((code, text), read)| format!("{t} {code:x} is {}, read as {read:x}", shown(text)))
            .collect();
        none_wrong(&wrong);
    }
}
