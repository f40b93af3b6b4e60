//! Plans of casts as data, and functions in WGSL: what `createCaster`, `plan` and `functions` of the npm package call.
//!
//! Nothing here reaches the CPU path or wgpu, so that the module stays small. Types and options come as numbers, and plans
//! go as bytes: both are read in JavaScript by `npm/plans.js`.

mod error;
mod functions;
mod planner;

use wasm_bindgen::prelude::*;
use wgpu_cast::wgsl::Kernel;
use wgpu_cast::{CastOptions, CastSpec, ElementType, Float4Nan, Int4Overflow, Kind, RoundMode};

/// A quarter of the code of the standard library's allocator. It never joins the pages that it takes for a large block with
/// others, so that they serve only blocks that are no larger.
#[global_allocator]
static ALLOCATOR: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();

/// The version of wgpu-cast.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// All element types, one a line: name, width in bits, `float` or `other`, and other names. The number of a type is that of
/// its line.
#[wasm_bindgen(js_name = elementTypes)]
pub fn element_types() -> String {
    let line = |t: &ElementType| {
        let kind = if matches!(t.kind(), Kind::Float(_)) { "float" } else { "other" };
        format!("{} {} {kind} {}", t.name(), t.bits().unwrap_or(0), t.aliases().join(" "))
    };
    ElementType::ALL.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The packed bytes of so many elements. NaN if they cannot be counted.
#[wasm_bindgen(js_name = packedBytes)]
pub fn packed_bytes(element_type: u8, elements: f64) -> f64 {
    numbered(element_type).packed_bytes(elements as u64).map_or(f64::NAN, |bytes| bytes as f64)
}

/// Invocations in the largest workgroup of a kernel.
#[wasm_bindgen(js_name = mostInvocations)]
pub fn most_invocations() -> u32 {
    Kernel::MOST_INVOCATIONS
}

/// The type of a number.
fn numbered(number: u8) -> ElementType {
    ElementType::ALL[usize::from(number)]
}

/// The types in the two lowest bytes, and the options in the third.
fn spec(code: u32) -> CastSpec {
    let [from, to, options, _] = code.to_le_bytes();
    CastSpec::new(numbered(from), numbered(to)).with_options(self::options(options))
}

/// Options: 1 for no saturation, 2 and 4 for rounding down and to nearest, 8 to clamp 4-bit integers, and 16 for the
/// largest number instead of NaN.
fn options(bits: u8) -> CastOptions {
    let has = |bit: u8| bits & bit != 0;
    CastOptions::default()
        .with_saturate(!has(1))
        .with_round_mode(if has(2) {
            RoundMode::Down
        } else if has(4) {
            RoundMode::Nearest
        } else {
            RoundMode::Up
        })
        .with_int4_overflow(if has(8) { Int4Overflow::Clamp } else { Int4Overflow::Wrap })
        .with_float4_nan(if has(16) { Float4Nan::Max } else { Float4Nan::Zero })
}
