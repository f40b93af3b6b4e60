//! The bytes of strings and messages.

use std::borrow::Cow;
use std::io;
use std::ops::Range;

use super::WireError;
use crate::input::ReadAt;

pub(super) fn out_of_input() -> WireError {
    io::Error::from(io::ErrorKind::UnexpectedEof).into()
}

/// The bytes of a range of the input. More than `limit` bytes are an error. Bytes that are in memory are not copied.
pub(crate) fn view_bytes<'a>(
    input: &'a dyn ReadAt,
    range: &Range<u64>,
    limit: u64,
) -> Result<Cow<'a, [u8]>, WireError> {
    match input.in_memory() {
        Some(bytes) if range.end - range.start <= limit => {
            let found = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
            let found = found.and_then(|(start, end)| bytes.get(start..end));
            Ok(Cow::Borrowed(found.ok_or_else(out_of_input)?))
        }
        _ => read_bytes(input, range, limit).map(Cow::Owned),
    }
}

/// A copy of the bytes of a range of the input. More than `limit` bytes are an error.
pub(crate) fn read_bytes(input: &dyn ReadAt, range: &Range<u64>, limit: u64) -> Result<Vec<u8>, WireError> {
    let bytes = range.end.saturating_sub(range.start);
    if bytes > limit {
        return Err(WireError::TooLong { offset: range.start, bytes, limit });
    }
    let out_of_memory = || WireError::OutOfMemory { bytes };
    let length = usize::try_from(bytes).map_err(|_| out_of_memory())?;
    let mut read = Vec::new();
    read.try_reserve_exact(length).map_err(|_| out_of_memory())?;
    if input.in_memory().is_some() {
        read.extend_from_slice(&view_bytes(input, range, limit)?);
    } else {
        read.resize(length, 0);
        input.read_exact_at(range.start, &mut read)?;
    }
    Ok(read)
}
