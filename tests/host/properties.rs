//! Properties of every cast on the CPU path, whatever its two types are. They are tested in bits, for all pairs.

use rayon::ThreadPoolBuilder;
use support::options::variants;
use support::tier::count;
use support::{cases, numeric, oracle};
use wgpu_cast::{CastOptions, CastSpec, ElementType, Int4Overflow, Kind, Tensor, cpu};

use ElementType::{BFLOAT16, BOOL, DOUBLE, FLOAT, FLOAT8E8M0, FLOAT16, INT64, UINT64};

fn cast(from: ElementType, codes: &[u64], to: ElementType, options: &CastOptions) -> Vec<u64> {
    let tensor = Tensor::from_codes(from, [codes.len()], codes.iter().copied()).unwrap();
    cpu::cast(&tensor, to, options).unwrap().codes().collect()
}

/// Hard codes and random ones. A BOOL is 0 or 1.
fn codes(t: ElementType) -> Vec<u64> {
    let mut codes = cases::codes(t);
    if t.bits() > Some(16) {
        codes.extend(cases::random(t, count(20_000, 500), 5));
    }
    codes.retain(|&code| t != BOOL || code < 2);
    codes
}

/// The sign bit of a code, if it has one.
fn sign(t: ElementType) -> u64 {
    match t.kind() {
        Kind::Int { signed: true } => 1 << (t.bits().unwrap() - 1),
        Kind::Float(_) if t != FLOAT8E8M0 => 1 << (t.bits().unwrap() - 1),
        _ => 0,
    }
}

/// A number that orders the codes of a type as their values. Codes of NaN have none.
fn rank(t: ElementType, code: u64) -> i128 {
    let sign = sign(t);
    let (negative, rest) = (code & sign != 0, i128::from(code & !sign));
    match t.kind() {
        Kind::Float(_) if negative => -rest,
        Kind::Int { .. } if negative => rest - i128::from(sign),
        _ => rest,
    }
}

/// The values of a float's codes, by the oracle.
fn values(t: ElementType) -> impl Fn(u64) -> f64 {
    let exact = oracle(t, DOUBLE, &CastOptions::default());
    move |code| f64::from_bits(exact.expected(code))
}

/// Whether codes of a type are NaN, by the oracle.
fn nans(t: ElementType) -> impl Fn(u64) -> bool {
    let value = matches!(t.kind(), Kind::Float(_)).then(|| values(t));
    move |code| value.as_ref().is_some_and(|value| value(code).is_nan())
}

/// The values that a type of at most 32 bits shares with a wider type have the same codes after a cast to the wider
/// type and back.
#[test]
fn there_and_back_is_the_same_code() {
    let default = CastOptions::default();
    let mut met = 0;
    for narrow in numeric().filter(|t| t.bits() <= Some(32)) {
        let mut codes = codes(narrow);
        let is_nan = nans(narrow);
        codes.retain(|&code| !is_nan(code));
        let exact = oracle(narrow, DOUBLE, &default);
        for wide in numeric() {
            // DOUBLE has every value of a type of at most 32 bits.
            let (there, compared) = (oracle(narrow, wide, &default), oracle(wide, DOUBLE, &default));
            if codes.iter().any(|&code| compared.expected(there.expected(code)) != exact.expected(code)) {
                continue;
            }
            // With saturation an infinity would come back as a number.
            let back = cast(wide, &cast(narrow, &codes, wide, &default), narrow, &default.with_saturate(false));
            assert!(back == codes, "{narrow} to {wide} and back");
            met += 1;
        }
    }
    // These are among them: each type as itself, as DOUBLE, and integers as INT64.
    assert!(met > 150, "{met}");
}

/// Whether a float that is cast to an integer type fits: its truncated value is one of the type's.
fn fits(to: ElementType, value: f64) -> bool {
    let bits = to.bits().unwrap() as i32;
    let (least, end) = match to.kind() {
        Kind::Int { signed: true } => (-2f64.powi(bits - 1), 2f64.powi(bits - 1)),
        _ => (0.0, 2f64.powi(bits)),
    };
    value.trunc() >= least && value.trunc() < end
}

/// The larger of two numbers never has the smaller result. Results that are NaN, and integers that wrap, are left out.
#[test]
fn casts_keep_the_order() {
    for from in numeric() {
        let mut codes = codes(from);
        let is_nan = nans(from);
        codes.retain(|&code| !is_nan(code));
        codes.sort_by_key(|&code| rank(from, code));
        let value = values(from);
        for to in numeric() {
            let is_nan = nans(to);
            for options in variants(to) {
                let kept: Vec<u64> = match (from.kind(), to.kind()) {
                    // For BOOL, only numbers that are not negative have an order.
                    (_, Kind::Bool) => codes.iter().copied().filter(|&code| rank(from, code) >= 0).collect(),
                    (Kind::Float(_), Kind::Int { .. }) if options.int4_overflow == Int4Overflow::Wrap => {
                        codes.iter().copied().filter(|&code| fits(to, value(code))).collect()
                    }
                    (_, Kind::Int { signed }) if !matches!(from.kind(), Kind::Float(_)) => {
                        let bits = to.bits().unwrap();
                        let (least, end) = if signed { (-1 << (bits - 1), 1 << (bits - 1)) } else { (0, 1 << bits) };
                        codes.iter().copied().filter(|&code| (least..end).contains(&rank(from, code))).collect()
                    }
                    _ => codes.clone(),
                };
                let results = cast(from, &kept, to, &options);
                let numbers = || kept.iter().zip(&results).filter(|(_, result)| !is_nan(**result));
                for ((small, below), (large, above)) in numbers().zip(numbers().skip(1)) {
                    assert!(
                        rank(to, *below) <= rank(to, *above),
                        "{from} to {to} {options:?}: {small:#x} becomes {below:#x}, {large:#x} becomes {above:#x}"
                    );
                }
                assert!(numbers().count() > 0, "{from} to {to}");
            }
        }
    }
}

/// `saturate` changes only the results of values beyond the largest number.
#[test]
fn saturate_changes_only_what_is_out_of_range() {
    for to in numeric().filter(|t| t.name().starts_with("float8")) {
        let result = values(to);
        let finite = (0..=0xff).filter(|&code| result(code).is_finite());
        let largest = finite.max_by(|&a, &b| result(a).total_cmp(&result(b))).unwrap();
        let most = result(largest);
        for from in numeric() {
            let (codes, value, is_nan) = (codes(from), values(from), nans(from));
            let mut changed = 0;
            for options in variants(to).into_iter().filter(|options| options.saturate) {
                let saturated = cast(from, &codes, to, &options);
                let other = cast(from, &codes, to, &options.with_saturate(false));
                for ((&code, &with), &without) in codes.iter().zip(&saturated).zip(&other) {
                    if with == without {
                        continue;
                    }
                    changed += 1;
                    let at_an_end = with & !sign(to) == largest || to == FLOAT8E8M0 && with == 0;
                    assert!(
                        at_an_end && !result(without).is_finite() && !is_nan(code),
                        "{from} {code:#x} to {to}: {with:#x} saturated, else {without:#x}"
                    );
                    if let (Kind::Float(_), true) = (from.kind(), to != FLOAT8E8M0) {
                        assert!(value(code).abs() > most, "{from} {code:#x} to {to} is in range");
                    }
                }
            }
            let has_greater = [FLOAT, DOUBLE, FLOAT16, BFLOAT16, INT64, UINT64].contains(&from);
            assert!(changed > 0 || !has_greater || to == FLOAT8E8M0, "{from} to {to}: nothing saturates");
        }
    }
}

/// Integers become the low bits of their two's complement.
#[test]
fn integers_wrap_as_twos_complement() {
    let is_integer = |t: &ElementType| matches!(t.kind(), Kind::Int { .. });
    for from in numeric().filter(|t| is_integer(t) || *t == BOOL) {
        let codes = codes(from);
        for to in numeric().filter(is_integer) {
            let mask = u64::MAX >> (64 - to.bits().unwrap());
            let expected: Vec<u64> = codes.iter().map(|&code| rank(from, code) as u64 & mask).collect();
            assert!(cast(from, &codes, to, &CastOptions::default()) == expected, "{from} to {to}");
        }
    }
}

/// An element's result does not depend on the tensor that it is part of, nor on its place.
#[test]
fn parts_are_cast_as_the_whole() {
    const WHOLE: usize = 1024 + 67;
    let options = CastOptions::default();
    for from in numeric() {
        let codes: Vec<u64> = codes(from).into_iter().rev().step_by(7).cycle().take(WHOLE).collect();
        let whole = Tensor::from_codes(from, [WHOLE], codes).unwrap();
        let bytes = |t: ElementType, elements: usize| t.packed_bytes(elements as u64).unwrap() as usize;
        for to in numeric() {
            let spec = CastSpec::new(from, to).with_options(options);
            let expected: Vec<u64> = cpu::cast(&whole, to, &options).unwrap().codes().collect();
            // Each part starts at a byte on both sides.
            for (start, len) in (0..130).map(|len| (8 * (len * 37 % 120), len)).chain([(8, 1000), (64, WHOLE - 64)]) {
                let source = &whole.bytes().unwrap()[bytes(from, start)..bytes(from, start + len)];
                let mut result = vec![0xa5; bytes(to, len)];
                cpu::cast_bytes(&spec, source, len, &mut result).unwrap();
                let mut counted = vec![0x5a; bytes(to, len)];
                cpu::cast_counted(&spec, source, len, &mut counted).unwrap();
                assert!(result == counted, "{from} to {to}, {len} elements from {start} on, counted");
                let part = Tensor::from_bytes(to, [len], result).unwrap();
                assert!(
                    part.codes().eq(expected[start..start + len].iter().copied()),
                    "{from} to {to}, {len} elements from {start} on"
                );
            }
        }
    }
}

/// An element's result does not depend on the number of threads.
#[test]
fn threads_change_no_bit() {
    const LEN: usize = 300_007;
    let options = CastOptions::default();
    let types: Vec<_> = numeric().collect();
    for (i, &from) in types.iter().enumerate() {
        let to = types[(5 * i + 1) % types.len()];
        let codes: Vec<u64> = codes(from).into_iter().cycle().take(LEN).collect();
        let source = Tensor::from_codes(from, [LEN], codes).unwrap();
        let alone = cpu::on_this_thread(|| cpu::cast(&source, to, &options)).unwrap();
        for threads in [1, 2, 3, 5] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let result = pool.install(|| cpu::cast(&source, to, &options)).unwrap();
            assert!(result == alone, "{from} to {to} on {threads} threads");
        }
    }
}
