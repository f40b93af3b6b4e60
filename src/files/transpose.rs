//! Arrays in column-major order.

use std::io;

use super::input::ReadAt;

/// Fills `buffer` with elements of a column-major array in row-major order, from the element of index `first` on.
pub(super) fn read_row_major(
    _input: &dyn ReadAt,
    _offset: u64,
    _element_bytes: usize,
    _axes: &[u64],
    _first: u64,
    _buffer: &mut [u8],
) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
