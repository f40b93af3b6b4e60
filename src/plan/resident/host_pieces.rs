//! Host tensors in pieces that fit a device's buffers.

use crate::plan::dispatch::Offsets;
use crate::plan::limits::PlanSettings;
use crate::plan::measures::Measures;
use crate::types::conversion::Conversion;
use crate::types::error::Error;

/// The most elements of a piece of a host tensor. A piece takes at most `bytes` on either side and fits the device's
/// buffers. Every piece but the last ends at a whole byte on both sides.
pub(crate) fn host_chunk(conversion: &Conversion, settings: &PlanSettings, bytes: u64) -> Result<u64, Error> {
    let measures = Measures::new(conversion, Offsets::default(), settings);
    // The destination buffer also holds the sentinel.
    let buffer = settings.limits.buffer_size.saturating_sub(8);
    measures.fit(buffer, "max_buffer_size").map(|most| measures.fit(bytes, "").unwrap_or(measures.step).min(most))
}

/// The most elements of a host tensor in one submission. It limits the memory that a cast takes beside the tensors, and
/// the time for which a device works without an answer.
pub(crate) const HOST_ELEMENTS: u64 = 1 << 26;
