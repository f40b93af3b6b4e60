//! Tables for sources of at most 8 bits: the reference converts each code once, and loops look the results up.

pub(crate) mod memory;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub(crate) mod nibble;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod numbers;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub(crate) mod register;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub(crate) mod shuffle;

use crate::types::conversion::Conversion;

/// The packed destination codes of each unit, which is `lanes` source codes.
pub(crate) fn units(conversion: &Conversion, lanes: u32) -> Box<[[u64; 4]; 256]> {
    let [from_bits, to_bits] = [conversion.from, conversion.to].map(|t| t.code_bits());
    let count = 1 << from_bits;
    let (mut low, mut high): ([u32; 256], _) = (std::array::from_fn(|code| code as u32), [0; 256]);
    conversion.convert(&mut low[..count], &mut high[..count]);
    let mut units = Box::new([[0; 4]; 256]);
    for (unit, words) in units.iter_mut().enumerate() {
        for lane in 0..lanes {
            let code = unit >> (lane * from_bits % 8) & (count - 1);
            let made = (u64::from(low[code]) | u64::from(high[code]) << 32) & (u64::MAX >> (64 - to_bits));
            let place = lane * to_bits;
            words[place as usize / 64] |= made << (place % 64);
        }
    }
    units
}
