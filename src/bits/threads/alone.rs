//! Work on the calling thread.

use super::FindIn;

/// Runs `work` on `chunk[0]` bytes of the source and `chunk[1]` bytes of the destination at a time, or on all of them
/// at once. `work` also gets the index of the chunk.
pub(crate) fn for_each_chunk(
    source: &[u8],
    destination: &mut [u8],
    _chunk: [usize; 2],
    work: impl Fn(usize, &[u8], &mut [u8]) + Sync,
) {
    work(0, source, destination);
}

/// The largest result of `work` over all chunks: `chunk[0]` bytes of `first` and `chunk[1]` bytes of `second`. `work`
/// also gets the index of the chunk.
pub(crate) fn max_of_chunks(
    first: &[u8],
    second: &[u8],
    chunk: [usize; 2],
    work: impl Fn(usize, &[u8], &[u8]) -> u64 + Sync,
) -> u64 {
    let chunks = first.chunks(chunk[0]).zip(second.chunks(chunk[1])).enumerate();
    chunks.map(|(index, (first, second))| work(index, first, second)).max().unwrap_or(0)
}

/// The results of `work` for every index below `count`, in order. `work` may use the string as scratch memory.
pub(crate) fn for_each_index<T: Send, E: Send>(
    count: usize,
    work: &(dyn Fn(usize, &mut String) -> Result<T, E> + Sync),
) -> Result<Vec<T>, E> {
    let mut text = String::new();
    (0..count).map(|index| work(index, &mut text)).collect()
}

/// The first result of `work` in the order of the items. `work` gets the item's index, the item and its `size` bytes of
/// the destination.
pub(crate) fn find_first<T: Sync, R: Send>(
    items: &[T],
    destination: &mut [u8],
    size: usize,
    work: &FindIn<'_, T, R>,
) -> Option<R> {
    let mut items = items.iter().zip(destination.chunks_mut(size)).enumerate();
    items.find_map(|(index, (item, bytes))| work(index, item, bytes))
}
