//! The source codes of known answers.

use crate::types::element::{ElementType, Kind};

/// Elements of a test: several workgroups of every kernel for whole units, and a rest for the edge kernel. The number
/// is a multiple of 7 for the view `UNEVEN`.
pub(super) const ELEMENTS: usize = (1 << 16) + 75;

/// For a float, a code whose number has an exponent from -32 to 31. Floats with at most five exponent bits have no
/// numbers beyond these.
fn near_one(element_type: ElementType, code: u64) -> u64 {
    let Kind::Float(format) = element_type.kind() else { return code };
    let (man, exponents) = (format.man_bits, (1 << format.exp_bits) - 1);
    let exponent = u64::from(format.bias) - 32 + (code >> man) % 64;
    code & !(exponents << man) | exponent << man
}

/// For types of at most 16 bits: every code. For wider types, three kinds of codes:
///
/// - A few significant bits after any number of leading zeros or ones. They include every exponent of a float (of
///   DOUBLE all but two) and every magnitude of an integer.
/// - Random bits before a one and zeros. They include ties of every narrower float.
/// - The codes next to all of these.
pub(super) fn codes(element_type: ElementType) -> impl Iterator<Item = u64> {
    let bits = element_type.code_bits();
    let mask = u64::MAX >> (64 - bits);
    (0..ELEMENTS as u64).map(move |i| {
        if bits <= 16 {
            return i & mask;
        }
        let (shift, near) = (i % 64, (i >> 6) % 4);
        let is_tie = i & (1 << 8) != 0;
        if is_tie {
            let (random, place) = (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits), shift % u64::from(bits));
            let random = if i & (1 << 9) != 0 { near_one(element_type, random) } else { random };
            return (((random >> place) | 1) << place).wrapping_add(near).wrapping_sub(2) & mask;
        }
        let pattern = (i >> 8).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (shift % u64::from(bits));
        let signed = if i & (1 << 15) == 0 { pattern } else { !pattern };
        (signed >> (64 - bits)).wrapping_add(near).wrapping_sub(2) & mask
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::cpu;
    use crate::types::options::CastOptions;
    use crate::types::tensor::Tensor;

    /// The codes of wide floats include numbers halfway between two numbers of each narrower float, and their
    /// neighbours on both sides.
    #[test]
    fn ties_of_narrower_floats_are_among_the_codes() {
        for (from, least) in [(ElementType::FLOAT, [18, 1500]), (ElementType::DOUBLE, [9, 800])] {
            let mask = u64::MAX >> (64 - from.code_bits());
            let is_narrower = |to: &ElementType| matches!(to.kind(), Kind::Float(_)) && to.bits() < from.bits();
            for to in ElementType::ALL.iter().copied().filter(is_narrower) {
                let beside: Vec<Vec<u64>> = (-2..=2)
                    .map(|step| {
                        let codes = codes(from).map(|code| code.wrapping_add_signed(step) & mask);
                        let tensor = Tensor::from_codes(from, [ELEMENTS], codes).unwrap();
                        cpu::cast(&tensor, to, &CastOptions::default()).unwrap().codes().collect()
                    })
                    .collect();
                // The code after a tie, the tie, and the code before it: the numbers around the tie differ.
                for step in 0..3 {
                    let around = beside[step].iter().zip(&beside[step + 2]);
                    let ties = around.filter(|(below, above)| below != above).count();
                    let least = least[usize::from(to.code_bits() >= 8)];
                    assert!(ties >= least, "{from} to {to}, beside ties by {}: {ties}", 1 - step as i64);
                }
            }
        }
    }

    /// The codes include every exponent of a float with both signs (of DOUBLE all but two), and every number of leading
    /// zeros and ones of an integer.
    #[test]
    fn every_magnitude_is_among_the_codes() {
        for from in ElementType::ALL.iter().copied().filter(|t| t.is_numeric() && t.code_bits() > 16) {
            let bits = from.code_bits();
            let mut met = HashSet::new();
            for code in codes(from) {
                let sign = code >> (bits - 1);
                met.insert(match from.kind() {
                    Kind::Float(format) => (sign, (code & format.magnitude_mask()) >> format.man_bits),
                    _ => (sign, u64::from(((code ^ sign.wrapping_neg()) << (64 - bits)).leading_zeros())),
                });
            }
            let all = match from {
                ElementType::FLOAT => 512,
                ElementType::DOUBLE => 4094,
                _ => 2 * bits as usize,
            };
            assert!(met.len() >= all, "{from}: {}", met.len());
        }
    }
}
