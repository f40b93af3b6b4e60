//! Counts the values that a cast loses.

use std::hint::black_box;

use super::code_cast::CodeCast;
use super::codes::{F32_INFINITY, F32_SIGN};
use super::isa::{Baseline, Instructions, Isa};
use crate::bits::float_env::with_default_modes;
use crate::bits::packing::unpack_bytes;
use crate::types::loss::{CodeRange, LossCounts, LostCodes, LostResults, Others, lost_codes};

/// The number of codes of fewer than 8 bits that are unpacked and counted at a time.
const BLOCK: usize = 1024;

/// What is known of the losses of numbers before they are counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Losses {
    /// There are none.
    None,
    /// The results tell them, if the finite magnitudes of the numbers are 0 or from the first to the second.
    InResults([f32; 2]),
    Unknown,
}

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

    /// What is known of the losses among numbers whose finite magnitudes are 0 or from `least` to `most`. The source is FLOAT, and
    /// the destination type has NaN.
    pub(crate) fn losses_of(&self, magnitudes: [f32; 2]) -> Losses {
        if self.kinds_between(magnitudes).next().is_none() {
            return Losses::None;
        }
        let tells = |(_, results): &(LostCodes, Option<LostResults>)| match results {
            Some(LostResults { others: Others::None, .. }) => true,
            Some(LostResults { others: Others::One(CodeRange { first: other, .. }), .. }) => {
                [0, F32_INFINITY].map(u64::from).contains(other)
            }
            _ => false,
        };
        match magnitudes[1].is_finite() && self.kinds_between(magnitudes).all(tells) {
            true => Losses::InResults(magnitudes),
            false => Losses::Unknown,
        }
    }

    /// The losses of numbers from their results. Their magnitudes are 0, those of [`Losses::InResults`] or NaN.
    pub(crate) fn count_results(
        &self,
        magnitudes: [f32; 2],
        results: &[u8],
        count_zeros: impl Fn() -> u64,
    ) -> LossCounts {
        let mut counts = LossCounts::default();
        for (lost, of_results) in self.kinds_between(magnitudes) {
            let Some(LostResults { codes, others }) = of_results else { unreachable!("the results tell each kind") };
            let count = count_codes(self.isa, results, self.bits[1], codes);
            let is_zero = matches!(others, Others::One(CodeRange { first: 0, .. }));
            let zeros = if is_zero && count > 0 { count_zeros() } else { 0 };
            counts.add(lost.loss, count - zeros);
        }
        counts
    }

    /// What numbers of these magnitudes, 0 or infinite numbers can lose.
    fn kinds_between(&self, [least, most]: [f32; 2]) -> impl Iterator<Item = &(LostCodes, Option<LostResults>)> {
        let [least, most] = [least, most].map(|number| u64::from(number.to_bits()));
        let is_apart = move |codes: &CodeRange| {
            let special = [0, F32_INFINITY].map(u64::from);
            let has_special = special.iter().any(|code| codes.contains(*code));
            codes.mask == (!F32_SIGN).into() && !has_special && (codes.last < least || most < codes.first)
        };
        self.lost.iter().filter(move |(lost, _)| !is_apart(&lost.codes))
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
        let (mask, first) = ($range.mask as $code, $range.first as $code);
        let span = ($range.last - $range.first) as $code;
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
