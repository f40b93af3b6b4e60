//! Hard cases for casts, as many as the tests are to take.

use wgpu_cast::ElementType;

pub use crate::checks::cases::{codes_of, random};
use crate::tier::Tier;

/// Codes of `from` worth casting, sorted, each once: as many as the tests are to take.
pub fn codes(from: ElementType) -> Vec<u64> {
    codes_of(from, Tier::chosen())
}
