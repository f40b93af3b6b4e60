//! The layout of a printed float: positional, always with a decimal point, never with an exponent.

/// Prints a finite float with the fewest digits that read back as the same float of its type.
pub(crate) fn push_finite(text: &mut String, value: impl zmij::Float) {
    let mut buffer = zmij::Buffer::new();
    let printed = buffer.format_finite(value);
    // An exponent takes at most the last five bytes, as in "e-324".
    let tail = printed.len().saturating_sub(5);
    match printed.as_bytes()[tail..].iter().position(|&byte| byte == b'e') {
        None => text.push_str(printed),
        Some(position) => push_scientific(text, &printed[..tail + position], &printed[tail + position + 1..]),
    }
}

/// Prints in positional notation a number that `zmij` prints with an exponent.
#[cold]
fn push_scientific(text: &mut String, significand: &str, exponent: &str) {
    let digits = significand.strip_prefix('-').unwrap_or(significand);
    if digits.len() < significand.len() {
        text.push('-');
    }
    let (head, tail) = digits.split_once('.').unwrap_or((digits, ""));
    push_digits(text, head, tail, exponent.parse().expect("an exponent of at most three digits"));
}

/// Prints the number `head.tail` · 10^`exponent`. `head` is one digit, and `tail` does not end in a zero.
pub(crate) fn push_digits(text: &mut String, head: &str, tail: &str, exponent: i32) {
    let places = exponent.unsigned_abs() as usize;
    if exponent < 0 {
        text.push_str("0.");
        push_zeros(text, places - 1);
        text.push_str(head);
        text.push_str(tail);
    } else if tail.len() <= places {
        text.push_str(head);
        text.push_str(tail);
        push_zeros(text, places - tail.len());
        text.push_str(".0");
    } else {
        text.push_str(head);
        text.push_str(&tail[..places]);
        text.push('.');
        text.push_str(&tail[places..]);
    }
}

fn push_zeros(text: &mut String, mut count: usize) {
    const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";
    while count > 0 {
        let some = count.min(ZEROS.len());
        text.push_str(&ZEROS[..some]);
        count -= some;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(value: impl zmij::Float) -> String {
        let mut text = String::new();
        push_finite(&mut text, value);
        text
    }

    #[test]
    fn positional_at_every_exponent() {
        for (head, tail, exponent, text) in [
            ("1", "", 0, "1.0"),
            ("1", "", 2, "100.0"),
            ("1", "", -1, "0.1"),
            ("1", "5", 0, "1.5"),
            ("1", "5", 1, "15.0"),
            ("1", "5", 3, "1500.0"),
            ("1", "25", 1, "12.5"),
            ("1", "25", -3, "0.00125"),
        ] {
            let mut digits = String::new();
            push_digits(&mut digits, head, tail, exponent);
            assert_eq!(digits, text);
        }
        assert_eq!(printed(f64::MAX), format!("17976931348623157{}.0", "0".repeat(292)));
        assert_eq!(printed(f64::from_bits(1)), format!("0.{}5", "0".repeat(323)));
        assert_eq!(printed(f32::MIN_POSITIVE), format!("0.{}11754944", "0".repeat(37)));
        assert_eq!(printed(-0.0f32), "-0.0");
        assert_eq!(printed(-1e-7f32), "-0.0000001");
    }

    /// Compares with the standard library at every power of ten and next to it. The standard library never prints an
    /// exponent either, but it leaves out ".0".
    #[test]
    fn powers_of_ten_as_std_lays_them() {
        let check = |ours: String, mut std: String| {
            if !std.contains('.') {
                std.push_str(".0");
            }
            assert_eq!(ours, std);
        };
        for exponent in -330..310 {
            let value: f64 = format!("1e{exponent}").parse().unwrap();
            for value in [value.next_down(), value, value.next_up(), -value * 1.5].into_iter().filter(|v| v.is_finite())
            {
                check(printed(value), value.to_string());
                let value = value as f32;
                if value.is_finite() {
                    check(printed(value), value.to_string());
                }
            }
        }
    }
}
