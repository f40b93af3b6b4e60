//! Stores past the caches: streaming, or non-temporal, stores.
//!
//! An ordinary store first reads the line of memory that it changes. A streaming store does not, so that a result larger
//! than the caches takes less time. It is not in the caches afterwards.

#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::sync::OnceLock;

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use pulp::x86::V4;

/// The size of a cache line and of the longest vectors, in bytes.
pub(super) const LINE: usize = 64;

/// Whether loops have streaming stores on this target.
pub(super) const EXISTS: bool = cfg!(target_arch = "x86_64");

/// The size of a source and its result in bytes, together, from which streaming stores were measured to be faster on all
/// threads, even if the result is read at once.
const LEAST: usize = 48 << 20;

/// The bytes that a loop stores at a time: some lines of memory, which the compiler keeps in registers.
pub(super) const BLOCK: usize = 256;

/// How far ahead of a loop its source is loaded into the caches, in bytes. Streaming stores leave the processor too few
/// loads in flight otherwise.
const AHEAD: usize = 8 << 10;

/// Whether streaming stores were measured to be faster from `source` to `destination` bytes, where the memory of the result
/// has been used before: on Intel's processors with stores of 16 and 64 bytes, on AMD's with Zen 5. `in_lines` says that the loop
/// stores whole lines, and `are_several` whether several threads work. It is asked last, since it may start rayon's threads.
pub(super) fn is_faster([source, destination]: [usize; 2], in_lines: bool, are_several: impl FnOnce() -> bool) -> bool {
    if !EXISTS || source + destination < LEAST {
        return false;
    }
    match vendor() {
        b"GenuineIntel" => true,
        // Lines that are stored in parts take up to 1.8 times as long as ordinary stores.
        b"AuthenticAMD" => in_lines && (destination <= source || are_several()),
        _ => false,
    }
}

/// Fills a destination with blocks of `written` bytes, at most `MOST`, which `convert` makes of blocks of `read` bytes of
/// a source, and `store` stores. It takes the next block of each of so many runs in turns. Returns how many blocks it filled
/// from the start: all whole ones that both have, but for fewer than `runs`.
#[inline(always)]
pub(super) fn fill<const MOST: usize>(
    runs: usize,
    (source, read): (&[u8], usize),
    (destination, written): (&mut [u8], usize),
    mut convert: impl FnMut(&[u8], &mut [u8]),
    store: impl Fn(&[u8], &mut [u8]),
) -> usize {
    // Dropped when this returns or panics. Until then nothing else sees the destination, which is borrowed.
    let _fence = Fence;
    let rows = (source.len() / read).min(destination.len() / written) / runs;
    for row in 0..rows {
        for run in 0..runs {
            let block = run * rows + row;
            let source = &source[block * read..];
            if let Some(ahead) = source.get(AHEAD..AHEAD + read) {
                prefetch(ahead);
            }
            let mut made = [0; MOST];
            convert(&source[..read], &mut made[..written]);
            store(&made[..written], &mut destination[block * written..(block + 1) * written]);
        }
    }
    rows * runs
}

/// How many runs of blocks are filled in turns. On an Intel Xeon two take 0.6 to 0.95 of the time of one on one thread; on two threads
/// 0.85 to 0.95 where the result is not larger than the source, and 0.9 to 1.2 where it is. On others this was not measured.
pub(super) fn runs() -> usize {
    if vendor() == b"GenuineIntel" { 2 } else { 1 }
}

/// Who made the processor. It is asked once: in a virtual machine the instruction traps, which is slow.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code, unused_unsafe, reason = "the intrinsic is safe in newer versions of Rust only")]
fn vendor() -> &'static [u8; 12] {
    static VENDOR: OnceLock<[u8; 12]> = OnceLock::new();
    VENDOR.get_or_init(|| {
        // SAFETY: every x86-64 processor has the instruction CPUID, and its leaf 0.
        let vendor = unsafe { std::arch::x86_64::__cpuid(0) };
        bytemuck::cast([vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes))
    })
}

/// Copies bytes to a destination of as many.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code, reason = "no safe function stores past the caches")]
#[inline(always)]
pub(super) fn store(bytes: &[u8], destination: &mut [u8]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};

    const SIZE: usize = size_of::<__m128i>();
    if !destination.as_ptr().addr().is_multiple_of(SIZE) {
        return destination.copy_from_slice(bytes);
    }
    let (vectors, last) = bytes.as_chunks::<SIZE>();
    let (places, rest) = destination.as_chunks_mut::<SIZE>();
    for (vector, place) in vectors.iter().zip(places) {
        // SAFETY: every x86-64 processor has SSE2. Both are SIZE bytes, and the place is aligned to SIZE. `fill` has the
        // fence before anything else sees it.
        unsafe { _mm_stream_si128(place.as_mut_ptr().cast(), _mm_loadu_si128(vector.as_ptr().cast())) };
    }
    rest.copy_from_slice(last);
}

/// Copies bytes to a destination of as many, in whole lines.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code, reason = "no safe function stores past the caches")]
#[inline(always)]
pub(super) fn store_lines(_: V4, bytes: &[u8], destination: &mut [u8]) {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_stream_si512};

    if !destination.as_ptr().addr().is_multiple_of(LINE) {
        return store(bytes, destination);
    }
    let (lines, last) = bytes.as_chunks::<LINE>();
    let (places, rest) = destination.as_chunks_mut::<LINE>();
    for (line, place) in lines.iter().zip(places) {
        // SAFETY: a V4 exists where the processor has AVX-512. Both are LINE bytes, and the place is aligned to LINE. `fill`
        // has the fence before anything else sees it.
        unsafe { _mm512_stream_si512(place.as_mut_ptr().cast(), _mm512_loadu_si512(line.as_ptr().cast())) };
    }
    store(last, rest);
}

/// Begins to load bytes into the caches.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code, reason = "no safe function prefetches")]
#[inline(always)]
fn prefetch(bytes: &[u8]) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

    for line in bytes.chunks(LINE) {
        // SAFETY: every x86-64 processor has SSE. The line exists.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
}

/// Orders the streaming stores of this thread before all that follows.
struct Fence;

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code, reason = "no safe function fences streaming stores")]
impl Drop for Fence {
    fn drop(&mut self) {
        // SAFETY: every x86-64 processor has SSE.
        unsafe { std::arch::x86_64::_mm_sfence() };
    }
}

// Elsewhere, and under Miri, which lacks these instructions, ordinary stores take their place.

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn vendor() -> &'static [u8; 12] {
    &[0; 12]
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(super) fn store(bytes: &[u8], destination: &mut [u8]) {
    destination.copy_from_slice(bytes);
}

#[cfg(any(target_arch = "x86", all(target_arch = "x86_64", miri)))]
pub(super) fn store_lines(_: V4, bytes: &[u8], destination: &mut [u8]) {
    store(bytes, destination);
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn prefetch(_: &[u8]) {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every block is filled once, from its own part of the source, and nothing behind them.
    #[test]
    fn runs_fill_the_same_blocks() {
        let source: Vec<u8> = (0..4 * 1000 + 3).map(|i| (i / 4 % 251) as u8).collect();
        for (runs, blocks) in [1, 2, 3].into_iter().flat_map(|runs| [0, 1, 2, 7, 1000].map(|blocks| (runs, blocks))) {
            let mut filled = vec![0; 2 * blocks + 1];
            let made = fill::<2>(
                runs,
                (&source, 4),
                (&mut filled, 2),
                |source, made| made.copy_from_slice(&[source[0] + 1, source[3] + 2]),
                |made, destination| made.iter().zip(destination).for_each(|(made, place)| *place += made),
            );
            assert_eq!(made, blocks / runs * runs);
            for (block, filled) in filled.chunks(2).enumerate() {
                let code = (block % 251) as u8;
                let expected = if block < made { [code + 1, code + 2] } else { [0; 2] };
                assert_eq!(filled, &expected[..filled.len()], "{runs} runs, block {block} of {blocks}");
            }
        }
    }
}
