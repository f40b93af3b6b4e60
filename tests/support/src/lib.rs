//! What tests, benches and the example `cast` share. It is a crate of its own, so that each part is compiled once and
//! none of them reaches into the files of another.

pub mod adapter;
pub mod buffers;
pub mod cases;
pub mod decoders;
pub mod golden;
pub mod options;
pub mod oracle;
pub mod random;
pub mod tier;
pub mod translate;

use oracle::{Oracle, Round, Rules};
use wgpu_cast::{CastOptions, ElementType, Float4Nan, Int4Overflow, RoundMode};

/// The numeric element types.
pub fn numeric() -> impl Iterator<Item = ElementType> {
    ElementType::ALL.iter().copied().filter(|t| t.is_numeric())
}

/// The independent judge of a pair under some options.
pub fn oracle(from: ElementType, to: ElementType, options: &CastOptions) -> Oracle {
    let round_mode = match options.round_mode {
        RoundMode::Up => Round::Up,
        RoundMode::Down => Round::Down,
        RoundMode::Nearest => Round::Nearest,
        other => panic!("the oracle does not know the round mode {other:?}"),
    };
    let rules = Rules {
        saturate: options.saturate,
        round_mode,
        int4_clamp: options.int4_overflow == Int4Overflow::Clamp,
        float4_nan_max: options.float4_nan == Float4Nan::Max,
    };
    Oracle::new(from.name(), to.name(), rules)
}
