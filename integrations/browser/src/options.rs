//! The options of a cast, as JavaScript gives them.

use wasm_bindgen::prelude::*;
use wgpu_cast::{CastOptions, Float4Nan, Int4Overflow};

use crate::error;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** The options of a cast. What is left out has ONNX's default. */
export interface Options {
  /** For float8 types: whether values out of range become the largest number instead of NaN or infinity. */
  saturate?: boolean;
  /** For float8e8m0. */
  roundMode?: 'up' | 'down' | 'nearest';
  /** Floats out of range for int4 and uint4. */
  int4Overflow?: 'wrap' | 'clamp';
  /** NaN as float4e2m1, which has none. */
  float4Nan?: 'zero' | 'max';
}
";

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(typescript_type = "Options | undefined")]
    pub type JsOptions;
}

/// The options in an object.
///
/// # Errors
/// An option has an unknown value.
pub fn parse(object: &JsValue) -> Result<CastOptions, JsValue> {
    let mut options = CastOptions::default();
    if !object.is_object() {
        return Ok(options);
    }
    let value = |name: &str| js_sys::Reflect::get(object, &name.into()).ok().filter(|value| !value.is_undefined());
    let text = |name| value(name).map(|value| value.as_string().unwrap_or_default());
    if let Some(saturate) = value("saturate") {
        let refused = || error::error("TypeError", "saturate is not a boolean");
        options = options.with_saturate(saturate.as_bool().ok_or_else(refused)?);
    }
    if let Some(mode) = text("roundMode") {
        options = options.with_round_mode(mode.parse().map_err(|e: wgpu_cast::Error| error::cast(&e))?);
    }
    if let Some(rule) = text("int4Overflow") {
        options = options.with_int4_overflow(match rule.as_str() {
            "wrap" => Int4Overflow::Wrap,
            "clamp" => Int4Overflow::Clamp,
            _ => return Err(error::error("TypeError", "int4Overflow is neither wrap nor clamp")),
        });
    }
    if let Some(rule) = text("float4Nan") {
        options = options.with_float4_nan(match rule.as_str() {
            "zero" => Float4Nan::Zero,
            "max" => Float4Nan::Max,
            _ => return Err(error::error("TypeError", "float4Nan is neither zero nor max")),
        });
    }
    Ok(options)
}
