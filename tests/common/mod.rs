//! What several test files share: the option variants of a pair, and the oracle's view of them.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod adapter;
pub mod buffers;
#[path = "../../examples/cast/cases.rs"]
pub mod cases;
pub mod oracle;

use oracle::{Oracle, Round, Rules};
use wgpu_cast::{CastOptions, ElementType, Float4Nan, Int4Overflow, RoundMode};

/// The numeric element types.
pub fn numeric() -> impl Iterator<Item = ElementType> {
    ElementType::ALL.iter().copied().filter(|t| t.is_numeric())
}

/// Every combination of options; those that a pair does not look at must change nothing, so tests that can afford it
/// run them all.
pub fn all_options() -> Vec<CastOptions> {
    let mut all = Vec::new();
    for saturate in [true, false] {
        for mode in RoundMode::ALL {
            for overflow in [Int4Overflow::Wrap, Int4Overflow::Clamp] {
                for nan in [Float4Nan::Zero, Float4Nan::Max] {
                    let options = CastOptions::default().with_saturate(saturate).with_round_mode(mode);
                    all.push(options.with_int4_overflow(overflow).with_float4_nan(nan));
                }
            }
        }
    }
    all
}

/// The options that can make a difference for a destination, by ONNX's attribute texts.
pub fn variants(to: ElementType) -> Vec<CastOptions> {
    let default = CastOptions::default();
    let name = to.name();
    all_options()
        .into_iter()
        .filter(|o| name.starts_with("float8") || o.saturate == default.saturate)
        .filter(|o| name == "float8e8m0" || o.round_mode == default.round_mode)
        .filter(|o| name.ends_with("int4") || o.int4_overflow == default.int4_overflow)
        .filter(|o| name == "float4e2m1" || o.float4_nan == default.float4_nan)
        .collect()
}

/// The judge of one pair under some options.
pub fn oracle(from: ElementType, to: ElementType, options: &CastOptions) -> Oracle {
    let round_mode = match options.round_mode {
        RoundMode::Up => Round::Up,
        RoundMode::Down => Round::Down,
        RoundMode::Nearest => Round::Nearest,
    };
    let rules = Rules {
        saturate: options.saturate,
        round_mode,
        int4_clamp: options.int4_overflow == Int4Overflow::Clamp,
        float4_nan_max: options.float4_nan == Float4Nan::Max,
    };
    Oracle::new(from.name(), to.name(), rules)
}
