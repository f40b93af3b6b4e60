//! Quotients that kernels compute by multiplying.

use crate::plan::divisor::Divisor;

#[test]
fn quotients_are_exact() {
    let most = (1u32 << 31) - 1;
    let near = |number: u32| [number.saturating_sub(1), number, number.saturating_add(1)];
    let powers = (0..31).flat_map(|log| near(1 << log)).chain(near(most)).chain([3, 5, 7, 641, 2047, 6_700_417]);
    for number in powers.filter(|number| (1..=1 << 31).contains(number)) {
        let divisor = Divisor::new(number.into());
        let multiples = [1, 2, 3, 1000, most / number].map(|times| number.saturating_mul(times));
        for dividend in multiples.into_iter().flat_map(near).chain((0..31).flat_map(|log| near(1 << log))) {
            let dividend = dividend.min(most);
            assert_eq!(divisor.divide(dividend), dividend / number, "{dividend} / {number}");
        }
    }
}
