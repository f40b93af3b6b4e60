//! Stores past the caches: non-temporal stores.
//!
//! An ordinary store first reads the line of memory that it changes. A non-temporal store does not, which saves time
//! for results that are larger than the caches. The result is not in the caches afterwards.

use std::hint::black_box;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::sync::OnceLock;

#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
use super::x86::{X86V3, X86V4};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The size of a cache line and of the longest vectors, in bytes.
pub(super) const LINE: usize = 64;

/// An aligned cache line.
#[derive(Clone, Copy, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C, align(64))]
pub(crate) struct Line([u8; LINE]);

impl Line {
    pub(super) const ZERO: Self = Self([0; LINE]);
}

/// An aligned half of a cache line: a vector of AVX2.
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
#[derive(Clone, Copy, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C, align(32))]
pub(crate) struct HalfLine(pub [u8; LINE / 2]);

/// Whether loops have non-temporal stores on this target.
pub(super) const EXISTS: bool = cfg!(target_arch = "x86_64");

/// The bytes of a source and its result together from which non-temporal stores are faster on all threads. This was
/// measured, also with results that are read at once.
const LEAST: usize = 48 << 20;

/// Whether non-temporal stores are faster from `source` to `destination` bytes, if the memory of the result has been
/// used before. This was measured on Intel's processors (Emerald Rapids), and on AMD's Zen 3, Zen 4 and Zen 5.
pub(super) fn is_faster([source, destination]: [usize; 2]) -> bool {
    EXISTS && source + destination >= LEAST && is_faster_on(processor())
}

fn is_faster_on(Processor { vendor, family }: Processor) -> bool {
    match &vendor {
        INTEL => true,
        // Zen 3 and newer.
        AMD => family >= 25,
        _ => false,
    }
}

const INTEL: &[u8; 12] = b"GenuineIntel";
const AMD: &[u8; 12] = b"AuthenticAMD";

/// Who made the processor, and its family as `lscpu` shows it.
#[derive(Clone, Copy)]
struct Processor {
    vendor: [u8; 12],
    family: u32,
}

/// The order in which a loop with non-temporal stores fills its blocks, and loads its source.
#[derive(Clone, Copy)]
pub(super) struct FillOrder {
    /// The number of runs of blocks that are filled in turns.
    pub runs: usize,
    /// The distance, in bytes, at which the source is loaded into the caches ahead of the loop. Without it,
    /// non-temporal stores leave the processor too few loads in flight: on Zen 4, DOUBLE to FLOAT with AVX2 has a third
    /// of the speed.
    pub ahead: usize,
}

/// The order for this processor: the fastest that was measured on Intel's, or for all others on AMD's from Zen 3 to Zen 5. The
/// design log has the figures.
// Inlined, it would be in every streaming loop. It is called once for a chunk.
#[inline(never)]
pub(super) fn fill_order() -> FillOrder {
    fill_order_of(&processor().vendor)
}

fn fill_order_of(vendor: &[u8; 12]) -> FillOrder {
    match vendor {
        INTEL => FillOrder { runs: 2, ahead: 8 << 10 },
        _ => FillOrder { runs: 1, ahead: 4 << 10 },
    }
}

/// Fills `destination` with blocks of `lines` lines, at most `MOST`. `convert` makes a block of `read` bytes of
/// `source`, and `store` stores it. Only while a [`Fence`] is held.
///
/// Returns the number of blocks that it filled from the start: the whole blocks that both sides have, rounded down to a
/// multiple of `runs`. It is 0 if the destination is not aligned.
///
/// `read` and `lines` must be constants where this is inlined. Otherwise the compiler keeps blocks on the stack instead
/// of in registers, and the loop takes up to ten times as long.
#[inline(always)]
pub(super) fn fill<const MOST: usize>(
    FillOrder { runs, ahead }: FillOrder,
    (source, read): (&[u8], usize),
    (destination, lines): (&mut [u8], usize),
    mut convert: impl FnMut(&[u8], &mut [u8]),
    store: impl Fn(&[Line], &mut [Line]),
) -> usize {
    // The aligned variable aligns the stack. Otherwise a vector that does not fit into the registers may lie across two
    // pages. Then its store waits for all non-temporal stores before it: DOUBLE to INT64 had a fifth of the speed on
    // Zen 3.
    let mut aligned = Line::ZERO;
    black_box(&mut aligned);
    let whole = destination.len() / LINE * LINE;
    let Ok(destination) = <[Line]>::mut_from_bytes(&mut destination[..whole]) else { return 0 };
    let turns = (source.len() / read).min(destination.len() / lines) / runs;
    let blocks = turns * runs;
    // With these lengths, each block needs one check of bounds. Twenty more instructions for each block cost a fifth of
    // the speed of FLOAT16 to FLOAT.
    let (source, destination) = (&source[..blocks * read], &mut destination[..blocks * lines]);
    for turn in 0..turns {
        // A turn fills a block of each run.
        let mut block = turn;
        while block < blocks {
            let source = &source[block * read..(block + 1) * read];
            prefetch(source, ahead);
            let mut made = const { [Line::ZERO; MOST] };
            let made = &mut made[..lines];
            convert(source, made.as_mut_bytes());
            store(made, &mut destination[block * lines..(block + 1) * lines]);
            block += turns;
        }
    }
    blocks
}

/// Who made the processor, and its family. The instruction CPUID runs once, because it traps in a virtual machine,
/// which is slow.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code, unused_unsafe, reason = "the intrinsic is safe in newer versions of Rust only")]
fn processor() -> Processor {
    use std::arch::x86_64::__cpuid;

    static PROCESSOR: OnceLock<Processor> = OnceLock::new();
    *PROCESSOR.get_or_init(|| {
        // SAFETY: every x86-64 processor has the instruction CPUID, and its leaves 0 and 1.
        let [first, second] = unsafe { [__cpuid(0), __cpuid(1)] };
        let vendor = bytemuck::cast([first.ebx, first.edx, first.ecx].map(u32::to_le_bytes));
        Processor { vendor, family: family(second.eax) }
    })
}

/// The family in the EAX of CPUID's leaf 1. If its four bits are all set, eight other bits are added.
#[cfg_attr(not(all(target_arch = "x86_64", not(miri))), allow(dead_code, reason = "nothing asks such a processor"))]
fn family(eax: u32) -> u32 {
    match eax >> 8 & 15 {
        15 => 15 + (eax >> 20 & 255),
        family => family,
    }
}

/// Copies `lines` to `destination`, 16 bytes at a time.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code, reason = "no safe function stores past the caches")]
#[inline(always)]
pub(super) fn store(lines: &[Line], destination: &mut [Line]) {
    use std::arch::x86_64::{__m128i, _mm_stream_si128};

    const WORDS: usize = LINE / size_of::<__m128i>();
    for (line, place) in lines.iter().zip(destination) {
        let words: [__m128i; WORDS] = zerocopy::transmute!(*line);
        let places: &mut [__m128i; WORDS] = zerocopy::transmute_mut!(place);
        for (word, place) in words.into_iter().zip(places) {
            // SAFETY: every x86-64 processor has SSE2. The place is aligned, as its type says. The caller holds a
            // `Fence`, which is dropped before anything else sees the place.
            unsafe { _mm_stream_si128(place, word) };
        }
    }
}

/// Copies `lines` to `destination`, half a line at a time.
#[cfg(all(feature = "cpu-simd", target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code, reason = "no safe function stores past the caches")]
#[inline(always)]
pub(super) fn store_halves(_: X86V3, lines: &[Line], destination: &mut [Line]) {
    use std::arch::x86_64::{__m256i, _mm256_stream_si256};

    for (line, place) in lines.iter().zip(destination) {
        let halves: [__m256i; 2] = zerocopy::transmute!(*line);
        let places: &mut [__m256i; 2] = zerocopy::transmute_mut!(place);
        for (half, place) in halves.into_iter().zip(places) {
            // SAFETY: an X86V3 exists only if the processor has AVX2. The place is aligned, as its type says. The caller
            // holds a `Fence`, which is dropped before anything else sees the place.
            unsafe { _mm256_stream_si256(place, half) };
        }
    }
}

/// Copies a vector to half a line.
#[cfg(all(feature = "cpu-simd", target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code, reason = "no safe function stores past the caches")]
#[inline(always)]
pub(super) fn store_half(_: X86V3, half: [u8; LINE / 2], place: &mut HalfLine) {
    use std::arch::x86_64::{__m256i, _mm256_stream_si256};

    let (half, place): (__m256i, &mut __m256i) = (zerocopy::transmute!(half), zerocopy::transmute_mut!(place));
    // SAFETY: as in `store_halves`.
    unsafe { _mm256_stream_si256(place, half) };
}

/// Copies `lines` to `destination`, a line at a time.
#[cfg(all(feature = "cpu-simd", target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code, reason = "no safe function stores past the caches")]
#[inline(always)]
pub(super) fn store_lines(_: X86V4, lines: &[Line], destination: &mut [Line]) {
    use std::arch::x86_64::{__m512i, _mm512_stream_si512};

    for (line, place) in lines.iter().zip(destination) {
        let place: &mut __m512i = zerocopy::transmute_mut!(place);
        let line: __m512i = zerocopy::transmute!(*line);
        // SAFETY: an X86V4 exists only if the processor has AVX-512. The place is aligned, as its type says. The caller holds
        // a `Fence`, which is dropped before anything else sees the place.
        unsafe { _mm512_stream_si512(place, line) };
    }
}

/// Begins to load the memory that lies `ahead` bytes after `bytes` into the caches.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code, reason = "no safe function prefetches")]
#[inline(always)]
pub(super) fn prefetch(bytes: &[u8], ahead: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

    for line in bytes.chunks(LINE) {
        // SAFETY: every x86-64 processor has SSE. The address may be beyond the end of the source: a prefetch is a
        // hint, and may have any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().wrapping_add(ahead).cast()) };
    }
}

/// When dropped, orders the non-temporal stores of this thread before all that follows.
pub(super) struct Fence;

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code, reason = "no safe function fences non-temporal stores")]
impl Drop for Fence {
    fn drop(&mut self) {
        // SAFETY: every x86-64 processor has SSE.
        unsafe { std::arch::x86_64::_mm_sfence() };
    }
}

// Elsewhere, and under Miri, which lacks these instructions, ordinary stores take their place.

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn processor() -> Processor {
    Processor { vendor: [0; 12], family: 0 }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(super) fn store(lines: &[Line], destination: &mut [Line]) {
    destination.copy_from_slice(lines);
}

#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", all(target_arch = "x86_64", miri))))]
pub(super) fn store_halves(_: X86V3, lines: &[Line], destination: &mut [Line]) {
    store(lines, destination);
}

#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", all(target_arch = "x86_64", miri))))]
pub(super) fn store_half(_: X86V3, half: [u8; LINE / 2], place: &mut HalfLine) {
    place.0 = half;
}

#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", all(target_arch = "x86_64", miri))))]
pub(super) fn store_lines(_: X86V4, lines: &[Line], destination: &mut [Line]) {
    store(lines, destination);
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(super) fn prefetch(_: &[u8], _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every block is filled once, from its own part of the source. Nothing after the blocks is filled.
    #[test]
    fn runs_fill_the_same_blocks() {
        let source: Vec<u8> = (0..4 * 1000 + 3).map(|i| (i / 4 % 251) as u8).collect();
        for (runs, blocks) in [1, 2, 3].into_iter().flat_map(|runs| [0, 1, 2, 7, 1000].map(|blocks| (runs, blocks))) {
            let mut filled = vec![Line::ZERO; 2 * blocks + 1];
            let _fence = Fence;
            let made = fill::<2>(
                FillOrder { runs, ahead: 8 },
                (&source, 4),
                (filled.as_mut_bytes(), 2),
                |source, made| {
                    made.fill(source[0] + 1);
                    made[LINE..].fill(source[3] + 2);
                },
                |made, destination| {
                    for (made, place) in made.iter().zip(destination) {
                        assert_eq!(place.0, [0; LINE], "filled twice");
                        *place = *made;
                    }
                },
            );
            assert_eq!(made, blocks / runs * runs);
            for (block, filled) in filled.chunks(2).enumerate() {
                let code = (block % 251) as u8;
                let expected = if block < made { [code + 1, code + 2] } else { [0; 2] };
                for (line, code) in filled.iter().zip(expected) {
                    assert_eq!(line.0, [code; LINE], "{runs} runs, block {block} of {blocks}");
                }
            }
        }
    }

    #[test]
    fn non_temporal_stores_are_used_where_they_were_measured() {
        let used = |vendor: &[u8; 12], family| is_faster_on(Processor { vendor: *vendor, family });
        assert_eq!([INTEL, AMD, b"CentaurHauls"].map(|vendor| used(vendor, 25)), [true, true, false]);
        // Zen 2, and Zen 5.
        assert_eq!([23, 26].map(|family| used(AMD, family)), [false, true]);
        let faster = |source, destination| is_faster([source, destination]);
        let here = EXISTS && is_faster_on(processor());
        assert_eq!(
            [faster(16 << 20, (32 << 20) - 1), faster(16 << 20, 32 << 20), faster(64 << 20, 0)],
            [false, here, here]
        );
    }

    #[test]
    fn the_family_is_that_of_lscpu() {
        // EAX of an Intel Xeon (Emerald Rapids), and of an AMD EPYC of Zen 3, of Zen 4 and of Zen 5.
        let families = [0xc06f2, 0xa00f11, 0xa10f11, 0xb00f21].map(family);
        assert_eq!(families, [6, 25, 25, 26]);
    }

    #[test]
    fn every_processor_has_the_order_that_was_measured_on_it() {
        let order = |vendor| {
            let FillOrder { runs, ahead } = fill_order_of(vendor);
            (runs, ahead)
        };
        assert_eq!([INTEL, AMD, b"CentaurHauls"].map(order), [(2, 8192), (1, 4096), (1, 4096)]);
    }

    #[test]
    fn lines_that_are_not_aligned_are_not_filled() {
        let mut filled = [Line::ZERO; 4];
        let filled = filled.as_mut_bytes();
        for offset in 1..LINE {
            let destination = &mut filled[offset..][..2 * LINE];
            let made =
                fill::<1>(fill_order(), (&[0; 8], 4), (destination, 1), |_, _| unreachable!(), |_, _| unreachable!());
            assert_eq!(made, 0, "offset {offset}");
        }
    }
}
