//! Counts the values that a cast loses.

use std::hint::black_box;

use super::code_cast::CodeCast;
use super::codes::F32_SIGN;
use super::isa::{Baseline, Instructions, Isa};
use crate::bits::float_env::with_default_modes;
use crate::bits::packing::unpack_bytes;
use crate::types::loss::{CodeRange, LossCounts, LostCodes, LostResults, Others, lost_codes};

/// The number of codes of fewer than 8 bits that are unpacked and counted at a time.
const BLOCK: usize = 1024;

/// Counts the losses of one cast, chunk by chunk.
pub(crate) struct LossCounter {
    lost: Vec<(LostCodes, Option<LostResults>)>,
    /// The bits that the source's and the result's codes take in memory. Ranges of codes ignore the bits above a code.
    bits: [u32; 2],
    isa: Isa,
}

impl LossCounter {
    pub(crate) fn new(cast: &CodeCast, isa: Isa) -> Self {
        let lost = with_default_modes(|| {
            let with_results = |lost: LostCodes| (lost, lost.results(&cast.conversion));
            lost_codes(&cast.conversion).into_iter().map(with_results).collect()
        });
        Self { lost, ..Self::of(Vec::new(), cast, isa) }
    }

    /// Counts only these source codes.
    pub(crate) fn of(lost: Vec<LostCodes>, cast: &CodeCast, isa: Isa) -> Self {
        Self { lost: lost.into_iter().map(|lost| (lost, None)).collect(), bits: cast.bits(), isa }
    }

    /// Whether a source code is counted.
    pub(crate) fn contains(&self, code: u64) -> bool {
        self.lost.iter().any(|(lost, _)| lost.codes.contains(code))
    }

    /// Whether no number is counted whose magnitude is 0 or from `least` to `most`. The source is FLOAT.
    pub(crate) fn keeps(&self, [least, most]: [f32; 2]) -> bool {
        let apart = |codes: &CodeRange| codes.last < least.to_bits().into() || u64::from(most.to_bits()) < codes.first;
        self.lost.iter().all(|(lost, _)| lost.codes.mask == (!F32_SIGN).into() && apart(&lost.codes))
    }

    /// The losses of `elements` codes.
    pub(crate) fn count(&self, source: &[u8], elements: usize) -> LossCounts {
        let mut counts = LossCounts::default();
        if self.bits[0] >= 8 {
            self.add_codes(source, self.bits[0], &mut counts);
        } else if !self.lost.is_empty() {
            let mut codes = [0; BLOCK];
            for (block, packed) in source.chunks(BLOCK * self.bits[0] as usize / 8).enumerate() {
                let codes = &mut codes[..(elements - block * BLOCK).min(BLOCK)];
                unpack_bytes(packed, self.bits[0], codes);
                self.add_codes(codes, 8, &mut counts);
            }
        }
        counts
    }

    /// The losses of source codes of at least 8 bits whose results are `result`.
    pub(crate) fn count_cast(&self, source: &[u8], result: &[u8]) -> LossCounts {
        let mut counts = LossCounts::default();
        for (lost, results) in &self.lost {
            let count_source = |codes| count_codes(self.isa, source, self.bits[0], codes);
            let count = match results {
                None => count_source(&lost.codes),
                Some(LostResults { codes, others }) => {
                    // The codes in `others` have the same results, but lost nothing.
                    match (count_codes(self.isa, result, self.bits[1], codes), others) {
                        (0, _) => 0,
                        (count, Others::None) => count,
                        (count, Others::One(other)) => count - count_source(other),
                        (_, Others::Many) => count_source(&lost.codes),
                    }
                }
            };
            counts.add(lost.loss, count);
        }
        counts
    }

    /// Adds the losses of codes of a whole number of bytes.
    fn add_codes(&self, codes: &[u8], bits: u32, counts: &mut LossCounts) {
        for (lost, _) in &self.lost {
            counts.add(lost.loss, count_codes(self.isa, codes, bits, &lost.codes));
        }
    }
}

fn count_codes(isa: Isa, codes: &[u8], bits: u32, range: &CodeRange) -> u64 {
    match isa {
        Isa::Portable => count_on(Baseline, codes, range, bits),
        #[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
        Isa::Avx2(simd) => count_on(simd, codes, range, bits),
        #[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
        Isa::Avx512(simd) => count_on(simd, codes, range, bits),
        // The compiler uses NEON everywhere.
        #[cfg(all(feature = "cpu-simd", target_arch = "aarch64"))]
        Isa::Neon(_) => count_on(Baseline, codes, range, bits),
    }
}

/// Counts the codes of one width for which `$is_counted` is true. The count of a block has the width of the codes, so
/// that each lane of a vector has a count of its own. A block is a whole number of vectors, and so short that its count
/// does not overflow.
macro_rules! count_codes {
    ($code:ty, $block:literal, $packed:expr, $one:expr, $is_counted:expr) => {{
        let (codes, _) = $packed.as_chunks();
        let mut count = 0;
        for block in codes.chunks($block) {
            let mut counted: $code = 0;
            for &code in block {
                counted += if $is_counted(<$code>::from_le_bytes(code)) { $one } else { 0 };
            }
            count += counted as u64;
        }
        count
    }};
}

/// Counts the codes of one width in a range.
macro_rules! count_in_range {
    ($code:ty, $block:literal, $packed:expr, $range:expr, $has_masks:expr) => {{
        let [mask, first, span] = [$range.mask, $range.first, $range.last - $range.first].map(|bits| bits as $code);
        // If LLVM does not know that the number is 1, it adds under a mask. Otherwise it makes a vector of the mask
        // first.
        let one = if $has_masks { black_box(1) } else { 1 };
        if span == 0 {
            count_codes!($code, $block, $packed, one, |code: $code| code & mask == first)
        } else {
            count_codes!($code, $block, $packed, one, |code: $code| (code & mask).wrapping_sub(first) <= span)
        }
    }};
}

/// Counts codes in a range, compiled for an instruction set.
fn count_on<I: Instructions>(instructions: I, packed: &[u8], range: &CodeRange, bits: u32) -> u64 {
    let mut count = 0;
    instructions.run(
        #[inline(always)]
        || {
            count = match bits {
                8 => count_in_range!(u8, 192, packed, range, I::HAS_MASKS),
                16 => count_in_range!(u16, 4096, packed, range, I::HAS_MASKS),
                32 => count_in_range!(u32, 4096, packed, range, I::HAS_MASKS),
                _ => count_in_range!(u64, 4096, packed, range, I::HAS_MASKS),
            };
        },
    );
    count
}
