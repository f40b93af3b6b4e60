//! How much the tests do.
//!
//! With `WGPU_CAST_TESTS=emulator` in the environment they do less, for machines on which each instruction takes tens
//! of times as long. They still meet every pair, every option, every instruction set and every special value: they
//! leave out further codes and further lengths of the same kind.
//!
//! With `WGPU_CAST_TESTS=exhaustive` they do more: the tests of pairs and of slices compile all kernels of every pair,
//! which takes minutes where the driver has not kept them on disk.

use std::env::var_os;
use std::sync::LazyLock;

pub use crate::checks::tier::Tier;

/// The environment variable with the choice.
const VARIABLE: &str = "WGPU_CAST_TESTS";

impl Tier {
    /// What the environment chooses.
    pub fn chosen() -> Self {
        static CHOSEN: LazyLock<Tier> = LazyLock::new(|| match var_os(VARIABLE) {
            None => Tier::Full,
            Some(tier) if tier == "emulator" => Tier::Emulator,
            Some(tier) if tier == "exhaustive" => Tier::Exhaustive,
            Some(tier) => panic!("{VARIABLE} is {tier:?}; it may be \"emulator\", \"exhaustive\", or not be set"),
        });
        *CHOSEN
    }
}

/// The number of something that tests use: `full`, or `few` on an emulator.
pub fn count(full: usize, few: usize) -> usize {
    Tier::chosen().count(full, few)
}
