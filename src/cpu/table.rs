//! Tables for sources of at most 8 bits: the reference converts each code once, and loops look the results up.

pub(crate) mod memory;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub(crate) mod register;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub(crate) mod shuffle;

use crate::conversion::Conversion;
use crate::lanes::pack_words;

/// The packed destination codes of each unit, which is `lanes` source codes.
pub(crate) fn units(conversion: &Conversion, lanes: u32) -> Box<[[u64; 4]; 256]> {
    let [from_bits, to_bits] = [conversion.from, conversion.to].map(|t| t.code_bits());
    let count = 1 << from_bits;
    let (mut low, mut high): ([u32; 256], _) = (std::array::from_fn(|code| code as u32), [0; 256]);
    conversion.convert(&mut low[..count], &mut high[..count]);
    let mut units = Box::new([[0; 4]; 256]);
    for (unit, words) in units.iter_mut().enumerate() {
        let code = |lane: u32| unit >> (lane * from_bits % 8) & (count - 1);
        let [low, high] = [&low, &high].map(|codes| std::array::from_fn::<_, 4, _>(|lane| codes[code(lane as u32)]));
        let used = lanes as usize;
        let mut bytes = [0; 32];
        pack_words(&low[..used], &high[..used], to_bits, &mut bytes[..(lanes * to_bits).div_ceil(8) as usize]);
        *words = std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * i + byte])));
    }
    units
}
