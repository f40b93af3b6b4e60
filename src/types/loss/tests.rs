//! Compares losses with what the reference makes of every code of at most 16 bits, and with limits of wider sources
//! that were derived by hand.

use super::*;
use crate::ElementType;
use crate::types::options::{CastOptions, Float4Nan, Int4Overflow, RoundMode};

/// The loss of one code, from the code that the reference makes of it.
fn loss_of(conversion: &Conversion, code: u64) -> Option<Loss> {
    let (mut low, mut high) = ([code as u32], [(code >> 32) as u32]);
    conversion.convert(&mut low, &mut high);
    let bits = conversion.to.code_bits();
    let result = (u64::from(low[0]) | u64::from(high[0]) << 32) & (u64::MAX >> (64 - bits));
    let source = number(conversion.from, code);
    let to = conversion.to.kind();
    let Some(x) = source else {
        return match to {
            Kind::Float(format) if format.has_nan() => None,
            Kind::Bool => None,
            _ => Some(Loss::NanToNumber),
        };
    };
    match to {
        Kind::Bool | Kind::String => None,
        Kind::Int { .. } => {
            let Some(y) = number(conversion.to, result) else { unreachable!("integers are numbers") };
            match x.trunc() == y {
                true if y == 0.0 && x != 0.0 => Some(Loss::Zero),
                true => None,
                false if conversion.saturates() => Some(Loss::Saturated),
                false => Some(Loss::OutOfRange),
            }
        }
        Kind::Float(format) => {
            let magnitude = result & format.magnitude_mask();
            let max = value(&format, format.max());
            match number(conversion.to, result) {
                None => Some(Loss::Nan),
                Some(y) if y.is_infinite() && x.is_finite() => Some(Loss::Infinite),
                Some(y) if y.is_infinite() => None,
                Some(_) if format.specials == Specials::Scale => {
                    (x < value(&format, 0) || x > max).then_some(Loss::Saturated)
                }
                // More than half a unit of the last place beyond the largest number.
                Some(y) if y.abs() == max && x.abs() - max > (max - value(&format, format.max() - 1)) / 2.0 => {
                    Some(Loss::Saturated)
                }
                // Exactly half a unit beyond it. Rounding does not give the largest number there if its significand is
                // odd.
                Some(y)
                    if y.abs() == max
                        && format.max() & 1 == 1
                        && x.abs() - max == (max - value(&format, format.max() - 1)) / 2.0 =>
                {
                    Some(Loss::Saturated)
                }
                Some(y) if y == 0.0 && x != 0.0 => Some(Loss::Zero),
                Some(_)
                    if magnitude != 0 && magnitude >> format.man_bits == 0 && !is_subnormal(conversion.from, code) =>
                {
                    Some(Loss::Subnormal)
                }
                Some(_) => None,
            }
        }
    }
}

fn is_subnormal(element_type: ElementType, code: u64) -> bool {
    let Kind::Float(format) = element_type.kind() else { return false };
    format.specials != Specials::Scale && (code & format.magnitude_mask()) >> format.man_bits == 0
}

/// The value of a code of at most 16 bits; `None` is NaN.
fn number(element_type: ElementType, code: u64) -> Option<f64> {
    let bits = element_type.code_bits();
    match element_type.kind() {
        Kind::Bool => Some(f64::from(code != 0)),
        Kind::Int { signed } => {
            let shift = 64 - bits;
            Some(if signed { ((code << shift) as i64 >> shift) as f64 } else { code as f64 })
        }
        Kind::Float(format) => {
            let magnitude = code & format.magnitude_mask();
            let sign = if code & format.sign_code() != 0 && format.is_signed() { -1.0 } else { 1.0 };
            let is_nan = match format.specials {
                Specials::NegativeZeroNan => code == format.sign_code(),
                Specials::Finite => false,
                _ => magnitude > format.top(),
            };
            match format.infinity() {
                _ if is_nan => None,
                Some(infinity) if magnitude == infinity => Some(sign * f64::INFINITY),
                _ => Some(sign * value(&format, magnitude)),
            }
        }
        Kind::String => unreachable!("strings have no codes"),
    }
}

fn options() -> impl Iterator<Item = CastOptions> {
    let plain = CastOptions::default();
    [plain, plain.with_saturate(false), plain.with_float4_nan(Float4Nan::Max)].into_iter().chain([
        plain.with_round_mode(RoundMode::Down).with_saturate(false),
        plain.with_int4_overflow(Int4Overflow::Clamp),
    ])
}

/// Every code of every source of at most 16 bits is in the range of its loss, and in no other, for every destination.
#[test]
fn every_code_is_counted_as_what_became_of_it() {
    let sources = || ElementType::ALL.iter().copied().filter(|t| t.is_numeric() && t.code_bits() <= 16);
    let mut lost = 0;
    for from in sources() {
        for &to in ElementType::ALL.iter().filter(|t| t.is_numeric()) {
            for options in options() {
                let conversion = Conversion::new(from, to, &options).unwrap();
                let ranges = lost_codes(&conversion);
                for code in 0..1u64 << from.code_bits() {
                    let found: Vec<_> =
                        ranges.iter().filter(|lost| lost.codes.contains(code)).map(|lost| lost.loss).collect();
                    let expected = loss_of(&conversion, code);
                    assert_eq!(found, Vec::from_iter(expected), "{from} {code:#x} to {to}, {options:?}: {ranges:?}");
                    lost += u64::from(expected.is_some());
                }
            }
        }
    }
    assert!(lost > 1_000_000, "{lost}");
}

/// The limits of wider sources, derived by hand.
#[test]
fn limits_of_wide_sources() {
    use ElementType::*;
    let ranges = |from, to| {
        let lost = lost_codes(&Conversion::new(from, to, &CastOptions::default()).unwrap());
        // The mask must keep the bits of both ends.
        let ends = |lost: &LostCodes| [lost.codes.first, lost.codes.last].map(|code| lost.codes.contains(code));
        assert!(lost.iter().all(|lost| ends(lost) == [true; 2]), "{lost:?}");
        lost.into_iter().map(|lost| (lost.loss, lost.codes.first, lost.codes.last)).collect::<Vec<_>>()
    };
    // 2^-25 is the tie between 0 and the least subnormal; 65520 is the tie between the largest number and ∞.
    let half = vec![
        (Loss::Zero, 1, 0x3300_0000),
        (Loss::Subnormal, 0x3300_0001, 0x387f_dfff),
        (Loss::Infinite, 0x477f_f000, 0x7f7f_ffff),
    ];
    assert_eq!(ranges(FLOAT, FLOAT16), half);
    assert_eq!(ranges(FLOAT, DOUBLE), []);
    let low = (Loss::Subnormal, 0x3690_0000_0000_0001, 0x380f_ffff_dfff_ffff);
    let single = vec![
        (Loss::Zero, 1, 0x3690_0000_0000_0000),
        low,
        (Loss::Infinite, 0x47ef_ffff_f000_0000, 0x7fef_ffff_ffff_ffff),
    ];
    assert_eq!(ranges(DOUBLE, FLOAT), single);
    assert_eq!(ranges(UINT64, INT64), [(Loss::OutOfRange, 1 << 63, u64::MAX)]);
    assert_eq!(ranges(INT64, UINT64), [(Loss::OutOfRange, 1 << 63, u64::MAX)]);
    assert_eq!(
        ranges(INT64, INT32),
        [(Loss::OutOfRange, 1 << 31, i64::MAX as u64), (Loss::OutOfRange, 1 << 63, (-(1i64 << 31) - 1) as u64)]
    );
    let int64 = vec![
        (Loss::Zero, 1, 0x3fef_ffff_ffff_ffff),
        (Loss::OutOfRange, 0x43e0_0000_0000_0000, 0x7ff0_0000_0000_0000),
        (Loss::Zero, 0x8000_0000_0000_0001, 0xbfef_ffff_ffff_ffff),
        // −2^63 is in range.
        (Loss::OutOfRange, 0xc3e0_0000_0000_0001, 0xfff0_0000_0000_0000),
        (Loss::NanToNumber, 0x7ff0_0000_0000_0001, 0x7fff_ffff_ffff_ffff),
    ];
    assert_eq!(ranges(DOUBLE, INT64), int64);
    // 0 and magnitudes below 2^-127; magnitudes above 2^127; all negative numbers.
    let scale = vec![
        (Loss::Saturated, 0, 0x37ff_ffff_ffff_ffff),
        (Loss::Saturated, 0x47e0_0000_0000_0001, 0x7ff0_0000_0000_0000),
        (Loss::Saturated, 1 << 63, 0xfff0_0000_0000_0000),
    ];
    assert_eq!(ranges(DOUBLE, FLOAT8E8M0), scale);
    assert_eq!(ranges(FLOAT, BFLOAT16), [(Loss::Zero, 1, 0x8000), (Loss::Infinite, 0x7f7f_8000, 0x7f7f_ffff)]);
    let int8 = vec![
        (Loss::Zero, 1, 0x3f7f_ffff),
        (Loss::OutOfRange, 0x4300_0000, 0x7f80_0000),
        (Loss::Zero, 0x8000_0001, 0xbf7f_ffff),
        (Loss::OutOfRange, 0xc301_0000, 0xff80_0000),
        (Loss::NanToNumber, 0x7f80_0001, 0x7fff_ffff),
    ];
    assert_eq!(ranges(FLOAT, INT8), int8);
    assert_eq!(ranges(UINT8, INT8), [(Loss::OutOfRange, 0x80, 0xff)]);
    assert_eq!(ranges(BOOL, FLOAT8E8M0), [(Loss::Saturated, 0, 0)]);
    let powers = [(Loss::Zero, 0, 126), (Loss::OutOfRange, 134, 254), (Loss::NanToNumber, 255, 255)];
    assert_eq!(ranges(FLOAT8E8M0, INT8), powers);
    let fnuz = vec![
        (Loss::Zero, 1, 0x3f),
        (Loss::OutOfRange, 0x78, 0x7f),
        (Loss::Zero, 0x81, 0xbf),
        (Loss::OutOfRange, 0xf9, 0xff),
        (Loss::NanToNumber, 0x80, 0x80),
    ];
    assert_eq!(ranges(FLOAT8E4M3FNUZ, INT8), fnuz);
}

#[test]
fn sums_of_counts() {
    let counts = LossCounts {
        infinite: 1,
        nan: 20,
        saturated: 300,
        out_of_range: 4_000,
        zero: 50_000,
        subnormal: 600_000,
        nan_to_number: 7_000_000,
    };
    assert_eq!((counts.overflowed(), counts.total()), (4_321, 7_654_321));
}

/// The results of a range are those of its codes. `others` says rightly whether other codes have the same results.
#[test]
fn results_are_those_of_the_lost_codes() {
    let floats = || ElementType::ALL.iter().copied().filter(|t| matches!(t.kind(), Kind::Float(_)));
    let (mut ranges, mut counted) = (0, 0);
    for from in floats().filter(|t| t.code_bits() <= 16) {
        for to in floats() {
            for options in options() {
                let conversion = Conversion::new(from, to, &options).unwrap();
                let result = |code: u64| {
                    let (mut low, mut high) = ([code as u32], [0]);
                    conversion.convert(&mut low, &mut high);
                    low[0].into()
                };
                for lost in lost_codes(&conversion) {
                    let Some(results) = lost.results(&conversion) else { continue };
                    let all = 0..1u64 << from.code_bits();
                    let became: Vec<u64> = all.clone().filter(|&code| results.codes.contains(result(code))).collect();
                    let what = format!("{from} to {to}, {options:?}: {lost:?} {results:?}");
                    assert!(all.filter(|&code| lost.codes.contains(code)).all(|code| became.contains(&code)), "{what}");
                    let magnitude = |code: &u64| *code & lost.codes.mask;
                    let mut others: Vec<u64> =
                        became.iter().filter(|&&code| !lost.codes.contains(code)).map(magnitude).collect();
                    others.sort();
                    others.dedup();
                    match (results.others, &others[..]) {
                        (Others::None, []) => counted += 1,
                        (Others::One(found), &[other]) if found.first == other && found.last == other => counted += 1,
                        (Others::Many, [_, ..]) => {}
                        _ => panic!("{what}: {others:x?}"),
                    }
                    ranges += 1;
                }
            }
        }
    }
    assert!(ranges > 100 && counted > 50, "{ranges} {counted}");
}
