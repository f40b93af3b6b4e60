//! Checks of the sizes of buffers.

use super::limits::PlanLimits;
use crate::types::conversion::Conversion;
use crate::types::error::{CastFault, Error};

/// Checks that the largest buffer can hold each tensor. `lens` has the elements of the source and of the destination.
pub(crate) fn check_sizes(conversion: &Conversion, lens: [u64; 2], limits: &PlanLimits) -> Result<(), Error> {
    let (limit, allowed) = ("max_buffer_size", limits.buffer_size);
    for (element_type, len) in [conversion.from, conversion.to].into_iter().zip(lens) {
        // After this check, the bits of a tensor can be counted in 64 bits.
        let needed = element_type.packed_bytes(len).unwrap_or(u64::MAX);
        if needed > allowed {
            return Err(conversion.error(CastFault::Limit { limit, needed, allowed }));
        }
    }
    Ok(())
}
