//! wgpu-cast for JavaScript: what the worker of the page and the npm package call.
//!
//! Bytes are copied between JavaScript and WebAssembly in pieces, so that the module's memory stays small: it can grow but
//! never shrinks.

#[cfg(feature = "gpu")]
mod bench;
mod convert;
mod cpu;
mod error;
#[cfg(feature = "gpu")]
mod gpu;
mod input;
mod kernels;
mod options;
#[cfg(feature = "gpu")]
mod plans;
mod verify;

use wasm_bindgen::prelude::*;
use wgpu_cast::{ElementType, Kind};

/// The version of wgpu-cast.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// All numeric element types as JSON: name, other names, width in bits, and whether it is a float.
#[wasm_bindgen(js_name = elementTypes)]
pub fn element_types() -> String {
    let types: Vec<_> = support::numeric()
        .map(|t| {
            serde_json::json!({
                "name": t.name(), "aliases": t.aliases(), "bits": t.bits(), "float": matches!(t.kind(), Kind::Float(_)),
            })
        })
        .collect();
    serde_json::Value::from(types).to_string()
}

/// The packed bytes of so many elements.
#[wasm_bindgen(js_name = packedBytes)]
pub fn packed_bytes(element_type: &str, elements: f64) -> Result<f64, JsValue> {
    let element_type = named(element_type)?;
    let bytes = element_type.packed_bytes(elements as u64);
    bytes.map(|bytes| bytes as f64).ok_or_else(|| error::error("ShapeOverflow", "so many elements have no size"))
}

/// The numeric element type of a name.
fn named(name: &str) -> Result<ElementType, JsValue> {
    let found: ElementType = name.parse().map_err(|e: wgpu_cast::Error| error::cast(&e))?;
    if found.is_numeric() { Ok(found) } else { Err(error::error("NoCodes", "strings are not cast in a browser")) }
}
