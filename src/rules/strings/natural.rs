//! Natural numbers of up to 1,024 bits, for exact comparisons of decimals with floats.

use std::cmp::Ordering;

const WORDS: usize = 16;

/// The powers of five that fit in 64 bits.
pub(super) const FIVES: [u64; 28] = {
    let mut powers = [1; 28];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = 5 * powers[at - 1];
        at += 1;
    }
    powers
};

/// The value of at most 19 ASCII digits.
pub(super) fn word(digits: &[u8]) -> u64 {
    let (eights, rest) = digits.as_chunks::<8>();
    let sum = eights.iter().fold(0, |sum, &eight| sum * 100_000_000 + eight_digits(eight));
    rest.iter().fold(sum, |sum, digit| sum * 10 + u64::from(digit - b'0'))
}

/// The value of eight digits. They are joined pairwise: digit by digit, each product would wait for the one before.
fn eight_digits(digits: [u8; 8]) -> u64 {
    const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);
    // The first digit is in the lowest byte. Each product adds 10, 100 or 10,000 times a field to the next higher
    // field.
    let pairs = (u64::from_le_bytes(digits) - ZEROS).wrapping_mul(10 * (1 << 8) + 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100 * (1 << 16) + 1) >> 16 & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000 * (1 << 32) + 1) >> 32
}

/// A natural number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Natural {
    /// The least significant word first. Words from `len` on are zero.
    words: [u64; WORDS],
    /// The number of words up to the last that is not zero.
    len: usize,
}

impl Natural {
    pub(super) fn new(value: u64) -> Self {
        let mut words = [0; WORDS];
        words[0] = value;
        Self { words, len: usize::from(value != 0) }
    }

    /// Appends ASCII digits to the number's own decimal digits.
    pub(super) fn push_digits(&mut self, digits: &[u8]) {
        // The number of digits that a word holds.
        const TOGETHER: usize = 19;
        for digits in digits.chunks(TOGETHER) {
            let value = word(digits);
            self.multiply_add(FIVES[digits.len()] << digits.len(), value);
        }
    }

    /// Multiplies by 5^`power`.
    pub(super) fn multiply_fives(&mut self, mut power: usize) {
        const MOST: usize = FIVES.len() - 1;
        while power > 0 {
            self.multiply_add(FIVES[power.min(MOST)], 0);
            power -= power.min(MOST);
        }
    }

    fn multiply_add(&mut self, factor: u64, addend: u64) {
        let mut carry = addend;
        for word in &mut self.words[..self.len] {
            let product = u128::from(*word) * u128::from(factor) + u128::from(carry);
            (*word, carry) = (product as u64, (product >> 64) as u64);
        }
        if carry != 0 {
            self.words[self.len] = carry;
            self.len += 1;
        }
    }

    /// Multiplies by 2^`bits`.
    pub(super) fn shift_left(&mut self, bits: u32) {
        self.multiply_add(1 << (bits % 64), 0);
        let by = bits as usize / 64;
        self.words.copy_within(..self.len, by);
        self.words[..by].fill(0);
        self.len += if self.len == 0 { 0 } else { by };
    }
}

impl Ord for Natural {
    fn cmp(&self, other: &Self) -> Ordering {
        let words = |number: &Self| number.words.into_iter().rev();
        self.len.cmp(&other.len).then_with(|| words(self).cmp(words(other)))
    }
}

impl PartialOrd for Natural {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Natural {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Natural {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_differ_are_not_equal() {
        assert_eq!(Natural::new(1), Natural::new(1));
        assert_ne!(Natural::new(1), Natural::new(2));
    }

    fn of(digits: &str) -> Natural {
        let mut number = Natural::new(0);
        number.push_digits(digits.as_bytes());
        number
    }

    #[test]
    fn digits_and_factors_give_the_same_numbers() {
        for power in [0usize, 1, 18, 19, 20, 27, 28, 63, 64, 65, 200, 307] {
            let digits = format!("1{}", "0".repeat(power));
            let mut product = Natural::new(1);
            product.multiply_fives(power);
            assert_eq!(product.cmp(&of(&digits)), 0.cmp(&power), "5^{power}");
            product.shift_left(power as u32);
            assert_eq!(product, of(&digits), "10^{power}");
            assert!(product > of(&"9".repeat(power)), "10^{power}");
            product.push_digits(b"1");
            assert_eq!(product, of(&format!("{digits}1")));
        }
        let mut zero = of("000");
        zero.shift_left(640);
        zero.multiply_fives(30);
        assert_eq!(zero, Natural::new(0));
    }
}
