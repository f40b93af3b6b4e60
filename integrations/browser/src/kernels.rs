//! Kernels as text.

use wasm_bindgen::prelude::*;
use wgpu_cast::CastSpec;
use wgpu_cast::wgsl::{self, KernelVariant};

use crate::options::{self, JsOptions};
use crate::{error, named};

/// The kernel of a pair in WGSL. `variant` is `table`, `computed` or `edge`.
///
/// # Errors
/// A type, an option or the variant is unknown.
#[wasm_bindgen]
pub fn kernel(from: &str, to: &str, options: &JsOptions, variant: &str) -> Result<String, JsValue> {
    let variant = match variant {
        "table" => KernelVariant::Table,
        "computed" => KernelVariant::Computed,
        "edge" => KernelVariant::Edge,
        _ => return Err(error::error("TypeError", "the variant is neither table, computed nor edge")),
    };
    let spec = CastSpec::new(named(from)?, named(to)?).with_options(options::parse(options)?);
    let kernel = wgsl::kernel(&spec, variant);
    kernel.map(|kernel| kernel.wgsl().to_owned()).map_err(|e| error::cast(&e))
}
