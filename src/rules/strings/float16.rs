//! The shortest digits of a 16-bit float, which no crate computes.

use super::positional::push_digits;
use crate::types::element::BINARY16;

const FRACTION: u32 = (1 << BINARY16.man_bits) - 1;
const SIGN: u32 = BINARY16.sign_code() as u32;
const INFINITY: u32 = BINARY16.top() as u32;

/// Prints a finite FLOAT16 code with the fewest digits that read back as the same code.
pub(crate) fn push_finite(text: &mut String, code: u32) {
    if code & SIGN != 0 {
        text.push('-');
    }
    if code & !SIGN == 0 {
        return text.push_str("0.0");
    }
    let (digits, exponent) = shortest(code & !SIGN);
    let mut buffer = itoa::Buffer::new();
    let (head, tail) = buffer.format(digits).split_at(1);
    push_digits(text, head, tail, exponent + tail.len() as i32);
}

/// The digits, and their power of ten, of a decimal that rounds to the code. It has the fewest digits. Among decimals
/// with as few digits it is the closest to the code's value; of two equally close ones, it is the one whose last digit
/// is even.
fn shortest(code: u32) -> (u64, i32) {
    assert!((1..INFINITY).contains(&code));
    let field = (code >> 10).max(1);
    let significand = u64::from(if code > FRACTION { FRACTION + 1 } else { 0 } | code & FRACTION);
    // All values are counted in quarters of an ulp. A decimal within half an ulp of the value rounds to it. The lower
    // neighbour of a power of two is nearer, so below a power of two the limit is a quarter of an ulp.
    let value = 4 * significand;
    let (low, high) = (value - if code & FRACTION == 0 && field > 1 { 1 } else { 2 }, value + 2);
    let quarter = field as i32 - 27;
    // This is floor(log10(ulp)). At most one multiple of the next power of ten lies between the two ends.
    let ulp = ((quarter + 2) * 1233) >> 12;
    for power in [ulp + 1, ulp] {
        // Both sides are scaled to integers: `digits` times `step` is compared with quarters times `unit`.
        let unit = ten(-power) << quarter.max(0);
        let step = ten(power) << (-quarter).max(0);
        let down = value * unit / step;
        let inside = |digits: &u64| {
            let (low, decimal, high) = (low * unit, digits * step, high * unit);
            // At a tie, the decimal rounds to the neighbour with the even significand.
            low < decimal && decimal < high || significand % 2 == 0 && (decimal == low || decimal == high)
        };
        let farness = |digits: &u64| ((digits * step).abs_diff(value * unit), digits % 2);
        if let Some(digits) = [down, down + 1].into_iter().filter(inside).min_by_key(farness) {
            return without_zeros(digits, power);
        }
    }
    unreachable!("a multiple of the largest power of ten within an ulp lies between the ends of every code")
}

/// 10^exponent, or 1 for a negative exponent.
fn ten(exponent: i32) -> u64 {
    const TENS: [u64; 10] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
    TENS[exponent.max(0) as usize]
}

fn without_zeros(mut digits: u64, mut power: i32) -> (u64, i32) {
    while digits.is_multiple_of(10) {
        (digits, power) = (digits / 10, power + 1);
    }
    (digits, power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    fn printed(code: u32) -> String {
        let mut text = String::new();
        push_finite(&mut text, code);
        text
    }

    #[test]
    fn known_codes() {
        for (code, text) in [
            (0x0000, "0.0"),
            (0x8000, "-0.0"),
            (0x0001, "0.00000006"),
            (0x0400, "0.00006104"),
            (0x3c00, "1.0"),
            (0x2e66, "0.1"),
            (0x3555, "0.3333"),
            (0x7bff, "65500.0"),
            (0xfbff, "-65500.0"),
            (0x6800, "2048.0"),
            (0x7000, "8190.0"),
        ] {
            assert_eq!(printed(code), text, "{code:04x}");
        }
    }

    /// Compares decimals with the ends in binary64. The ends have at most 13 significant bits and the decimals at most
    /// six digits. Two of them that differ do so by far more than the rounding of binary64, so the comparisons are
    /// exact.
    #[test]
    fn no_decimal_is_shorter_or_closer() {
        let value = |code: u32| f16::from_bits(code as u16).to_f64();
        for code in 1..INFINITY {
            // The upper end of the largest number is the one that it would have if a next number followed.
            let next = if code == INFINITY - 1 { 65536.0 } else { value(code + 1) };
            let (low, high) = ((value(code - 1) + value(code)) / 2.0, (value(code) + next) / 2.0);
            let farness = |digits: u64, power: i32| {
                let decimal: f64 = format!("{digits}e{power}").parse().unwrap();
                let inside = low < decimal && decimal < high || code % 2 == 0 && (decimal == low || decimal == high);
                inside.then(|| (decimal - value(code)).abs())
            };
            let (digits, power) = shortest(code);
            let own = farness(digits, power).unwrap();
            for other in [digits - 1, digits + 1] {
                if let Some(other) = farness(other, power) {
                    assert!(other > own || other == own && digits % 2 == 0, "{code:04x}: {digits}e{power}");
                }
            }
            for shorter in [digits / 10, digits / 10 + 1] {
                assert_eq!(farness(shorter, power + 1), None, "{code:04x}: {digits}e{power}");
            }
        }
    }
}
