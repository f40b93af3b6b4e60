//! Allocations that fail with an error instead of ending the process.

use crate::error::{FileCause, FileError};

/// A buffer of `bytes` zeros.
pub(crate) fn zeros(bytes: u64) -> Result<Vec<u8>, FileError> {
    let mut zeros = Vec::new();
    resize(&mut zeros, bytes)?;
    Ok(zeros)
}

/// An empty buffer with room for `bytes` bytes.
pub(crate) fn reserve(bytes: u64) -> Result<Vec<u8>, FileError> {
    let mut buffer = Vec::new();
    let reserved = usize::try_from(bytes).is_ok_and(|length| buffer.try_reserve_exact(length).is_ok());
    if reserved { Ok(buffer) } else { Err(FileCause::OutOfMemory { bytes }.into()) }
}

/// Changes the length to `bytes`. New bytes are zeros. No more memory is allocated than the length needs.
pub(crate) fn resize(buffer: &mut Vec<u8>, bytes: u64) -> Result<(), FileError> {
    let out_of_memory = || FileCause::OutOfMemory { bytes };
    let length = usize::try_from(bytes).map_err(|_| out_of_memory())?;
    buffer.try_reserve_exact(length.saturating_sub(buffer.len())).map_err(|_| out_of_memory())?;
    buffer.resize(length, 0);
    Ok(())
}
