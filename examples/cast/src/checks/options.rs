//! Sets of options.

use wgpu_cast::{CastOptions, ElementType, Float4Nan, Int4Overflow, Kind, RoundMode};

/// Every combination of options. Most options make no difference for a pair; a test that can afford it checks that.
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

/// The options that can make a difference for a destination, by ONNX's attribute texts; the default comes first.
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

/// The options that can make a difference for a pair. The rules of the 4-bit types apply to float sources only.
pub fn pair_variants(from: ElementType, to: ElementType) -> Vec<CastOptions> {
    match from.kind() {
        Kind::Float(_) => variants(to),
        _ if to.bits() == Some(4) => vec![CastOptions::default()],
        _ => variants(to),
    }
}

/// The options that are not the default: `saturate=false`, or `-`.
pub fn options_text(options: &CastOptions) -> String {
    let default = CastOptions::default();
    let mut told = Vec::new();
    if options.saturate != default.saturate {
        told.push(format!("saturate={}", options.saturate));
    }
    if options.round_mode != default.round_mode {
        told.push(format!("round_mode={}", options.round_mode));
    }
    if options.int4_overflow == Int4Overflow::Clamp {
        told.push("int4_overflow=clamp".to_owned());
    }
    if options.float4_nan == Float4Nan::Max {
        told.push("float4_nan=max".to_owned());
    }
    if told.is_empty() { "-".to_owned() } else { told.join(",") }
}
