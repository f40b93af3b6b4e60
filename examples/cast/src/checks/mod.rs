//! What `wgpu-cast verify` casts and compares: difficult codes, all inputs, options, recorded checksums. Tests of the
//! library include these files too.

pub mod cases;
pub mod checksums;
pub mod inputs;
pub mod options;
pub mod random;
pub mod tier;
pub mod two_words;
pub mod verify;

use wgpu_cast::ElementType;

/// The numeric element types.
pub fn numeric() -> impl Iterator<Item = ElementType> {
    ElementType::ALL.iter().copied().filter(|t| t.is_numeric())
}
