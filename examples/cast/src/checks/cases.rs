//! Difficult codes for casts, made only from the row of the element type.
//!
//! A source of at most 16 bits gives every code. A wider source gives the codes at which conversions go wrong: special
//! codes, the ends of every exponent, the midpoints of every narrower float with their neighbours, and the limits of
//! every integer with their neighbours. Sources of 64 bits also give [`two_words`].

use wgpu_cast::{ElementType, FloatFormat, Kind, Specials};

use super::random::Random;
use super::tier::Tier;
use super::two_words;

/// The codes of `from` worth casting, sorted, each once. For [`Tier::Emulator`], types of 16 bits count as wide, and
/// wide types have fewer ordinary codes.
pub fn codes_of(from: ElementType, tier: Tier) -> Vec<u64> {
    let mut codes = match (from.kind(), from.bits()) {
        (_, None) => Vec::new(),
        (_, Some(bits)) if bits <= narrow(tier) => (0..1 << bits).collect(),
        (Kind::Float(format), _) => float_codes(&format, tier),
        (_, Some(bits)) => integer_codes(bits, tier),
    };
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// The width up to which all codes of a type are taken.
fn narrow(tier: Tier) -> u32 {
    tier.count(16, 8) as u32
}

/// `count` random codes; one seed always gives the same. Half of them have any magnitude, the others have magnitudes
/// that narrow types can hold.
pub fn random(from: ElementType, count: usize, seed: u64) -> Vec<u64> {
    let bits = from.bits().unwrap_or(64);
    let mut random = Random::new(seed);
    let tame = |code: u64, choice: u64| match from.kind() {
        Kind::Float(format) if bits > 16 => {
            let exponent = u64::from(format.bias) - 32 + choice % 96;
            let fraction = code & ((1 << format.man_bits) - 1);
            code & format.sign_code() | exponent << format.man_bits | fraction
        }
        Kind::Float(_) => code,
        _ => (code as i64 >> (choice % 64)) as u64,
    };
    (0..count)
        .map(|index| {
            let (code, choice) = (random.next(), random.next());
            let code = if index % 2 == 0 { code } else { tame(code, choice) };
            code & (u64::MAX >> (64 - bits))
        })
        .collect()
}

fn floats_narrower_than(bits: u32) -> impl Iterator<Item = FloatFormat> {
    ElementType::ALL.iter().filter_map(move |t| match t.kind() {
        Kind::Float(format) if format.bits() < bits => Some(format),
        _ => None,
    })
}

/// A positive number: `significand * 2^exponent`.
type Number = (u128, i32);

/// The number with the magnitude code `code`, or, with `half`, the number halfway to `code + 1`. After the largest
/// code, this is counted as if the exponent field were wider. From there on, a cast overflows.
fn number(format: &FloatFormat, code: u64, half: bool) -> Number {
    let (code, man) = (2 * code + u64::from(half), format.man_bits + 1);
    let (exponent, fraction) = ((code >> man) as i32, u128::from(code & ((1 << man) - 1)));
    let unit = -(format.bias as i32 + man as i32);
    match exponent {
        0 if format.specials != Specials::Scale => (fraction, unit + 1),
        _ => (fraction | 1 << man, exponent + unit),
    }
}

/// The magnitude code of a number, if the format holds it exactly.
fn exact(format: &FloatFormat, (significand, exponent): Number) -> Option<u64> {
    let leading = 127 - significand.leading_zeros() as i32;
    if significand == 0 {
        return Some(0);
    }
    let (man, bias) = (format.man_bits as i32, format.bias as i32);
    let place = (leading + exponent).max(1 - bias);
    let shift = exponent - (place - man);
    let scaled = if shift >= 0 { significand << shift } else { significand >> -shift };
    let lossless = shift >= 0 || scaled << -shift == significand;
    // A leading bit at `man` adds one to the exponent field. A subnormal has no bit there.
    let code = ((place + bias - 1) as u64) << man;
    (lossless && place <= bias).then(|| code + scaled as u64)
}

/// Significands of `width` bits that show errors: small ones; no bit set, one, all, and all but one.
fn patterns(width: u32) -> Vec<u64> {
    let ones = (1u64 << width) - 1;
    let single = (0..width).flat_map(|bit| [1 << bit, ones ^ 1 << bit]);
    [0, ones].into_iter().chain(single).collect()
}

fn float_codes(format: &FloatFormat, tier: Tier) -> Vec<u64> {
    let near = |magnitude: u64| [magnitude.saturating_sub(1), magnitude, magnitude + 1];
    let mut magnitudes = special_magnitudes(format);
    if format.bits() == 64 {
        magnitudes.extend(two_words::floats());
    }
    for target in floats_narrower_than(format.bits()) {
        let mut add = |code| {
            let value = exact(format, number(&target, code, false));
            magnitudes.extend(value);
            // The directed roundings of E8M0 change at its values.
            magnitudes.extend(value.filter(|_| target.bits() <= 8).into_iter().flat_map(near));
            magnitudes.extend(exact(format, number(&target, code, true)).into_iter().flat_map(near));
        };
        if target.bits() <= narrow(tier) {
            (0..=target.max()).for_each(&mut add);
        } else {
            // There are too many to take all.
            let mut random = Random::new(0);
            let sample = (0..tier.count(8192, 512)).map(|_| random.next() % target.max());
            sample.chain(0..64).chain(target.max() - 63..=target.max()).for_each(add);
        }
    }
    // The limits of the integers: 2^k, and the numbers at a distance of a half and of one. Also small numbers in steps
    // of a half.
    let limits = (1..=65).flat_map(|k| (0..5).map(move |step| (1u128 << k) - 2 + step));
    for halves in limits.chain(0..tier.count(2100, 300) as u128) {
        magnitudes.extend(exact(format, (halves, -1)).into_iter().flat_map(near));
    }
    magnitudes.iter().flat_map(|&m| [m & format.magnitude_mask(), m | format.sign_code()]).collect()
}

/// Exponents times significands, paired as in Berkeley TestFloat. NaNs and subnormals are among them.
fn special_magnitudes(format: &FloatFormat) -> Vec<u64> {
    let top = (1u64 << format.exp_bits) - 1;
    let bias = u64::from(format.bias);
    // At the first and the last exponent of a narrower format or integer every pattern; elsewhere three.
    let telling = |e: u64| {
        let place = e as i64 - bias as i64;
        e <= 2 || e + 2 >= top || matches!(place, -152..=-120 | -28..=66 | 120..=130)
    };
    let all = patterns(format.man_bits);
    let significands = |e: u64| if telling(e) { &all[..] } else { &all[..3] };
    (0..=top).flat_map(|e| significands(e).iter().map(move |s| e << format.man_bits | s)).collect()
}

fn integer_codes(bits: u32, tier: Tier) -> Vec<u64> {
    let mut values: Vec<u128> = (0..tier.count(1100, 300) as u128).collect();
    values.extend((0..=bits).flat_map(|k| (0..5).map(move |step| (1u128 << k) + step).map(|v| v.saturating_sub(2))));
    for format in floats_narrower_than(bits + 1) {
        let man = format.man_bits;
        let mut random = Random::new(u64::from(man));
        let fractions: Vec<u64> = if man as usize <= tier.count(10, 4) {
            (0..1 << man).collect()
        } else {
            let some = (0..16).map(|_| random.next() >> (64 - man));
            patterns(man).into_iter().chain(some).collect()
        };
        // One place beyond the largest exponent, where casts overflow.
        for place in man + 1..bits.min(format.bias + 2) {
            let significands = fractions.iter().map(|fraction| u128::from(fraction | 1 << man) << (place - man));
            let half = 1u128 << (place - man - 1);
            values.extend(significands.flat_map(|s| [s - 1, s, s + 1, s + half - 1, s + half, s + half + 1]));
        }
    }
    if bits == 64 {
        values.extend(two_words::integers().into_iter().map(u128::from));
    }
    let mask = u64::MAX >> (64 - bits);
    values.iter().flat_map(|&value| [value as u64 & mask, (value as u64).wrapping_neg() & mask]).collect()
}
