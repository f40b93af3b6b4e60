//! The threads that casts on the CPU use: the caller's alone, or those of a rayon pool.

mod alone;
// A browser has no threads here.
#[cfg(all(feature = "threads", not(target_family = "wasm")))]
mod pool;

use std::cell::Cell;

#[cfg(not(all(feature = "threads", not(target_family = "wasm"))))]
pub(crate) use alone::{find_first, for_each_chunk, for_each_index, max_of_chunks};
#[cfg(all(feature = "threads", not(target_family = "wasm")))]
pub(crate) use pool::{find_first, for_each_chunk, for_each_index, max_of_chunks};

/// Looks for a result in an item, given its index, and in its bytes.
type FindIn<'a, T, R> = dyn Fn(usize, &T, &mut [u8]) -> Option<R> + Sync + 'a;

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`. The CPU casts of any size that it makes on this thread, strings included, use this thread alone.
///
/// With the feature `threads`, large casts otherwise use the threads of the current rayon pool. That is the pool whose
/// task is running, or else the global pool; `pool.install(|| cpu::cast(…))` chooses a pool. While the calling thread
/// waits for them, it may run other tasks of that pool. If the caller holds a lock that such a task waits for, this is
/// a deadlock. Such a caller must cast inside this function. If the system starts no threads for the global pool, casts use
/// this thread alone, and rayon has no global pool for the rest of the process.
///
/// ```
/// use wgpu_cast::{CastOptions, ElementType, Tensor, cpu};
///
/// let tensor = Tensor::from_slice([1 << 20], &vec![1.5f32; 1 << 20])?;
/// let result = cpu::on_this_thread(|| cpu::cast(&tensor, ElementType::FLOAT16, &CastOptions::default()))?;
/// assert_eq!(result.codes().next(), Some(0x3e00));
/// # Ok::<(), wgpu_cast::Error>(())
/// ```
pub fn on_this_thread<R>(work: impl FnOnce() -> R) -> R {
    /// Restores the state of the caller, also if `work` panics.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _restore = Restore(ALONE.replace(true));
    work()
}
