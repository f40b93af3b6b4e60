//! How many elements buffers hold.

use super::dispatch::Offsets;
use super::limits::{PlanLimits, PlanSettings};
use super::measures::Measures;
use crate::types::conversion::Conversion;
use crate::types::error::Error;

/// Checks that the largest buffer holds so many elements of the source and of the destination.
pub(crate) fn check_sizes(conversion: &Conversion, lens: [u64; 2], limits: &PlanLimits) -> Result<(), Error> {
    let (from, to, limit, allowed) = (conversion.from, conversion.to, "max_buffer_size", limits.buffer_size);
    for (element_type, len) in [from, to].into_iter().zip(lens) {
        // After this check, a tensor's bits are counted in 64 bits without overflow.
        let needed = element_type.packed_bytes(len).unwrap_or(u64::MAX);
        if needed > allowed {
            return Err(Error::Limit { from, to, limit, needed, allowed });
        }
    }
    Ok(())
}

/// The most elements of a host tensor that take at most so many bytes on either side and fit the device's buffers, of
/// which every piece but the last starts at a whole byte on both sides.
pub(crate) fn host_chunk(conversion: &Conversion, settings: &PlanSettings, bytes: u64) -> Result<u64, Error> {
    let measures = Measures::new(conversion, Offsets::default(), settings);
    // The destination buffer also holds the sentinel.
    let buffer = settings.limits.buffer_size.saturating_sub(8);
    measures.fit(buffer, "max_buffer_size").map(|most| measures.fit(bytes, "").unwrap_or(measures.step).min(most))
}

/// Most elements of a host tensor in one submission. It bounds the memory that a cast takes beside the tensors, and how
/// long a device works without an answer.
pub(crate) const HOST_ELEMENTS: u64 = 1 << 26;
