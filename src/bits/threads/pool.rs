//! Work on the threads of the current rayon pool, if there are at least two pieces of work and the caller allows it.
//! Where several closures would be given to rayon, it gets trait objects: its code is compiled again for every closure.

use std::error::Error;
use std::sync::OnceLock;

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use super::{ALONE, FindIn, alone};

/// Whether the threads of a pool may be used. It starts those of the global pool if the calling thread is in no pool.
fn may_share() -> bool {
    !ALONE.get() && (rayon::current_thread_index().is_some() || global_pool_exists())
}

/// Whether rayon has a global pool. It is built here, because rayon panics if the system starts no threads for it.
fn global_pool_exists() -> bool {
    static EXISTS: OnceLock<bool> = OnceLock::new();
    *EXISTS.get_or_init(|| match ThreadPoolBuilder::new().build_global() {
        Ok(()) => true,
        // A thread was refused.
        Err(error) if error.source().is_some() => false,
        // The application has built the pool, or has tried: rayon tries once only. It panics if there is none.
        Err(_) => std::panic::catch_unwind(rayon::current_num_threads).is_ok(),
    })
}

/// Work on a chunk: it gets the index of the chunk, its source and its destination.
type OnChunk<'a> = dyn Fn(usize, &[u8], &mut [u8]) + Sync + 'a;

/// As [`alone::for_each_chunk`].
#[inline]
pub(crate) fn for_each_chunk(
    source: &[u8],
    destination: &mut [u8],
    chunk: [usize; 2],
    work: impl Fn(usize, &[u8], &mut [u8]) + Sync,
) {
    if source.len() < 2 * chunk[0] || !may_share() {
        return alone::for_each_chunk(source, destination, chunk, work);
    }
    for_each_chunk_in_pool(source, destination, chunk, &work);
}

// If this were inlined, casts of a few elements would take longer.
#[inline(never)]
fn for_each_chunk_in_pool(source: &[u8], destination: &mut [u8], chunk: [usize; 2], work: &OnChunk<'_>) {
    let chunks = source.par_chunks(chunk[0]).zip(destination.par_chunks_mut(chunk[1])).enumerate();
    chunks.for_each(|(index, (source, destination))| work(index, source, destination));
}

/// As [`alone::max_of_chunks`].
pub(crate) fn max_of_chunks(
    first: &[u8],
    second: &[u8],
    chunk: [usize; 2],
    work: impl Fn(usize, &[u8], &[u8]) -> u64 + Sync,
) -> u64 {
    if first.len() < 2 * chunk[0] || !may_share() {
        return alone::max_of_chunks(first, second, chunk, work);
    }
    let chunks = first.par_chunks(chunk[0]).zip(second.par_chunks(chunk[1])).enumerate();
    chunks.map(|(index, (first, second))| work(index, first, second)).max().unwrap_or(0)
}

/// As [`alone::for_each_index`]. Every thread has its own string.
pub(crate) fn for_each_index<T: Send, E: Send>(
    count: usize,
    work: &(dyn Fn(usize, &mut String) -> Result<T, E> + Sync),
) -> Result<Vec<T>, E> {
    if count < 2 || !may_share() {
        return alone::for_each_index(count, work);
    }
    (0..count).into_par_iter().map_init(String::new, |text, index| work(index, text)).collect()
}

/// As [`alone::find_first`]: the result is the first in the order of the items, not the first in time.
pub(crate) fn find_first<T: Sync, R: Send>(
    items: &[T],
    destination: &mut [u8],
    size: usize,
    work: &FindIn<'_, T, R>,
) -> Option<R> {
    if items.len() < 2 || !may_share() {
        return alone::find_first(items, destination, size, work);
    }
    let items = items.par_iter().zip(destination.par_chunks_mut(size)).enumerate();
    items.find_map_first(|(index, (item, bytes))| work(index, item, bytes))
}
