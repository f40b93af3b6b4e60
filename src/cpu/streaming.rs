//! Stores past the caches: streaming, or non-temporal, stores.
//!
//! An ordinary store first reads the line of memory that it changes. A streaming store does not, so that a result larger
//! than the caches takes less time. It is not in the caches afterwards.

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

/// Whether streaming stores are faster for a source and a result of so many bytes together, where the memory of the result
/// has been used before.
pub(super) fn is_faster(bytes: usize) -> bool {
    EXISTS && bytes >= LEAST && is_measured()
}

/// Fills a destination with blocks of `written` bytes, at most `MOST`, which `convert` makes of blocks of `read` bytes of
/// a source. Returns the number of blocks: the whole ones that both have.
#[inline(always)]
pub(super) fn fill<const MOST: usize>(
    (source, read): (&[u8], usize),
    (destination, written): (&mut [u8], usize),
    mut convert: impl FnMut(&[u8], &mut [u8]),
) -> usize {
    // Dropped when this returns or panics. Until then nothing else sees the destination, which is borrowed.
    let _fence = Fence;
    let mut blocks = 0;
    for (block, destination) in source.chunks_exact(read).zip(destination.chunks_exact_mut(written)) {
        if let Some(ahead) = source.get(blocks * read + AHEAD..blocks * read + AHEAD + read) {
            prefetch(ahead);
        }
        let mut made = [0; MOST];
        convert(block, &mut made[..written]);
        store(&made[..written], destination);
        blocks += 1;
    }
    blocks
}

/// Whether the processor is one of those on which streaming stores were measured: Intel's.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code, unused_unsafe, reason = "the intrinsic is safe in newer versions of Rust only")]
fn is_measured() -> bool {
    // SAFETY: every x86-64 processor has the instruction CPUID, and its leaf 0.
    let vendor = unsafe { std::arch::x86_64::__cpuid(0) };
    [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).as_flattened() == b"GenuineIntel"
}

/// Copies bytes to a destination of as many.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code, reason = "no safe function stores past the caches")]
#[inline(always)]
fn store(bytes: &[u8], destination: &mut [u8]) {
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
fn is_measured() -> bool {
    false
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn store(bytes: &[u8], destination: &mut [u8]) {
    destination.copy_from_slice(bytes);
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn prefetch(_: &[u8]) {}
