//! Memory that may not be there.

use crate::error::{FileCause, FileError};

/// So many zeros.
pub(crate) fn zeros(bytes: u64) -> Result<Vec<u8>, FileError> {
    let mut zeros = Vec::new();
    resize(&mut zeros, bytes)?;
    Ok(zeros)
}

/// Changes the length. No more memory is allocated than it needs.
pub(crate) fn resize(buffer: &mut Vec<u8>, bytes: u64) -> Result<(), FileError> {
    let length = usize::try_from(bytes).map_err(|_| FileCause::OutOfMemory { bytes })?;
    let more = length.saturating_sub(buffer.len());
    buffer.try_reserve_exact(more).map_err(|_| FileCause::OutOfMemory { bytes })?;
    buffer.resize(length, 0);
    Ok(())
}
