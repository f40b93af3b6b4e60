//! Hard cases for casts. Their number depends on how much the tests do.

use wgpu_cast::ElementType;

pub use crate::checks::cases::{codes_of, random};
use crate::tier::Tier;

/// Hard codes of `from`, sorted, each once. Their number depends on how much the tests do.
pub fn codes(from: ElementType) -> Vec<u64> {
    codes_of(from, Tier::chosen())
}
