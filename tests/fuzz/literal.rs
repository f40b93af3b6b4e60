//! Strings to every type, against the standard library's reading of numbers.

use ElementType::*;
use wgpu_cast::{CastFault, CastOptions, ElementType, Error, Kind, Tensor, cpu};

use crate::engine::{gist, within_memory};

fn cast(tensor: &Tensor, to: ElementType) -> Result<Tensor, Error> {
    cpu::cast(tensor, to, &CastOptions::default())
}

/// The code of a string of some bytes of text.
fn parse(string: &Tensor, bytes: usize, to: ElementType) -> Result<u64, Error> {
    let tensor = within_memory(bytes, || cast(string, to))?;
    Ok(tensor.codes().next().expect("one element"))
}

pub fn check(input: &[u8]) -> String {
    let text = String::from_utf8_lossy(input);
    let string = Tensor::from_strings([], [&text]).expect("a scalar");
    let trimmed = text.trim_matches(|c| matches!(c, ' ' | '\t'..='\r'));
    let double = trimmed.parse::<f64>().ok();
    let mut outcomes = Vec::new();
    for &to in ElementType::ALL.iter().filter(|t| t.is_numeric()) {
        let result = parse(&string, text.len(), to);
        let mut invalid = false;
        if let Err(Error::Cast { from, to: t, cause: CastFault::Literal { index, is_number, .. }, .. }) = &result {
            assert_eq!((*from, *t, *index), (STRING, to, 0));
            invalid = !is_number;
        }
        let word = ["true", "false"].iter().any(|word| trimmed.eq_ignore_ascii_case(word));
        assert_eq!(!invalid, double.is_some() || (to == BOOL && word), "{to}: {result:?}");
        match (to.kind(), &result, double) {
            (Kind::Float(_), Ok(code), Some(double)) => float(trimmed, to, *code, double),
            (Kind::Int { .. }, result, Some(double)) => integer(trimmed, to, result, double, &string),
            (Kind::Bool, Ok(code), Some(double)) => assert!(*code == 1 || *code == 0 && double == 0.0, "{code}"),
            (Kind::Bool, Ok(code), None) => assert_eq!(*code, u64::from(trimmed.len() == 4)),
            (_, result, _) => assert!(invalid, "{to}: {result:?}"),
        }
        outcomes.push(result.map(drop).map_err(|error| gist(&error.to_string())));
    }
    if let Some(double) = double.filter(|double| !double.is_nan()) {
        let number = Tensor::from_slice([], &[double]).expect("a scalar");
        let back = cast(&number, STRING).and_then(|text| cast(&text, DOUBLE));
        assert_eq!(back, Ok(number), "printed and read again");
    }
    let magnitude =
        double.map(|double| (double.is_sign_negative(), double.abs().log2().clamp(-2000.0, 2000.0) as i32 / 64));
    let long = (trimmed.len().min(96) / 8, trimmed.len() > 800, trimmed.len() > 4096);
    format!(
        "{magnitude:?} {long:?} {} {:?}",
        trimmed.contains(['e', 'E']),
        outcomes.iter().collect::<std::collections::BTreeSet<_>>()
    )
}

/// One rounding of the exact value: to the code that std finds, or to that of the nearest double or a neighbour of it.
fn float(text: &str, to: ElementType, code: u64, double: f64) {
    let single: f32 = text.parse().expect("what is a double is a float");
    match to {
        DOUBLE if double.is_nan() => assert_eq!(code, 0x7ff8 << 48 | u64::from(text.starts_with('-')) << 63),
        DOUBLE => assert_eq!(code, double.to_bits()),
        FLOAT if single.is_nan() => assert_eq!(code, 0x7fc0 << 16 | u64::from(text.starts_with('-')) << 31),
        FLOAT => assert_eq!(code, u64::from(single.to_bits())),
        _ => {
            let around = [double, double.next_down(), double.next_up()].map(|value| value.copysign(double));
            let codes = cast(&Tensor::from_slice([3], &around).expect("three"), to).expect("numbers");
            let sign = text.starts_with('-') && double.is_nan();
            assert!(sign || codes.codes().any(|near| near == code), "{to}: {code:x} for {double:e}");
        }
    }
}

/// The low bits of the integer part.
fn integer(text: &str, to: ElementType, result: &Result<u64, Error>, double: f64, string: &Tensor) {
    const RANGE: std::ops::Range<i128> = -(1 << 63)..1 << 64;
    let mask = u64::MAX >> (64 - to.bits().expect("a width"));
    if to != UINT64 {
        let widest = cast(string, UINT64).map(|tensor| tensor.codes().next().expect("one element") & mask);
        assert_eq!(result.as_ref().ok(), widest.as_ref().ok(), "{to}");
        return;
    }
    if let Ok(exact) = text.parse::<i128>() {
        assert_eq!(result.as_ref().ok(), RANGE.contains(&exact).then_some(&(exact as u64)), "{exact}");
    } else if double.abs() < 2f64.powi(53) {
        // Just below a whole number, the nearest double may be that number.
        let below = if double.fract() == 0.0 { double - double.signum() } else { double };
        let near = [double, below].map(|value| value as i64 as u64);
        assert!(result.as_ref().is_ok_and(|code| near.contains(code)), "{result:?} for {double:e}");
    } else {
        let edge = double <= -(2f64.powi(63)) || double >= 2f64.powi(64) || double.is_nan();
        assert!(edge || result.is_ok(), "{result:?} for {double:e}");
    }
}
