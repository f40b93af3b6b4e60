//! Counts the source codes that a cast loses.

use super::isa::{Baseline, Instructions, Isa};
use crate::conversion::Conversion;
use crate::float_env::with_default_modes;
use crate::loss::{LossCounts, LostCodes, lost_codes};
use crate::packing::unpack_bytes;

/// The number of codes of fewer than 8 bits that are unpacked and counted at a time.
const BLOCK: usize = 1024;

/// Counts the losses of one cast, in pieces.
pub(crate) struct LossCounter {
    lost: Vec<LostCodes>,
    bits: u32,
    isa: Isa,
}

impl LossCounter {
    pub(crate) fn new(conversion: &Conversion, isa: Isa) -> Self {
        Self::of(with_default_modes(|| lost_codes(conversion)), conversion.from.code_bits(), isa)
    }

    /// Counts only these codes, of `bits` bits.
    pub(crate) fn of(lost: Vec<LostCodes>, bits: u32, isa: Isa) -> Self {
        Self { lost, bits, isa }
    }

    /// Whether a code is counted.
    pub(crate) fn contains(&self, code: u64) -> bool {
        self.lost.iter().any(|lost| lost.contains(code))
    }

    /// The losses of `elements` packed codes.
    pub(crate) fn count(&self, source: &[u8], elements: usize) -> LossCounts {
        let mut counts = LossCounts::default();
        if self.bits >= 8 {
            self.add_codes(source, self.bits, &mut counts);
        } else if !self.lost.is_empty() {
            let mut codes = [0; BLOCK];
            for (block, packed) in source.chunks(BLOCK * self.bits as usize / 8).enumerate() {
                let codes = &mut codes[..(elements - block * BLOCK).min(BLOCK)];
                unpack_bytes(packed, self.bits, codes);
                self.add_codes(codes, 8, &mut counts);
            }
        }
        counts
    }

    /// Adds the losses of codes of a whole number of bytes.
    fn add_codes(&self, codes: &[u8], bits: u32, counts: &mut LossCounts) {
        for lost in &self.lost {
            counts.add(lost.loss, count_codes(self.isa, codes, bits, lost));
        }
    }
}

fn count_codes(isa: Isa, codes: &[u8], bits: u32, lost: &LostCodes) -> u64 {
    match isa {
        Isa::Portable => count_on(Baseline, codes, lost, bits),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Isa::Avx2(simd) => count_on(simd, codes, lost, bits),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Isa::Avx512(simd) => count_on(simd, codes, lost, bits),
    }
}

/// Counts the codes of one width. The count of a block is as wide as the codes, so that each lane of a vector has its
/// own; a block is a whole number of vectors, and short enough for such a count.
macro_rules! count_codes {
    ($code:ty, $block:literal, $source:expr, $lost:expr) => {{
        let [mask, first, span] = [$lost.mask, $lost.first, $lost.last - $lost.first].map(|bits| bits as $code);
        let (codes, _) = $source.as_chunks();
        let mut count = 0;
        for block in codes.chunks($block) {
            let mut lost: $code = 0;
            for &code in block {
                lost += <$code>::from((<$code>::from_le_bytes(code) & mask).wrapping_sub(first) <= span);
            }
            count += lost as u64;
        }
        count
    }};
}

/// Counts codes in a range, compiled for an instruction set.
fn count_on(instructions: impl Instructions, source: &[u8], lost: &LostCodes, bits: u32) -> u64 {
    let mut count = 0;
    instructions.run(
        #[inline(always)]
        || {
            count = match bits {
                8 => count_codes!(u8, 192, source, lost),
                16 => count_codes!(u16, 4096, source, lost),
                32 => count_codes!(u32, 4096, source, lost),
                _ => count_codes!(u64, 4096, source, lost),
            };
        },
    );
    count
}
