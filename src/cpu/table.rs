//! Tables for sources of at most 8 bits: the reference converts each code once, and loops look the results up.

#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) mod byte;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
mod halves;
pub(crate) mod memory;
#[cfg(all(feature = "cpu-simd", target_arch = "aarch64"))]
pub(crate) mod neon;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) mod nibble;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
mod numbers;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
pub(crate) mod register;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
pub(crate) mod shuffle;

use crate::cpu::code_cast::CodeCast;

/// What a table holds for each index: the destination codes of the source codes in the index.
pub(crate) type Entries = [[u64; 4]; 256];

/// The entries of a cast, with `codes` source codes in an index. If the index has more bits, they do not matter.
pub(crate) fn entries(cast: &CodeCast, codes: u32) -> Box<Entries> {
    let conversion = &cast.conversion;
    let [from_bits, to_bits] = [conversion.from, conversion.to].map(|t| t.code_bits());
    let [_, place_bits] = cast.bits();
    let count = 1 << from_bits;
    let (mut low, mut high): ([u32; 256], _) = (std::array::from_fn(|code| code as u32), [0; 256]);
    conversion.convert(&mut low[..count], &mut high[..count]);
    let mut entries = Box::new([[0; 4]; 256]);
    for (index, words) in entries.iter_mut().enumerate() {
        for code in 0..codes {
            let source = index >> (code * from_bits % 8) & (count - 1);
            let result = (u64::from(low[source]) | u64::from(high[source]) << 32) & (u64::MAX >> (64 - to_bits));
            let place = code * place_bits;
            words[place as usize / 64] |= result << (place % 64);
        }
    }
    entries
}
